package dev.strata.device;

/**
 * One operation on one set of shapes, as data: it computes its outputs on any backend from the same random inputs.
 *
 * @param name operation and shapes
 * @param kind how exactly backends have to agree
 * @param body issues the operation and gives what it wrote, one array an output
 */
public record OpCase(String name, Kind kind, Body body) {
    /** How exactly backends have to agree with the reference. */
    public enum Kind {
        /** Moves values. */
        EXACT,
        /** Float32 arithmetic in another order. */
        FLOAT,
        /** Products with stored matrices; a backend may round activations inside. */
        PRODUCT,
        /** Reads keys and values that were stored in few bits, where one rounding may fall on the other side. */
        STORED
    }

    /** Computes the outputs. */
    public interface Body {
        float[][] run(OpFixture fixture);
    }

    @Override
    public String toString() {
        return name;
    }
}
