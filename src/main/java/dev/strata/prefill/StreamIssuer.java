package dev.strata.prefill;

import dev.strata.device.BlobParts;
import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * Queues the copies of a {@link StreamOrder}: keeps the stager fed ahead, waits for room in the ring, orders every copy behind the work
 * that read the memory before it, and marks each group when the last of its copies is queued. A machine of short steps that never
 * blocks; one thread steps it, another consumes.
 *
 * <p>Groups are numbered through all orders. A group's two events, copied and used, are taken again {@value #EVENTS} groups later; the
 * issuer never runs that far ahead of the consumer.
 */
final class StreamIssuer implements AutoCloseable {
    /**
     * Copies out of registered memory that the device has not done yet, at most: small copies of other streams go through the same engine
     * and would wait for all that is queued.
     */
    static final int COPIES_AHEAD = 4;

    /** Bytes of such a copy; longer ones are no faster. */
    static final long COPY_BYTES = 16L << 20;

    /** Groups between issuer and consumer at most. */
    static final int EVENTS = 128;

    private final Device device;
    private final Stream copies;
    private final Buffer target;
    private final BlobPlaces places;
    private final @Nullable Stager stager;
    private final @Nullable StageFeed feed;
    private final Event[] copied = new Event[EVENTS];
    private final Event[] used = new Event[EVENTS];
    private final long[] ringBytes = new long[EVENTS];
    private final Event[] flights = new Event[COPIES_AHEAD];
    private int flight;

    private StreamRing ring = new StreamRing(0, EVENTS);
    private long ringBase;
    private @Nullable StreamOrder order;
    private @Nullable PassTimeline timeline;
    private long firstGroup;
    private long freed;
    private int group;
    private int transfer;
    private long done;
    private long place = -1;
    private boolean leftOver;
    private boolean draining;

    private volatile @Nullable StreamOrder following;
    private volatile boolean waitsForRoom;
    private volatile boolean cancelled;
    private volatile long issuedGroups;
    private volatile long releasedGroups;
    private volatile @Nullable RuntimeException failure;
    private volatile boolean running;
    private volatile long issuedBytes;

    StreamIssuer(Device device, Buffer target, BlobPlaces places, @Nullable Stager stager) {
        this.device = device;
        this.target = target;
        this.places = places;
        this.stager = stager;
        feed = stager == null ? null : new StageFeed(stager);
        copies = device.newStream("expert copies");
        int made = 0;
        try {
            for (; made < EVENTS; made++) {
                copied[made] = device.newEvent();
                used[made] = device.newEvent();
            }
            for (int i = 0; i < COPIES_AHEAD; i++) {
                flights[i] = device.newEvent();
            }
        } catch (RuntimeException failed) {
            for (int i = 0; i <= made && i < EVENTS; i++) {
                closeEvent(copied[i]);
                closeEvent(used[i]);
            }
            for (Event one : flights) {
                closeEvent(one);
            }
            copies.close();
            throw failed;
        }
    }

    private static void closeEvent(@Nullable Event event) {
        if (event != null) {
            event.close();
        }
    }

    /**
     * Starts an order. Nothing may be running.
     *
     * @param behind its copies wait for this event; null only when the ring is that of the last order, which was consumed
     * @param marks where copies leave their marks, or null
     */
    void begin(
            StreamOrder next,
            StreamRing withRing,
            long withRingBase,
            @Nullable Event behind,
            @Nullable PassTimeline marks) {
        if (running) {
            throw new IllegalStateException("a stream is running");
        }
        if (withRing != ring) {
            forgetRing();
            ring = withRing;
        }
        ringBase = withRingBase;
        if (behind != null) {
            copies.waitFor(behind);
        }
        order = next;
        timeline = marks;
        firstGroup = issuedGroups;
        group = 0;
        transfer = 0;
        done = 0;
        place = -1;
        following = null;
        boolean dropped = dropOthers(next);
        draining = leftOver || dropped;
        leftOver = false;
        cancelled = false;
        failure = null;
        waitsForRoom = false;
        ring.rewind();
        running = true;
    }

    /** Whether jobs of another order than {@code next} had to be dropped, which is over when the stager is drained. */
    private boolean dropOthers(StreamOrder next) {
        if (stager == null || feed == null || feed.begin(next)) {
            return false;
        }
        stager.restart();
        return true;
    }

    /** Bytes of {@code next}, which will begin when the current order was consumed, may be staged behind those of the current one. Consumer. */
    void follow(StreamOrder next) {
        following = next;
    }

    /** Number of the first group of the current order. */
    long firstGroup() {
        return firstGroup;
    }

    /** Groups whose copies are queued, through all orders. Consumer. */
    long issuedGroups() {
        return issuedGroups;
    }

    /** What stopped the current order, or null. Consumer. */
    @Nullable
    RuntimeException failure() {
        return failure;
    }

    /** Whether {@link #step} has work left. */
    boolean running() {
        return running;
    }

    /** Whether it can do nothing before the consumer releases a group. */
    boolean waitsForRoom() {
        return waitsForRoom;
    }

    /** Whether the current order was cancelled, perhaps before anybody waited for it. */
    boolean cancelled() {
        return cancelled;
    }

    /** Bytes queued through all orders. */
    long issuedBytes() {
        return issuedBytes;
    }

    /** Makes {@code compute} wait for a group's copies. Consumer, once the group is issued. */
    void waitFor(long number, Stream compute) {
        compute.waitFor(copied[(int) (number % EVENTS)]);
    }

    /** What is queued on {@code compute} so far was the last to read the group's memory. Consumer, groups in order. */
    void release(long number, Stream compute) {
        used[(int) (number % EVENTS)].record(compute);
        releasedGroups = number + 1;
    }

    /** Stops the current order at the next step. */
    void cancel() {
        cancelled = true;
    }

    /** Does one thing; false when it has to wait for the consumer or the stager. */
    boolean step() {
        if (!running) {
            return false;
        }
        if (draining) {
            return drain();
        }
        if (cancelled) {
            return stop(new CancellationException("the prompt was cancelled"));
        }
        StreamOrder now = java.util.Objects.requireNonNull(order);
        if (group == now.size()) {
            running = false;
            return true;
        }
        try {
            boolean moved = stager != null && stager.collect();
            moved |= feed != null && feed.publish(following);
            return issue(now) || moved;
        } catch (RuntimeException failed) {
            return stop(failed);
        }
    }

    private boolean stop(RuntimeException reason) {
        failure = reason;
        if (stager != null && feed != null) {
            feed.forget();
            stager.restart();
        }
        draining = true;
        return true;
    }

    /** An order that failed ends when nothing of it is on its way any more; one that follows jobs that were dropped goes on. */
    private boolean drain() {
        if (stager != null && !stager.drained()) {
            return false;
        }
        draining = false;
        running = failure == null;
        return true;
    }

    private boolean issue(StreamOrder now) {
        StreamGroup next = now.group(group);
        if (place < 0) {
            waitsForRoom = !takePlace(next);
            if (waitsForRoom) {
                return false;
            }
            mark(PassTimeline.Mark.COPY_BEGUN, next);
        }
        if (transfer < next.transfers().size()) {
            return copy(next.transfers().get(transfer));
        }
        int slot = (int) (issuedGroups % EVENTS);
        copied[slot].record(copies);
        mark(PassTimeline.Mark.COPY_DONE, next);
        place = -1;
        transfer = 0;
        group++;
        issuedGroups++;
        return true;
    }

    private void mark(PassTimeline.Mark mark, StreamGroup of) {
        if (timeline != null && !of.transfers().isEmpty()) {
            timeline.mark(mark, group, copies);
        }
    }

    /** Room for the group in the ring and among the events; copies wait for the last reader of what they overwrite. */
    private boolean takePlace(StreamGroup next) {
        long latest = -1;
        long start = 0;
        boolean room = true;
        while (room && issuedGroups - freed >= EVENTS) {
            room = freed < releasedGroups;
            latest = room ? freeOldest(latest) : latest;
        }
        if (room && next.ringBytes() > 0) {
            start = ring.take(next.ringBytes());
            while (start < 0 && freed < releasedGroups) {
                latest = freeOldest(latest);
                start = ring.take(next.ringBytes());
            }
            room = start >= 0;
        }
        if (latest >= 0) {
            copies.waitFor(used[(int) (latest % EVENTS)]);
        }
        if (!room) {
            return false;
        }
        ringBytes[(int) (issuedGroups % EVENTS)] = next.ringBytes();
        place = next.ringBytes() > 0 ? ringBase + start : 0;
        return true;
    }

    /** Takes back the oldest group's range; returns the group when it had one, else {@code latest}. */
    private long freeOldest(long latest) {
        long oldest = freed++;
        if (ringBytes[(int) (oldest % EVENTS)] == 0) {
            return latest;
        }
        ring.release();
        return oldest;
    }

    private boolean copy(Transfer run) {
        long to = place + run.target() + done;
        if (run.direct()) {
            return copyDirect(run, to);
        }
        Stager staged = java.util.Objects.requireNonNull(stager, "staged bytes without a stager");
        RuntimeException failed = staged.failed();
        if (failed != null) {
            throw failed;
        }
        if (!staged.filled()) {
            return false;
        }
        long length = run.unit() > 1 ? copyBlob(staged, to) : copyPieces(staged, run.bytes() - done, to);
        issuedBytes += length;
        done += length;
        if (done == run.bytes()) {
            done = 0;
            transfer++;
        }
        return true;
    }

    /** Copies what one buffer holds of a run that may be torn, and its neighbours. */
    private long copyPieces(Stager staged, long most, long to) {
        int pieces = staged.filledRun(most);
        MemorySegment bytes = staged.filledBytes(pieces);
        device.copyToDevice(bytes, target, to, copies);
        staged.issued(pieces, copies);
        return bytes.byteSize();
    }

    /** Copies the parts of a blob to where they are one. */
    private long copyBlob(Stager staged, long to) {
        BlobParts parts = staged.filledParts();
        MemorySegment memory = staged.filledBuffer();
        long at = to;
        for (int part = 0; part < parts.count(); part++) {
            device.copyToDevice(memory.asSlice(parts.place(part), parts.bytes(part)), target, at, copies);
            at += parts.bytes(part);
        }
        long length = staged.jobBytes();
        staged.issued(1, copies);
        return length;
    }

    private boolean copyDirect(Transfer run, long to) {
        Event before = flights[flight];
        if (!before.isDone()) {
            return false;
        }
        long length = Math.min(run.bytes() - done, COPY_BYTES);
        device.copyToDevice(places.direct(run.layer(), run.source() + done, length), target, to, copies);
        before.record(copies);
        flight = (flight + 1) % COPIES_AHEAD;
        issuedBytes += length;
        done += length;
        if (done == run.bytes()) {
            done = 0;
            transfer++;
        }
        return true;
    }

    /**
     * After a failure: releases every group that was not consumed and forgets the ring's contents, so that the next order starts behind
     * {@code compute}. Consumer, when nothing runs.
     */
    void abandon(Stream compute) {
        for (long number = Math.max(releasedGroups, firstGroup); number < issuedGroups; number++) {
            used[(int) (number % EVENTS)].record(compute);
        }
        releasedGroups = issuedGroups;
        forgetRing();
        if (stager != null && feed != null && feed.ahead()) {
            feed.forget();
            stager.restart();
            leftOver = true;
        }
    }

    private void forgetRing() {
        while (ring.taken() > 0) {
            ring.release();
        }
        freed = issuedGroups;
    }

    /** Waits for all copies. */
    void synchronize() {
        copies.synchronize();
    }

    @Override
    public void close() {
        copies.close();
        for (int i = 0; i < EVENTS; i++) {
            copied[i].close();
            used[i].close();
        }
        for (Event one : flights) {
            one.close();
        }
    }
}
