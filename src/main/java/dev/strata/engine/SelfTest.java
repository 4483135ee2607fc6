package dev.strata.engine;

import dev.strata.device.Backend;
import dev.strata.device.DeviceException;
import dev.strata.device.HostTensor;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Before a model is loaded: one small product for every type of its matrices, compared with plain Java. Kernels that were built for another
 * processor or card can give nonsense without any error.
 */
final class SelfTest {
    private static final Logger LOG = LoggerFactory.getLogger(SelfTest.class);

    /** Backends may round activations to 8 bits. */
    private static final double LARGEST_ERROR = 0.05;

    private static final int OUTPUTS = 16;
    private static final int LEAST_INPUTS = 64;
    private static final int MOST_INPUTS = 16_384;

    /** Types of tables, not of matrices. */
    private static final Set<QuantType> NUMBERS =
            EnumSet.of(QuantType.I8, QuantType.I16, QuantType.I32, QuantType.I64, QuantType.F64);

    /** A product that is tested: the matrix times one row. */
    @FunctionalInterface
    interface Product {
        float[] of(HostTensor matrix, float[] row);
    }

    private SelfTest() {}

    /**
     * Tests every type of matrix that {@code files} hold.
     *
     * @return types that were tested
     * @throws DeviceException naming the type when a product is wrong
     */
    static Set<QuantType> run(ModelFiles files, Backend backend) {
        return run(files, backend.description(), (matrix, row) -> on(backend, matrix, row));
    }

    /** {@link #run}, unless these kernels have passed on this machine before. */
    static void once(ModelFiles files, Backend backend) {
        if (files.makesTensors()) {
            return;
        }
        Set<QuantType> types = EnumSet.noneOf(QuantType.class);
        files.tensors().stream().filter(SelfTest::isMatrix).forEach(tensor -> types.add(tensor.type()));
        SelfTestRecord record = SelfTestRecord.of(backend.name() + ": " + backend.description() + ": " + types);
        if (!record.passed()) {
            long start = System.nanoTime();
            Set<QuantType> tested = run(files, backend);
            record.pass();
            LOG.debug("self-test passed for {} in {} ms", tested, (System.nanoTime() - start) / 1_000_000);
        }
    }

    static Set<QuantType> run(ModelFiles files, String description, Product product) {
        Set<QuantType> tested = EnumSet.noneOf(QuantType.class);
        for (TensorEntry tensor : files.tensors()) {
            if (!isMatrix(tensor) || !tested.add(tensor.type())) {
                continue;
            }
            int inputs = (int) tensor.rowElements();
            HostTensor matrix = new HostTensor(
                    tensor.name(),
                    tensor.type(),
                    OUTPUTS,
                    inputs,
                    files.data(tensor).asSlice(0, OUTPUTS * tensor.type().bytes(inputs)),
                    1);
            double error = error(matrix, product);
            if (!(error <= LARGEST_ERROR)) {
                throw new DeviceException(
                        DeviceException.Kind.FAILED,
                        String.format(
                                Locale.ROOT,
                                "self-test: %s multiplies %s matrices wrongly (error %.3f, allowed %.2f): its kernels do not fit this"
                                        + " machine; use --backend reference, a lower STRATA_CPU_ISA or another driver",
                                description,
                                tensor.type(),
                                error,
                                LARGEST_ERROR));
            }
        }
        return tested;
    }

    private static boolean isMatrix(TensorEntry tensor) {
        // Narrow and odd ones are convolutions and the like, never multiplied as matrices.
        if (NUMBERS.contains(tensor.type())
                || tensor.shape().size() < 2
                || tensor.rowElements() < LEAST_INPUTS
                || tensor.rowElements() > MOST_INPUTS
                || tensor.rowElements() % LEAST_INPUTS != 0) {
            return false;
        }
        long rows = tensor.elements() / tensor.rowElements();
        return rows >= OUTPUTS
                && tensor.type().divides((int) tensor.rowElements())
                && tensor.bytes() == rows * tensor.type().bytes(tensor.rowElements());
    }

    private static double error(HostTensor matrix, Product product) {
        float[] row = new float[matrix.inputs()];
        for (int i = 0; i < row.length; i++) {
            // Any values without a pattern will do.
            row[i] = ((i * 1_103_515_245 + 12_345) >> 16 & 0xFF) / 128f - 1;
        }
        float[] actual = product.of(matrix, row);
        float[] weights = new float[row.length];
        double difference = 0;
        double whole = 1e-12;
        for (int output = 0; output < matrix.outputs(); output++) {
            Quants.decode(
                    matrix.type(), matrix.data(), output * matrix.type().bytes(row.length), weights, 0, row.length);
            double expected = 0;
            for (int i = 0; i < row.length; i++) {
                expected += (double) weights[i] * row[i];
            }
            difference += (actual[output] - expected) * (actual[output] - expected);
            whole += expected * expected;
        }
        return Math.sqrt(difference / whole);
    }

    private static float[] on(Backend backend, HostTensor matrix, float[] row) {
        Weight weight = backend.weight(matrix);
        Tensor in = backend.tensor(1, matrix.inputs(), "self-test");
        Tensor out = backend.tensor(1, matrix.outputs(), "self-test");
        try (Arena arena = Arena.ofConfined()) {
            backend.ops().write(arena.allocateFrom(ValueLayout.JAVA_FLOAT, row), in);
            backend.ops().matmul(weight, in, out);
            MemorySegment result = arena.allocate(4L * matrix.outputs(), 64);
            backend.ops().read(out, result);
            return result.toArray(ValueLayout.JAVA_FLOAT);
        }
    }
}
