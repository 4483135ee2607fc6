package dev.strata.cpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** The kernels that every x86-64 processor runs against the reference. */
class GenericCpuOpsContractTest extends OpsContract {
    @Override
    protected Backend create() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        return CpuBackend.create(CpuSettings.standard().withThreads(2).withCap(CpuIsa.GENERIC));
    }

    /** Sums run in another order: a single output may cancel to near zero. */
    @Override
    protected double tolerance(OpCase.Kind kind) {
        return kind == OpCase.Kind.PRODUCT ? 5e-4 : super.tolerance(kind);
    }
}
