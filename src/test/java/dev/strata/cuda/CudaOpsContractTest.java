package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** Every operation in the default precision against the reference. */
class CudaOpsContractTest extends OpsContract {
    @Override
    protected Backend create() {
        return Cards.open(CudaOptions.defaults());
    }

    /** Products of many rows and attention round their operands to 16 bits. */
    @Override
    protected double tolerance(OpCase.Kind kind) {
        return switch (kind) {
            case EXACT -> 0;
            case FLOAT -> 2e-3;
            case PRODUCT -> 8e-3;
            case STORED -> 1e-2;
        };
    }
}
