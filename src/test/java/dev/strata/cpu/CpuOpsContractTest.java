package dev.strata.cpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** The best kernels of this processor against the reference. */
class CpuOpsContractTest extends OpsContract {
    @Override
    protected Backend create() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        return CpuBackend.create(CpuSettings.standard().withThreads(3));
    }

    /** Activations are rounded to 16 bits, and sums run in another order: a single output may cancel to near zero. */
    @Override
    protected double tolerance(OpCase.Kind kind) {
        return kind == OpCase.Kind.PRODUCT ? 5e-4 : super.tolerance(kind);
    }
}
