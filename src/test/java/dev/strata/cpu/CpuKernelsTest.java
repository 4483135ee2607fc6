package dev.strata.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.jni.CpuKernels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class CpuKernelsTest {
    @Test
    void isaMatchesTheKernelsCpuList() throws IOException {
        assumeTrue(
                CpuKernels.class.getResource("linux-x86_64/libjniCpuKernels.so") != null,
                "the C++ kernels were not built (no g++)");
        String flags = Files.readString(Path.of("/proc/cpuinfo"));
        boolean avx2 = flags.contains(" avx2") && flags.contains(" fma");
        assertEquals(avx2, CpuKernels.strata_cpu_best_isa() >= 1);
    }
}
