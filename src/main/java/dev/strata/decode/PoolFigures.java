package dev.strata.decode;

import java.util.concurrent.atomic.LongAdder;

/** What the expert pool has done so far. */
public final class PoolFigures {
    private final LongAdder meetings = new LongAdder();
    private final LongAdder experts = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final LongAdder planNanos = new LongAdder();
    private final LongAdder linkExperts = new LongAdder();
    private final LongAdder linkNanos = new LongAdder();
    private final LongAdder lateNanos = new LongAdder();

    void met(int count, long blobBytes, long took, long planned) {
        meetings.increment();
        experts.add(count);
        bytes.add(count * blobBytes);
        nanos.add(took);
        planNanos.add(planned);
    }

    void linked(int count, long took, long processorTook) {
        linkExperts.add(count);
        linkNanos.add(took);
        lateNanos.add(Math.max(0, processorTook - took));
    }

    /** Layers in which the processor had a part. */
    public long meetings() {
        return meetings.sum();
    }

    /** Experts that the processor computed. */
    public long experts() {
        return experts.sum();
    }

    /** Bytes of their blobs. */
    public long bytes() {
        return bytes.sum();
    }

    /** Nanoseconds from seeing a question to its answer. */
    public long nanos() {
        return nanos.sum();
    }

    /** Of these, what was not spent in kernels: finding the blobs and publishing. */
    public long planNanos() {
        return planNanos.sum();
    }

    /** Experts that the card read over the link in layers with a meeting. */
    public long linkExperts() {
        return linkExperts.sum();
    }

    /** Nanoseconds of the card's own part in these layers. */
    public long linkNanos() {
        return linkNanos.sum();
    }

    /** Nanoseconds that the card waited for the processor. */
    public long lateNanos() {
        return lateNanos.sum();
    }
}
