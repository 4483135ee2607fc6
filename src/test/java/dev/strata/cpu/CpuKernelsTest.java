package dev.strata.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.jni.CpuKernels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CpuKernelsTest {
    @BeforeEach
    void kernelsAreThere() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
    }

    @Test
    void choiceMatchesTheSystemsListOfFlags() throws IOException {
        List<String> flags = Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                .filter(line -> line.startsWith("flags"))
                .findFirst()
                .map(line -> Arrays.asList(line.split("\\s+")))
                .orElseThrow();
        CpuIsa expected = CpuIsa.GENERIC;
        if (flags.containsAll(List.of("avx2", "fma", "f16c"))) {
            expected = CpuIsa.AVX2;
            if (flags.containsAll(List.of("avx512f", "avx512bw", "avx512vl", "avx512dq"))) {
                expected = flags.contains("avx512_vnni") ? CpuIsa.VNNI : CpuIsa.AVX512;
                if (expected == CpuIsa.VNNI && flags.contains("avx512vbmi")) {
                    expected = flags.containsAll(List.of("amx_tile", "amx_bf16")) ? CpuIsa.AMX : CpuIsa.VBMI;
                }
            }
        }
        assertEquals(expected, CpuIsa.values()[CpuKernels.strata_cpu_best_isa(-1)]);
    }

    @Test
    void capLimitsTheChoice() {
        CpuIsa best = CpuIsa.values()[CpuKernels.strata_cpu_best_isa(-1)];
        for (CpuIsa cap : CpuIsa.values()) {
            CpuIsa expected = cap.compareTo(best) < 0 ? cap : best;
            assertEquals(expected, CpuIsa.values()[CpuKernels.strata_cpu_best_isa(cap.ordinal())]);
        }
    }

    @Test
    void descriptionNamesTheInstructionSet() {
        try (CpuBackend backend =
                CpuBackend.create(CpuSettings.standard().withThreads(2).withCap(CpuIsa.GENERIC))) {
            assertEquals(CpuIsa.GENERIC, backend.isa());
            assertTrue(backend.description().endsWith("generic x86-64 kernels, 2 threads"), backend.description());
        }
    }
}
