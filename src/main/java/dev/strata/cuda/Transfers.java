package dev.strata.cuda;

import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;

/** Copies float32 tensors between host and card: at once, ahead of passes (inputs of prompts), and behind them (results that are taken later). */
final class Transfers implements AutoCloseable {
    /** Inputs of passes of so many rows and more have a stream of their own. */
    private static final int UPLOADED_ROWS = 256;

    private final CudaDevice device;
    private final Staging staging;
    private final Uploads uploads;
    private final Fetches fetches;

    Transfers(CudaDevice device, CudaStream stream, Staging staging) {
        this.device = device;
        this.staging = staging;
        uploads = new Uploads(device, stream);
        fetches = new Fetches(device, stream);
    }

    /** Whether inputs of so many rows are uploaded ahead of their pass. */
    static boolean uploads(Tensor target) {
        return target.rows() >= UPLOADED_ROWS;
    }

    /** Memory for passes of {@code rows} rows is lent or given back. */
    void enter(int rows) {
        if (rows < UPLOADED_ROWS) {
            uploads.forget();
        }
    }

    void write(MemorySegment source, Tensor target) {
        device.attach();
        staging.write(source.asSlice(0, bytes(target)), target.address());
    }

    /** Starts a copy that {@link #open} waits for on the card. */
    void upload(MemorySegment source, Tensor target) {
        uploads.write(source.asSlice(0, bytes(target)), target.address());
    }

    void open(Tensor target) {
        device.attach();
        uploads.open(target.address());
    }

    /** What was queued so far has read an uploaded input. */
    void consumed(Tensor input) {
        uploads.consumed(input.address());
    }

    /** Copies to the host after all that is queued. */
    void read(Tensor source, MemorySegment target) {
        device.attach();
        staging.read(source.address(), target.asSlice(0, bytes(source)));
    }

    int[] integers(long address, int count) {
        int[] values = new int[count];
        staging.read(address, MemorySegment.ofArray(values));
        return values;
    }

    /** Queues a copy to the host, for {@link #take}. */
    void fetch(Tensor source) {
        device.attach();
        fetches.queue(source.address(), bytes(source));
    }

    void take(MemorySegment target) {
        fetches.take(target);
    }

    private static long bytes(Tensor tensor) {
        return 4L * tensor.rows() * tensor.columns();
    }

    @Override
    public void close() {
        uploads.close();
        fetches.close();
    }
}
