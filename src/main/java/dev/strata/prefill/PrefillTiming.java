package dev.strata.prefill;

import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Where the time of streamed passes went. Bytes and host times are always counted; with {@code events} every wait for blobs is also
 * timed on the device ({@code STRATA_PREFILL_TIMING=1}), which costs two events a group.
 */
public final class PrefillTiming implements AutoCloseable {
    private final boolean events;
    private final List<Event> marks = new ArrayList<>();
    private int marked;
    private long start;
    private long passNanos;
    private long hostWaitNanos;
    private double deviceWaitMillis;
    private double deviceMillis;
    private long allLink;
    private long linkBytes;
    private long stagedBytes;
    private long stagerNanos;
    private long linkBytesBefore;
    private long stagedBytesBefore;
    private long stagerNanosBefore;
    private int passes;
    private boolean active;

    public PrefillTiming(boolean events) {
        this.events = events;
    }

    /** A streamed pass begins. */
    public void begin() {
        active = true;
        start = System.nanoTime();
        marked = 0;
    }

    void hostWait(long nanos) {
        if (active) {
            hostWaitNanos += nanos;
        }
    }

    void beforeWait(Device device, Stream stream) {
        mark(device, stream);
    }

    void afterWait(Device device, Stream stream) {
        mark(device, stream);
    }

    private void mark(Device device, Stream stream) {
        if (!events || !active) {
            return;
        }
        if (marked == marks.size()) {
            marks.add(device.newEvent());
        }
        marks.get(marked++).record(stream);
    }

    void end(long allLinkBytes, long allStagedBytes, long allStagerNanos) {
        active = false;
        passNanos += System.nanoTime() - start;
        allLink = allLinkBytes;
        linkBytes = allLinkBytes - linkBytesBefore;
        stagedBytes = allStagedBytes - stagedBytesBefore;
        stagerNanos = allStagerNanos - stagerNanosBefore;
        passes++;
        if (marked > 0) {
            marks.get(marked - 1).synchronize();
            for (int i = 0; i + 1 < marked; i += 2) {
                deviceWaitMillis += marks.get(i + 1).millisSince(marks.get(i));
            }
            deviceMillis += marks.get(marked - 1).millisSince(marks.getFirst());
        }
    }

    /** The next prompt is counted from here. */
    public void restart() {
        linkBytesBefore = allLink;
        stagedBytesBefore += stagedBytes;
        stagerNanosBefore += stagerNanos;
        passes = 0;
        passNanos = 0;
        hostWaitNanos = 0;
        deviceWaitMillis = 0;
        deviceMillis = 0;
    }

    /** Streamed passes. */
    public int passes() {
        return passes;
    }

    /** Bytes that crossed the link. */
    public long linkBytes() {
        return linkBytes;
    }

    /** Bytes that went through the stager. */
    public long stagedBytes() {
        return stagedBytes;
    }

    /** Share of the device's time that waited for blobs; 0 unless events are on. */
    public double waitingShare() {
        return deviceMillis > 0 ? deviceWaitMillis / deviceMillis : 0;
    }

    /**
     * The line of {@code STRATA_PREFILL_TIMING=1}.
     *
     * @param uniqueBytes bytes of the distinct blobs that had to cross the link
     */
    public String line(long uniqueBytes) {
        double seconds = passNanos / 1e9;
        return String.format(
                Locale.ROOT,
                "prefill timing: %d passes in %.1f ms, waited for experts %.1f ms on the device (%.1f %%) and %.1f ms on the host; "
                        + "%.2f GB over the link (%.1f GB/s, %.2f of the unique bytes a pass), %.2f GB staged at %.1f GB/s a thread",
                passes,
                seconds * 1e3,
                deviceWaitMillis,
                100 * waitingShare(),
                hostWaitNanos / 1e6,
                linkBytes / 1e9,
                seconds > 0 ? linkBytes / 1e9 / seconds : 0,
                uniqueBytes > 0 && passes > 0 ? linkBytes / (double) uniqueBytes / passes : 0,
                stagedBytes / 1e9,
                stagerNanos > 0 ? stagedBytes / (double) stagerNanos : 0);
    }

    @Override
    public void close() {
        marks.forEach(Event::close);
        marks.clear();
    }
}
