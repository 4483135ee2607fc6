package dev.strata.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.HostTensor;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CpuKernelsTest {
    @BeforeEach
    void kernelsAreThere() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
    }

    /** The sets that this processor runs by the system's list of its flags. */
    private static NavigableSet<CpuIsa> running() throws IOException {
        List<String> flags = Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                .filter(line -> line.startsWith("flags"))
                .findFirst()
                .map(line -> Arrays.asList(line.split("\\s+")))
                .orElseThrow();
        NavigableSet<CpuIsa> running = new TreeSet<>(Set.of(CpuIsa.GENERIC));
        if (flags.containsAll(List.of("avx2", "fma", "f16c"))) {
            running.add(CpuIsa.AVX2);
            if (flags.contains("avx_vnni")) {
                running.add(CpuIsa.AVXVNNI);
            }
            List<List<String>> wider = List.of(
                    List.of("avx512f", "avx512bw", "avx512vl", "avx512dq"),
                    List.of("avx512_vnni"),
                    List.of("avx512vbmi", "gfni", "bmi2"),
                    List.of("amx_tile", "amx_bf16"));
            for (int i = 0; i < wider.size() && flags.containsAll(wider.get(i)); i++) {
                running.add(CpuIsa.values()[CpuIsa.AVX512.ordinal() + i]);
            }
        }
        return running;
    }

    @Test
    void choiceMatchesTheSystemsListOfFlags() throws IOException {
        assertEquals(running().last(), CpuIsa.values()[CpuKernels.strata_cpu_best_isa(-1)]);
    }

    @Test
    void capLimitsTheChoice() throws IOException {
        NavigableSet<CpuIsa> running = running();
        for (CpuIsa cap : CpuIsa.values()) {
            assertEquals(running.floor(cap), CpuIsa.values()[CpuKernels.strata_cpu_best_isa(cap.ordinal())]);
        }
    }

    /** Products of up to eight rows with quantized weights have the sums of single ones, bit for bit. */
    @ParameterizedTest
    @EnumSource(names = {"Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "IQ4_NL"})
    void upToEightRowsSumAsOneDoes(QuantType type) {
        int outputs = 40;
        int inputs = 512;
        Random random = new Random(5);
        try (Arena arena = Arena.ofShared();
                CpuBackend backend = CpuBackend.create(CpuSettings.standard().withThreads(1))) {
            float[] values = new float[outputs * inputs];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) random.nextGaussian();
            }
            MemorySegment data = arena.allocate(type.bytes((long) outputs * inputs), 64);
            Quants.encode(type, values, 0, values.length, data, 0);
            Weight weight = backend.weight(new HostTensor("weight", type, outputs, inputs, data, 1));
            Tensor in = backend.tensor(8, inputs, "in");
            MemorySegment rows = arena.allocate(4L * 8 * inputs, 64);
            for (int i = 0; i < 8 * inputs; i++) {
                rows.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
            }
            backend.ops().write(rows, in);
            float[] all = product(backend, weight, in, arena);
            for (int row = 0; row < 8; row++) {
                Tensor one = backend.tensor(1, inputs, "row");
                backend.ops().write(rows.asSlice(4L * row * inputs, 4L * inputs), one);
                float[] alone = product(backend, weight, one, arena);
                assertArrayEquals(
                        alone, Arrays.copyOfRange(all, row * outputs, (row + 1) * outputs), type + ", row " + row);
            }
        }
    }

    private static float[] product(CpuBackend backend, Weight weight, Tensor in, Arena arena) {
        Tensor out = backend.tensor(in.rows(), weight.outputs(), "out");
        backend.ops().matmul(weight, in, out);
        MemorySegment read = arena.allocate(4L * in.rows() * weight.outputs(), 64);
        backend.ops().read(out, read);
        return read.toArray(ValueLayout.JAVA_FLOAT);
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
