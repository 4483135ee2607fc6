package dev.strata.cpu;

import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;

/** The forms of the matrices of one layer's experts. */
record ExpertForm(MatrixForm gate, MatrixForm up, MatrixForm down) {
    /** How a matrix of a type and shape is to lie in memory. */
    interface Choice {
        MatrixForm of(QuantType type, int outputs, int inputs);
    }

    static ExpertForm of(ExpertLayout layout, Choice choice) {
        return new ExpertForm(
                choice.of(layout.gateType(), layout.intermediate(), layout.hidden()),
                choice.of(layout.upType(), layout.intermediate(), layout.hidden()),
                choice.of(layout.downType(), layout.hidden(), layout.intermediate()));
    }

    boolean packed() {
        return gate.packed() || up.packed() || down.packed();
    }

    /** Bytes of one expert. */
    long bytes() {
        return gate.bytes() + up.bytes() + down.bytes();
    }
}
