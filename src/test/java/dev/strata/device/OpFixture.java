package dev.strata.device;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import dev.strata.format.QuantType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** A backend with reproducible random inputs: two fixtures of the same seed give every backend the same values in the same order. */
public final class OpFixture implements AutoCloseable {
    private final Backend backend;
    private final Random random;
    private final Arena arena = Arena.ofShared();

    OpFixture(Backend backend, long seed) {
        this.backend = backend;
        this.random = new Random(seed);
    }

    Backend backend() {
        return backend;
    }

    Ops ops() {
        return backend.ops();
    }

    Random random() {
        return random;
    }

    Arena arena() {
        return arena;
    }

    /** Scratch with values that an operation has to overwrite. */
    Tensor output(int rows, int columns) {
        Tensor tensor = backend.tensor(rows, columns, "output");
        write(tensor, filled(rows * columns, 1234.5f));
        return tensor;
    }

    /** Normally distributed activations. */
    Tensor input(int rows, int columns) {
        return input(rows, columns, 1);
    }

    Tensor input(int rows, int columns, double size) {
        Tensor tensor = backend.tensor(rows, columns, "input");
        write(tensor, gaussian(rows * columns, size, 0));
        return tensor;
    }

    /** A view into the middle of a larger tensor, as the forward passes use them. */
    Tensor inputView(int rows, int columns) {
        Tensor whole = backend.tensor(rows + 3, columns, "larger input");
        write(whole, gaussian((rows + 3) * columns, 1, 0));
        return whole.rows(2, rows);
    }

    Weight weight(QuantType type, int outputs, int inputs) {
        return weight(type, outputs, inputs, 1);
    }

    Weight weight(QuantType type, int outputs, int inputs, float scale) {
        MemorySegment data = RandomBlocks.matrix(type, outputs, inputs, random, arena);
        return backend.weight(new HostTensor(type + " weight", type, outputs, inputs, data, scale));
    }

    /** A small parameter around {@code mean}. */
    Tensor parameter(int rows, int columns, double mean, double size) {
        float[] values = gaussian(rows * columns, size, mean);
        MemorySegment data = arena.allocate(4L * values.length, 64);
        MemorySegment.copy(values, 0, data, JAVA_FLOAT_UNALIGNED, 0, values.length);
        return backend.parameter(new HostTensor("parameter", QuantType.F32, rows, columns, data, 1));
    }

    float[] gaussian(int count, double size, double mean) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) (mean + size * random.nextGaussian());
        }
        return values;
    }

    void write(Tensor tensor, float[] values) {
        MemorySegment staging = arena.allocate(4L * values.length, 64);
        MemorySegment.copy(values, 0, staging, JAVA_FLOAT_UNALIGNED, 0, values.length);
        ops().write(staging, tensor);
    }

    float[] read(Tensor tensor) {
        float[] values = new float[tensor.rows() * tensor.columns()];
        MemorySegment staging = arena.allocate(4L * values.length, 64);
        ops().read(tensor, staging);
        MemorySegment.copy(staging, JAVA_FLOAT_UNALIGNED, 0, values, 0, values.length);
        return values;
    }

    /** What the router chose, as exact floats. */
    float[] ids(Routing routing, int rows) {
        Tensor view = new Tensor(routing.ids(), 0, rows, routing.used());
        float[] values = read(view);
        float[] ids = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            ids[i] = Float.floatToRawIntBits(values[i]);
        }
        return ids;
    }

    /** Sets what a router would have chosen. */
    void setRouting(Routing routing, int[] ids, float[] weights) {
        MemorySegment staging = arena.allocate(4L * ids.length, 64);
        for (int i = 0; i < ids.length; i++) {
            staging.set(JAVA_INT_UNALIGNED, 4L * i, ids[i]);
        }
        ops().write(staging, new Tensor(routing.ids(), 0, ids.length / routing.used(), routing.used()));
        write(routing.weights().rows(ids.length / routing.used()), weights);
    }

    /** One sequence in slot 0 whose pages are in no order. */
    /** Takes a page or slot out as bytes, clears it, and puts the bytes into another one. */
    static void move(StateUnits units, int from, int to) {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment bytes = memory.allocate(units.unitBytes());
            units.read(from, bytes);
            units.clear(from);
            units.write(to, bytes);
        }
    }

    static Batch batch(int rows, int past, boolean hold) {
        return new Batch(new int[rows], List.of(segment(0, rows, past, 0)), hold);
    }

    /** A segment whose pages (and slot) differ from those of other {@code slot} values below 4. */
    static Batch.Segment segment(int firstRow, int rows, int past, int slot) {
        int count = (past + rows + Batch.PAGE - 1) / Batch.PAGE;
        int[] pages = IntStream.range(0, count)
                .map(i -> 4 * (PAGES / 4 - 1 - i) + slot)
                .toArray();
        return new Batch.Segment(firstRow, rows, past, pages, slot, new int[0]);
    }

    /** Pages to make states with. */
    static final int PAGES = 32;

    private static float[] filled(int count, float value) {
        float[] values = new float[count];
        Arrays.fill(values, value);
        return values;
    }

    @Override
    public void close() {
        arena.close();
    }
}
