package dev.strata.prefill;

import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;

/**
 * Marks of one streamed pass on the device's clock: its start and end, and for every group when its products could start, when its blobs
 * had come, when its products were through, and when its copies began and ended. The issuer's thread records the marks of copies, the
 * engine's thread all others.
 */
final class PassTimeline implements AutoCloseable {
    private static final int FIXED = 2;

    /** Marks of a group, on the products' stream unless said otherwise. */
    enum Mark {
        /** What comes before the group is through. */
        REACHED,
        /** Its blobs have come. */
        ARRIVED,
        /** Its products are through. */
        COMPUTED,
        /** On the stream of copies: its room in the ring is free. */
        COPY_BEGUN,
        /** On the stream of copies: the last one is through. */
        COPY_DONE
    }

    private static final int MARKS = Mark.values().length;

    private final StreamOrder order;
    private final Event[] events;
    private final boolean[] recorded;

    private PassTimeline(StreamOrder order, Event[] events) {
        this.order = order;
        this.events = events;
        recorded = new boolean[events.length];
    }

    /** Makes the events for an order. */
    static PassTimeline create(Device device, StreamOrder order) {
        Event[] events = new Event[FIXED + MARKS * order.size()];
        int made = 0;
        try {
            for (; made < events.length; made++) {
                events[made] = device.newEvent();
            }
        } catch (RuntimeException failed) {
            for (int i = 0; i < made; i++) {
                events[i].close();
            }
            throw failed;
        }
        return new PassTimeline(order, events);
    }

    StreamOrder order() {
        return order;
    }

    void start(Stream compute) {
        record(0, compute);
    }

    void end(Stream compute) {
        record(1, compute);
    }

    void mark(Mark mark, int group, Stream stream) {
        record(FIXED + MARKS * group + mark.ordinal(), stream);
    }

    private void record(int index, Stream stream) {
        events[index].record(stream);
        recorded[index] = true;
    }

    /** Forgets all marks; the device has passed them. */
    void clear() {
        java.util.Arrays.fill(recorded, false);
    }

    Event startEvent() {
        return events[0];
    }

    Event endEvent() {
        return events[1];
    }

    boolean has(Mark mark, int group) {
        return recorded[FIXED + MARKS * group + mark.ordinal()];
    }

    Event event(Mark mark, int group) {
        return events[FIXED + MARKS * group + mark.ordinal()];
    }

    @Override
    public void close() {
        for (Event event : events) {
            event.close();
        }
    }
}
