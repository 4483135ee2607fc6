package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Small results on their way to the host while further work is queued behind them, first come, first taken. One thread uses it. */
final class Fetches implements AutoCloseable {
    private static final int MOST = 2;
    private static final long LEAST_BYTES = 16 << 10;

    private final CudaDevice device;
    private final CudaStream stream;
    private final @Nullable Buffer[] buffers = new Buffer[MOST];
    private final CudaEvent[] arrived = new CudaEvent[MOST];
    private int queued;
    private int taken;

    Fetches(CudaDevice device, CudaStream stream) {
        this.device = device;
        this.stream = stream;
        for (int i = 0; i < MOST; i++) {
            arrived[i] = CudaEvent.create();
        }
    }

    void queue(long source, long bytes) {
        if (queued - taken == MOST) {
            throw new IllegalStateException(MOST + " results are on their way already");
        }
        int place = queued % MOST;
        Driver.copyToHost(buffer(place, bytes).asSlice(0, bytes), source, stream.handle());
        arrived[place].record(stream);
        queued++;
    }

    void take(MemorySegment target) {
        if (taken == queued) {
            throw new IllegalStateException("nothing was fetched");
        }
        int place = taken++ % MOST;
        arrived[place].synchronize();
        MemorySegment.copy(buffer(place, target.byteSize()), 0, target, 0, target.byteSize());
    }

    private MemorySegment buffer(int place, long bytes) {
        Buffer buffer = buffers[place];
        if (buffer == null || buffer.bytes() < bytes) {
            if (buffer != null) {
                buffer.close();
            }
            buffer = device.allocatePinned(Math.max(LEAST_BYTES, bytes), "fetched results");
            buffers[place] = buffer;
        }
        return buffer.host();
    }

    @Override
    public void close() {
        for (int i = 0; i < MOST; i++) {
            arrived[i].close();
            Buffer buffer = buffers[i];
            if (buffer != null) {
                buffer.close();
            }
        }
    }
}
