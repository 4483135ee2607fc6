package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Launches kernels on one stream. Arguments are packed with their natural alignment into one native buffer that the driver reads during
 * the call; nothing is allocated for a launch. One thread uses it.
 */
final class Launcher implements AutoCloseable {
    private static final int ARGUMENT_BYTES = 1024;
    private static final int MATRIX_BYTES = 128;
    private static final int PROGRAMMATIC_STREAM_SERIALIZATION = 6;

    // CUlaunchConfig: grid x, y, z, block x, y, z, shared bytes, (4 free), stream, attributes, attribute count
    private static final int CONFIGURATION_BYTES = 56;
    private static final int ATTRIBUTE_BYTES = 72;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment arguments = arena.allocate(ARGUMENT_BYTES, 64);
    private final MemorySegment matrix = arena.allocate(MATRIX_BYTES, 64);
    private final MemorySegment size = arena.allocate(8, 8);
    private final MemorySegment configuration = arena.allocate(CONFIGURATION_BYTES, 64);
    private final Object configurationHandle;
    private final Object extraHandle;
    private final boolean canOverlap;
    private long offset;
    private long launches;
    private @Nullable KernelTimes times;
    private @Nullable Predicate<String> replaced;
    private @Nullable Kernel replacement;

    /** @param canOverlap whether {@link #overlap} has any effect */
    Launcher(CudaStream stream, boolean canOverlap) {
        this.canOverlap = canOverlap;
        MemorySegment extra = arena.allocate(5 * 8L, 8);
        extra.setAtIndex(JAVA_LONG, 0, 1); // CU_LAUNCH_PARAM_BUFFER_POINTER
        extra.setAtIndex(JAVA_LONG, 1, arguments.address());
        extra.setAtIndex(JAVA_LONG, 2, 2); // CU_LAUNCH_PARAM_BUFFER_SIZE
        extra.setAtIndex(JAVA_LONG, 3, size.address());
        MemorySegment attribute = arena.allocate(ATTRIBUTE_BYTES, 8);
        attribute.set(JAVA_INT, 0, PROGRAMMATIC_STREAM_SERIALIZATION);
        attribute.set(JAVA_INT, 8, 1);
        configuration.set(JAVA_LONG, 32, stream.handle());
        configuration.set(JAVA_LONG, 40, attribute.address());
        this.configurationHandle = Driver.configurationHandle(configuration);
        this.extraHandle = Driver.pointersHandle(extra);
    }

    /** Starts the arguments of a launch; those of one that was given up are dropped. */
    Launcher begin() {
        offset = 0;
        return this;
    }

    Launcher address(long value) {
        offset = (offset + 7) & -8;
        arguments.set(JAVA_LONG, offset, value);
        offset += 8;
        return this;
    }

    Launcher tensor(@Nullable Tensor tensor) {
        return address(tensor == null ? 0 : tensor.address());
    }

    /** Keys, values and their scales; zeros without a cache. */
    Launcher cache(CudaStates.@Nullable Kv kv) {
        return address(kv == null ? 0 : kv.keys().address())
                .address(kv == null ? 0 : kv.values().address())
                .address(kv == null ? 0 : kv.keyScales().address())
                .address(kv == null ? 0 : kv.valueScales().address());
    }

    /** Chosen blocks; none for all. */
    Launcher chosen(CudaStates.@Nullable Selection selection) {
        return address(selection == null ? 0 : selection.counts().address())
                .address(selection == null ? 0 : selection.blocks().address())
                .integer(selection == null ? 0 : selection.budget())
                .integer(selection == null ? 1 : selection.block());
    }

    /** Starts the arguments of a kernel whose first ones are matrices. */
    Launcher begin(Kernel kernel) {
        offset = kernel.firstArgument();
        return this;
    }

    /** A row-major float16 matrix as the tensor unit reads it. */
    Launcher matrix(long address, long columns, long rows) {
        Driver.describeMatrix(matrix, address, columns, rows);
        MemorySegment.copy(matrix, 0, arguments, offset, MATRIX_BYTES);
        offset += MATRIX_BYTES;
        return this;
    }

    Launcher integer(int value) {
        offset = (offset + 3) & -4;
        arguments.set(JAVA_INT, offset, value);
        offset += 4;
        return this;
    }

    Launcher flag(boolean value) {
        return integer(value ? 1 : 0);
    }

    Launcher real(float value) {
        offset = (offset + 3) & -4;
        arguments.set(JAVA_FLOAT, offset, value);
        offset += 4;
        return this;
    }

    /** Launches {@code kernel} with the arguments given since the last launch. */
    void launch(Kernel kernel, long gridX, int gridY, int gridZ, int threads, int sharedBytes) {
        Predicate<String> which = replaced;
        if (which != null && which.test(kernel.name())) {
            Kernel other = replacement;
            if (other != null) {
                replaced = null;
                begin().integer(0).launch(other, 1, 32);
                replaced = which;
            }
            return;
        }
        size.set(JAVA_LONG, 0, offset);
        offset = 0;
        if (gridX <= 0 || gridY <= 0 || gridZ <= 0 || gridX > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    kernel.name() + " launched with a grid of " + gridX + " x " + gridY + " x " + gridZ);
        }
        configuration.set(JAVA_INT, 0, (int) gridX);
        configuration.set(JAVA_INT, 4, gridY);
        configuration.set(JAVA_INT, 8, gridZ);
        configuration.set(JAVA_INT, 12, threads);
        configuration.set(JAVA_INT, 16, 1);
        configuration.set(JAVA_INT, 20, 1);
        configuration.set(JAVA_INT, 24, sharedBytes);
        KernelTimes timed = times;
        if (timed != null) {
            timed.before(kernel);
        }
        int code = Driver.launch(configurationHandle, kernel.handle(), extraHandle);
        if (timed != null) {
            timed.after();
        }
        launches++;
        if (code != 0) {
            throw Driver.failure(
                    code,
                    "cuLaunchKernelEx",
                    kernel.name(),
                    "grid " + gridX + " x " + gridY + " x " + gridZ,
                    "block " + threads,
                    sharedBytes + " bytes of shared memory");
        }
    }

    void launch(Kernel kernel, long gridX, int threads) {
        launch(kernel, gridX, 1, 1, threads, 0);
    }

    /** Launches over {@code count} values, 256 threads a block, at most 8192 blocks. */
    void launchOver(Kernel kernel, long count) {
        launch(kernel, Math.clamp(Math.ceilDiv(count, 256), 1, 8192), 256);
    }

    /** Whether kernels launched from now on may start while the one before them drains, where the card can do that. */
    void overlap(boolean wanted) {
        configuration.set(JAVA_INT, 48, wanted && canOverlap ? 1 : 0);
    }

    /** Times every kernel from now on, or none. */
    void time(@Nullable KernelTimes wanted) {
        times = wanted;
    }

    /** Whether kernels are timed. */
    boolean timing() {
        return times != null;
    }

    /**
     * Leaves the kernels of these names out, or launches {@code other} in their place, which takes one integer: what is computed is then wrong,
     * but how long a pass takes tells what they cost.
     */
    void replace(@Nullable Predicate<String> names, @Nullable Kernel other) {
        replaced = names;
        replacement = other;
    }

    /** Kernels launched so far, for tests and figures. */
    long launches() {
        return launches;
    }

    @Override
    public void close() {
        arena.close();
    }
}
