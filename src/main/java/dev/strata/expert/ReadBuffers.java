package dev.strata.expert;

import dev.strata.os.HostPages;
import dev.strata.os.Unreadable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Memory in huge pages that reads go to when they cannot go where their bytes belong; buffers grow as requests need it. */
final class ReadBuffers implements AutoCloseable {
    private static final long MOST_KEPT = ReadPlan.MOST_REQUEST + (64 << 10);

    private final BlockingQueue<HostPages> free = new LinkedBlockingQueue<>();
    private final List<HostPages> all = new ArrayList<>();
    private final int most;

    /** At most {@code most} buffers; who wants one more waits. */
    ReadBuffers(int most) {
        this.most = most;
    }

    HostPages take(long bytes) {
        HostPages buffer = free.poll();
        if (buffer == null) {
            synchronized (all) {
                if (all.size() < most) {
                    return allocate(Math.max(bytes, HostPages.HUGE_PAGE));
                }
            }
            try {
                buffer = free.take();
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                throw Unreadable.because("reading experts was interrupted");
            }
        }
        return buffer.bytes() >= bytes ? buffer : replace(buffer, bytes);
    }

    void give(HostPages buffer) {
        free.add(buffer);
    }

    private HostPages replace(HostPages small, long bytes) {
        synchronized (all) {
            all.remove(small);
            small.close();
            return allocate(Math.max(bytes, Math.min(2 * bytes, MOST_KEPT)));
        }
    }

    private HostPages allocate(long bytes) {
        HostPages buffer = HostPages.allocate(bytes, "read buffer");
        all.add(buffer);
        return buffer;
    }

    @Override
    public void close() {
        synchronized (all) {
            all.forEach(HostPages::close);
            all.clear();
        }
    }
}
