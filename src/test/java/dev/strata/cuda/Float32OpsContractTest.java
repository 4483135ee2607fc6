package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** Every operation in float32 against the reference. */
class Float32OpsContractTest extends OpsContract {
    @Override
    protected Backend create() {
        return Cards.openForManyCases(CudaOptions.defaults().withPrecision(Precision.F32));
    }

    /** Sums run in another order: a single output may cancel to near zero. */
    @Override
    protected double tolerance(OpCase.Kind kind) {
        return kind == OpCase.Kind.PRODUCT ? 5e-4 : super.tolerance(kind);
    }
}
