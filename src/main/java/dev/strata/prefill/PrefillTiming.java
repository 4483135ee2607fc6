package dev.strata.prefill;

import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.prefill.PassTimeline.Mark;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Where the time of streamed passes went. Bytes and host times are always counted; with {@code events} every group is also timed on the
 * device ({@code STRATA_PREFILL_TIMING=1}), which costs five events a group. The engine's thread calls it.
 */
public final class PrefillTiming implements AutoCloseable {
    /** Timelines in use: of the pass before, of this one, and of the one whose copies run ahead. */
    private static final int MOST_TIMELINES = 3;

    private final boolean events;
    private final PassAccount account = new PassAccount();
    private final List<PassTimeline> spare = new ArrayList<>();
    private final Deque<PassTimeline> over = new ArrayDeque<>();
    private @Nullable PassTimeline next;
    private @Nullable PassTimeline current;
    private @Nullable PassTimeline counted;
    private long start;
    private long passNanos;
    private long hostWaitNanos;
    private long linkBytes;
    private long uniqueBytes;
    private long stagedBytes;
    private long stagerNanos;
    private int passes;
    private boolean active;

    public PrefillTiming(boolean events) {
        this.events = events;
    }

    /** The copies of a pass over {@code order} start; what they mark goes to the answer, null when the device is not timed. */
    @Nullable
    PassTimeline prepare(Device device, StreamOrder order) {
        drop();
        if (!events || !order.wholeModel()) {
            return null;
        }
        while (spare.size() + over.size() + (counted == null ? 0 : 1) >= MOST_TIMELINES && !over.isEmpty()) {
            count();
        }
        PassTimeline found = null;
        while (!spare.isEmpty() && found == null) {
            PassTimeline one = spare.removeLast();
            if (one.order() == order) {
                one.clear();
                found = one;
            } else {
                one.close();
            }
        }
        next = found == null ? PassTimeline.create(device, order) : found;
        return next;
    }

    /** A streamed pass begins, whose copies were prepared last. */
    public void begin(Stream compute) {
        active = true;
        start = System.nanoTime();
        current = next;
        next = null;
        if (current != null) {
            current.start(compute);
        }
    }

    /** What was prepared will not run. */
    void drop() {
        if (next != null) {
            spare.add(next);
            next = null;
        }
    }

    void hostWait(long nanos) {
        if (active) {
            hostWaitNanos += nanos;
        }
    }

    void mark(Mark mark, int group, Stream stream) {
        if (current != null) {
            current.mark(mark, group, stream);
        }
    }

    void end(
            Stream compute,
            long uniqueOfPass,
            boolean consumed,
            long linkOfPass,
            long stagedOfPass,
            long nanosOfStager) {
        if (!active) {
            return;
        }
        active = false;
        passNanos += System.nanoTime() - start;
        linkBytes += linkOfPass;
        stagedBytes += stagedOfPass;
        stagerNanos += nanosOfStager;
        uniqueBytes += uniqueOfPass;
        passes++;
        if (current != null) {
            current.end(compute);
            if (consumed) {
                over.add(current);
            } else {
                spare.add(current);
            }
            current = null;
        }
    }

    /** Adds the oldest pass that is over to the account. Waits for it, so it is called when the device is far behind it. */
    private void count() {
        PassTimeline pass = over.removeFirst();
        Event before = counted == null ? null : counted.endEvent();
        account.add(pass, before);
        if (counted != null) {
            spare.add(counted);
        }
        counted = pass;
    }

    private void countAll() {
        while (!over.isEmpty()) {
            count();
        }
    }

    /** The next prompt is counted from here. */
    public void restart() {
        countAll();
        if (counted != null) {
            spare.add(counted);
            counted = null;
        }
        account.clear();
        linkBytes = 0;
        stagedBytes = 0;
        stagerNanos = 0;
        uniqueBytes = 0;
        passes = 0;
        passNanos = 0;
        hostWaitNanos = 0;
    }

    /** Streamed passes. */
    public int passes() {
        return passes;
    }

    /** Bytes that crossed the link. */
    public long linkBytes() {
        return linkBytes;
    }

    /** Bytes of the blobs that had to cross it. */
    public long uniqueBytes() {
        return uniqueBytes;
    }

    /** Bytes that went through the stager. */
    public long stagedBytes() {
        return stagedBytes;
    }

    /** The line of {@code STRATA_PREFILL_TIMING=1}. */
    public String line() {
        countAll();
        boolean onDevice = account.passes() == passes && passes > 0;
        double seconds = onDevice ? account.millis() / 1e3 : passNanos / 1e9;
        return String.format(
                Locale.ROOT,
                "prefill timing: %d passes in %.1f ms%s; waited %.1f ms on the host; "
                        + "%.2f GB over the link (%.1f GB/s%s, %.2f of the unique bytes), %.2f GB staged at %.1f GB/s a thread",
                passes,
                seconds * 1e3,
                onDevice ? " on the device: " + account.text() : "",
                hostWaitNanos / 1e6,
                linkBytes / 1e9,
                seconds > 0 ? linkBytes / 1e9 / seconds : 0,
                onDevice && account.copying() > 0
                        ? String.format(Locale.ROOT, ", %.1f while copies ran", linkBytes / 1e6 / account.copying())
                        : "",
                uniqueBytes > 0 ? linkBytes / (double) uniqueBytes : 0,
                stagedBytes / 1e9,
                stagerNanos > 0 ? stagedBytes / (double) stagerNanos : 0);
    }

    @Override
    public void close() {
        drop();
        spare.addAll(over);
        over.clear();
        if (counted != null) {
            spare.add(counted);
            counted = null;
        }
        if (current != null) {
            spare.add(current);
            current = null;
        }
        spare.forEach(PassTimeline::close);
        spare.clear();
    }
}
