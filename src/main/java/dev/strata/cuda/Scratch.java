package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Named pieces of device memory that grow on demand and are used again by every operation of the same name. Growing waits for the
 * stream and changes {@link #generation}: captured passes that may hold the old address are no longer valid.
 */
final class Scratch implements AutoCloseable {
    private final CudaDevice device;
    private final CudaStream stream;
    private final ChunkMemory chunk;
    private final Map<String, Buffer> buffers = new HashMap<>();
    private int generation;
    private boolean frozen;

    Scratch(CudaDevice device, CudaStream stream, ChunkMemory chunk) {
        this.chunk = chunk;
        this.device = device;
        this.stream = stream;
    }

    /** Address of at least {@code bytes} bytes, a multiple of 256. */
    long address(String name, long bytes) {
        long lent = chunk.scratch(name, bytes);
        if (lent != 0) {
            return lent;
        }
        return own(name, bytes);
    }

    /** Float32 memory for [rows, columns]. */
    Tensor tensor(String name, int rows, int columns) {
        long bytes = 4L * rows * columns;
        return new Tensor(new ScratchView(address(name, bytes), bytes), 0, rows, columns);
    }

    private long own(String name, long bytes) {
        Buffer buffer = buffers.get(name);
        if (buffer == null || buffer.bytes() < bytes) {
            buffer = grow(name, bytes, buffer);
        }
        return buffer.address();
    }

    /** The same with memory that was zero when it was made; whoever uses it leaves zeros behind. It is never lent. */
    long zeroed(String name, long bytes) {
        return own(name, bytes);
    }

    private Buffer grow(String name, long bytes, @Nullable Buffer old) {
        if (frozen) {
            throw new IllegalStateException(
                    name + " would have to grow to " + bytes + " bytes while a pass is captured");
        }
        if (old != null) {
            stream.synchronize();
            buffers.remove(name);
            old.close();
        }
        generation++;
        Buffer buffer = device.allocate(Math.ceilDiv(bytes, 256L) * 256, "workspace for " + name);
        // Passes without experts read results that nobody wrote: they have to be numbers.
        device.fill(buffer, 0, buffer.bytes(), 0, stream);
        buffers.put(name, buffer);
        return buffer;
    }

    int generation() {
        return generation;
    }

    /** While frozen nothing may grow. */
    void freeze(boolean value) {
        frozen = value;
    }

    @Override
    public void close() {
        buffers.values().forEach(Buffer::close);
        buffers.clear();
    }
}
