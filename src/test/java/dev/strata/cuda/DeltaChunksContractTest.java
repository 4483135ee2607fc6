package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** Prompts through the delta rule in chunks against the reference, which takes token by token. */
class DeltaChunksContractTest extends OpsContract {
    @Override
    protected Backend create() {
        return Cards.open(CudaOptions.defaults());
    }

    @Override
    protected boolean wanted(OpCase test) {
        return test.name().matches("delta net .* 128 x 128, .*(66|1100) rows");
    }

    @Override
    protected double tolerance(OpCase.Kind kind) {
        return new CudaOpsContractTest().tolerance(kind);
    }
}
