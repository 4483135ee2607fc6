package dev.strata.cpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;
import org.jspecify.annotations.Nullable;

/** The best kernels of this processor against the reference. */
class CpuOpsContractTest extends OpsContract {
    /** The set to look at, which this processor may have no kernels for; null: its best one. */
    @Nullable
    CpuIsa cap() {
        return null;
    }

    @Override
    protected Backend create() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        CpuIsa cap = cap();
        CpuSettings settings = CpuSettings.standard().withThreads(3);
        if (cap == null) {
            return CpuBackend.create(settings);
        }
        CpuBackend backend = CpuBackend.create(settings.withCap(cap));
        if (backend.isa() != cap) {
            backend.close();
        }
        assumeTrue(backend.isa() == cap, "this processor does not run " + cap.label());
        return backend;
    }

    /** Activations are rounded to 16 bits, and sums run in another order: a single output may cancel to near zero. */
    @Override
    protected double tolerance(OpCase.Kind kind) {
        return kind == OpCase.Kind.PRODUCT ? 5e-4 : super.tolerance(kind);
    }
}
