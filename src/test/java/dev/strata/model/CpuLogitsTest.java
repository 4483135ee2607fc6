package dev.strata.model;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuSettings;
import dev.strata.device.Backend;
import dev.strata.device.KvFormat;

/** Bfloat16 weights, float32 activations, float16 keys and values. */
class CpuLogitsTest extends LogitsContract {
    CpuLogitsTest() {
        super(KvFormat.F16, 2e-3, 1e-2);
    }

    @Override
    Backend backend() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        return CpuBackend.create(CpuSettings.standard().withThreads(2));
    }
}
