package dev.strata.cuda;

import dev.strata.device.Buffer;

/** Device memory of a record that kernels read: more of it when more is needed, once nothing that is queued reads what there was. */
final class RecordMemory implements AutoCloseable {
    private final CudaDevice device;
    private final CudaStream stream;
    private final String name;
    private Buffer buffer;
    private int generation;

    RecordMemory(CudaDevice device, CudaStream stream, String name, long bytes) {
        this.device = device;
        this.stream = stream;
        this.name = name;
        this.buffer = device.allocate(bytes, name);
    }

    /** Room for {@code bytes} bytes; what was there is lost when it moves. */
    void ensure(long bytes) {
        if (buffer.bytes() < bytes) {
            stream.synchronize();
            buffer.close();
            buffer = device.allocate(Long.highestOneBit(bytes) << 1, name);
            generation++;
        }
    }

    long address() {
        return buffer.address();
    }

    /** Changes when it moves. */
    int generation() {
        return generation;
    }

    @Override
    public void close() {
        buffer.close();
    }
}
