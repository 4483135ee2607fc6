package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.util.HashMap;
import java.util.Map;

/**
 * Named pieces of device memory that grow on demand and are used again by every operation of the same name. Growing waits for the
 * stream and changes {@link #generation}: captured passes that may hold the old address are no longer valid.
 */
final class Scratch implements AutoCloseable {
    private final CudaDevice device;
    private final CudaStream stream;
    private final Map<String, Buffer> buffers = new HashMap<>();
    private int generation;
    private boolean frozen;

    Scratch(CudaDevice device, CudaStream stream) {
        this.device = device;
        this.stream = stream;
    }

    /** Address of at least {@code bytes} bytes, a multiple of 256. */
    long address(String name, long bytes) {
        Buffer buffer = buffers.get(name);
        if (buffer == null || buffer.bytes() < bytes) {
            buffer = grow(name, bytes, buffer);
        }
        return buffer.address();
    }

    /** The same with memory that was zero when it was made; whoever uses it leaves zeros behind. */
    long zeroed(String name, long bytes) {
        int before = generation;
        long address = address(name, bytes);
        if (generation != before) {
            Buffer made = buffers.get(name);
            if (made != null) {
                device.fill(made, 0, made.bytes(), 0, stream);
            }
        }
        return address;
    }

    private Buffer grow(String name, long bytes, @org.jspecify.annotations.Nullable Buffer old) {
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
