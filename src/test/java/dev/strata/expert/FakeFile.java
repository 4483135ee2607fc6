package dev.strata.expert;

import dev.strata.os.BlockFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/** A file in memory that can be unaligned, slow, short, broken or changed. */
public final class FakeFile implements BlockFile {
    private final byte[] bytes;
    private final int alignment;
    private final AtomicInteger reads = new AtomicInteger();
    private volatile int failFrom = Integer.MAX_VALUE;
    private volatile int failures;
    private volatile int length;
    private volatile Object stamp = "first";
    private volatile IntUnaryOperator shorten = wanted -> wanted;
    private volatile @Nullable CountDownLatch together;

    public FakeFile(byte[] bytes, int alignment) {
        this.bytes = bytes;
        this.alignment = alignment;
        length = bytes.length;
    }

    public FakeFile failing(int from, int times) {
        failFrom = from + reads.get();
        failures = times;
        return this;
    }

    public FakeFile shortening(IntUnaryOperator change) {
        shorten = change;
        return this;
    }

    public void truncate(int to) {
        length = to;
        stamp = "truncated";
    }

    public void touch() {
        stamp = "touched";
    }

    /** The next reads wait until that many have begun. */
    public void meet(int readers) {
        together = new CountDownLatch(readers);
    }

    public int reads() {
        return reads.get();
    }

    @Override
    public int alignment() {
        return alignment;
    }

    @Override
    public boolean isDirect() {
        return alignment > 1;
    }

    @Override
    public long size() {
        return length;
    }

    @Override
    public Object stamp() {
        return stamp;
    }

    @Override
    public int read(MemorySegment target, long position) throws IOException {
        int number = reads.getAndIncrement();
        CountDownLatch latch = together;
        if (latch != null) {
            latch.countDown();
            try {
                latch.await();
            } catch (InterruptedException stop) {
                throw new IOException(stop);
            }
        }
        if (position % alignment != 0 || target.byteSize() % alignment != 0 || target.address() % alignment != 0) {
            throw new IOException("unaligned read of " + target.byteSize() + " at " + position);
        }
        if (number >= failFrom && number - failFrom < failures) {
            throw new IOException("EIO");
        }
        if (position >= length) {
            return -1;
        }
        int count = (int) Math.min(target.byteSize(), length - position);
        count = Math.max(1, shorten.applyAsInt(count));
        MemorySegment.copy(MemorySegment.ofArray(bytes), position, target, 0, count);
        return count;
    }

    @Override
    public void close() {}
}
