package dev.strata.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.device.Batch;
import dev.strata.device.ExpertLayout;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostTensor;
import dev.strata.device.MemoryExperts;
import dev.strata.device.RandomBlocks;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.PatternSource;
import dev.strata.format.QuantType;
import dev.strata.memory.HostMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Packed matrices stand for the numbers of the stored ones and give their products. */
class PackedWeightsTest {
    private static final long GIB = 1L << 30;
    private static final int OUTPUTS = 112;
    private static final int INPUTS = 2304;

    @BeforeEach
    void kernelsPack() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        try (CpuBackend backend = CpuBackend.create(CpuSettings.standard().withThreads(1))) {
            assumeTrue(
                    backend.isa() != CpuIsa.GENERIC,
                    "no matrices are packed for " + backend.isa().label());
        }
        assumeTrue(WeightPages.fits(1 << 20, HostMemory.read()), "too little free memory for a copy");
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                "MXFP4", "NVFP4", "Q4_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "Q2_0", "IQ2_XXS", "IQ2_XS",
                "IQ2_S", "IQ3_XXS", "IQ3_S"
            })
    void packedMatricesAreTheStoredOnes(QuantType type) {
        CpuSettings settings = CpuSettings.standard().withThreads(2);
        Random random = new Random(type.id());
        try (Arena arena = Arena.ofShared();
                CpuBackend packing = CpuBackend.create(settings);
                CpuBackend copying = CpuBackend.create(settings.withPackedWeights(false))) {
            MemorySegment data = RandomBlocks.matrix(type, OUTPUTS, INPUTS, random, arena);
            HostTensor tensor = new HostTensor("weight", type, OUTPUTS, INPUTS, data, 0.5f);
            Weight packed = packing.weight(tensor);
            Weight stored = copying.weight(tensor);
            assertInstanceOf(PackedBuffer.class, packed.buffer());
            assertFalse(stored.buffer() instanceof PackedBuffer);

            assertArrayEquals(rows(copying, stored), rows(packing, packed), "the numbers are others");
            MemorySegment in = arena.allocate(4L * 13 * INPUTS, 64);
            for (int i = 0; i < 13 * INPUTS; i++) {
                in.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
            }
            // One row, eight, and as many as go through register tiles.
            float[] eight = product(packing, packed, in, 8);
            assertArrayEquals(
                    product(packing, packed, in, 1), Arrays.copyOf(eight, OUTPUTS), "eight rows sum differently");
            assertNear(product(copying, stored, in, 8), eight);
            assertNear(product(copying, stored, in, 13), product(packing, packed, in, 13));
        }
    }

    @Test
    void expertsArePackedTogether() {
        ExpertLayout layout = new ExpertLayout(0, 4, 256, 512, QuantType.IQ3_S, QuantType.Q8_0, QuantType.MXFP4, false);
        CpuSettings settings = CpuSettings.standard().withThreads(2);
        try (Arena memory = Arena.ofShared();
                CpuContext context = CpuContext.open(settings);
                CpuArena arena = new CpuArena();
                ExpertProducts products = new ExpertProducts(context, 0);
                CpuBackend backend = CpuBackend.create(settings)) {
            MemoryExperts source = MemoryExperts.random(new Random(7), memory, layout, true);
            ExpertTable packed = new ExpertTable(source, 0, arena, new WeightPages(context, arena, true, true, 0));
            ExpertTable stored = new ExpertTable(source, 0, arena, new WeightPages(context, arena, true, false, 0));
            assertTrue(packed.form().gate().packed() && packed.form().down().packed());
            assertFalse(packed.form().up().packed());
            assertFalse(stored.form().packed());

            Tensor in = backend.tensor(3, 256, "in");
            MemorySegment numbers = memory.allocate(4L * 3 * 256, 64);
            Random random = new Random(3);
            for (int i = 0; i < 3 * 256; i++) {
                numbers.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
            }
            backend.ops().write(numbers, in);
            CpuRouting routing = (CpuRouting) backend.routing(3, 2);
            for (int i = 0; i < 6; i++) {
                routing.ids().host().setAtIndex(ValueLayout.JAVA_INT, i, i % 4);
                routing.weights()
                        .buffer()
                        .host()
                        .set(ValueLayout.JAVA_FLOAT, routing.weights().offset() + 4L * i, 1);
            }
            float[][] results = new float[2][];
            for (int i = 0; i < 2; i++) {
                Tensor out = backend.tensor(3, 256, "out");
                products.run(i == 0 ? packed : stored, in, routing, out);
                results[i] = read(backend, out);
            }
            assertNear(results[1], results[0]);
        }
    }

    @Test
    void roomDecidesWhatExpertsBecome() {
        ExpertLayout layout =
                new ExpertLayout(0, 128, 2048, 768, QuantType.IQ3_S, QuantType.IQ3_S, QuantType.IQ3_S, false);
        PatternSource source = new PatternSource(new ArenaLayout(List.of(layout, layout, layout, layout)));
        long stored = 4 * 128 * layout.blobBytes();
        // 134 bytes for 256 inputs; the factors of a row of 768 take 18 bytes, which become 24.
        long packed = 4 * 128 * (2 * 768 * 8 * 134L + 2048 * (3 * 134L + 6));
        CpuSettings settings = CpuSettings.standard().withThreads(1);
        try (CpuContext context = CpuContext.open(settings);
                CpuArena arena = new CpuArena()) {
            WeightPages pages = new WeightPages(context, arena, true, true);
            long reserve = 2 * GIB;
            ExpertForm.Choice all = pages.choose(source, memory(packed + reserve));
            assertNotNull(all);
            assertTrue(ExpertForm.of(layout, all).packed());
            assertEquals(packed / 4 / 128, ExpertForm.of(layout, all).bytes());
            ExpertForm.Choice some = pages.choose(source, memory(packed + reserve - 1));
            assertNotNull(some);
            assertFalse(ExpertForm.of(layout, some).packed());
            assertEquals(layout.blobBytes(), ExpertForm.of(layout, some).bytes());
            assertNull(pages.choose(source, memory(stored + reserve - 1)));
        }
    }

    private static HostMemory memory(long available) {
        return new HostMemory(16 * GIB, available, Long.MAX_VALUE, "", Long.MAX_VALUE, Long.MAX_VALUE);
    }

    /** All rows of a weight, by looking them up. */
    private static float[] rows(CpuBackend backend, Weight weight) {
        int[] tokens = new int[OUTPUTS];
        Arrays.setAll(tokens, i -> i);
        Batch batch = Batch.ofTokens(tokens);
        Tensor out = backend.tensor(OUTPUTS, INPUTS, "rows");
        backend.ops().pass("rows", batch, () -> backend.ops().embed(weight, batch, out));
        return read(backend, out);
    }

    private static float[] product(CpuBackend backend, Weight weight, MemorySegment in, int rows) {
        Tensor x = backend.tensor(rows, INPUTS, "in");
        backend.ops().write(in.asSlice(0, 4L * rows * INPUTS), x);
        Tensor out = backend.tensor(rows, OUTPUTS, "out");
        backend.ops().matmul(weight, x, out);
        return read(backend, out);
    }

    private static float[] read(CpuBackend backend, Tensor tensor) {
        try (HostBuffer copy = HostBuffer.allocate(4L * tensor.rows() * tensor.columns())) {
            backend.ops().read(tensor, copy.host());
            return copy.host().asSlice(0, 4L * tensor.rows() * tensor.columns()).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    /** Sums in another order: the difference of all outputs together is that of float32. */
    private static void assertNear(float[] expected, float[] actual) {
        double error = 0;
        double norm = 0;
        for (int i = 0; i < expected.length; i++) {
            error += Math.pow(expected[i] - actual[i], 2);
            norm += Math.pow(expected[i], 2);
        }
        assertTrue(norm > 0 && Math.sqrt(error / norm) < 1e-5, "relative error " + Math.sqrt(error / norm));
    }
}
