package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** Every operation in the default precision against the reference. */
class CudaOpsContractTest extends OpsContract {
    @Override
    protected Backend create() {
        return Cards.openForManyCases(CudaOptions.defaults());
    }

    /** Products of many rows, attention and types that no kernel reads round to 16 bits; a single output may cancel. */
    @Override
    protected double tolerance(OpCase.Kind kind) {
        return switch (kind) {
            case EXACT -> 0;
            case FLOAT -> 4e-3;
            case PRODUCT -> 1.5e-2;
            case STORED -> 1e-2;
        };
    }
}
