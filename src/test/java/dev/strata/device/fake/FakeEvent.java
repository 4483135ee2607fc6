package dev.strata.device.fake;

import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.Stream;

/** A mark: recordings are numbered, and the mark has happened when the last recording was reached. */
final class FakeEvent implements Event {
    private final FakeDevice device;
    private long recorded;
    private long reached;
    private long nanos;
    private boolean broken;
    private boolean closed;

    FakeEvent(FakeDevice device) {
        this.device = device;
    }

    @Override
    public void record(Stream stream) {
        device.call(FakeCall.Kind.RECORD, (FakeStream) stream, 0, "record");
        synchronized (device.lock()) {
            if (closed) {
                throw new IllegalStateException("a closed event was recorded");
            }
            long number = ++recorded;
            ((FakeStream) stream).queue(FakeStream.Work.mark(() -> reach(number, ((FakeStream) stream).broken())));
        }
    }

    private void reach(long number, boolean streamBroken) {
        reached = Math.max(reached, number);
        nanos = System.nanoTime();
        broken |= streamBroken;
    }

    long recorded() {
        return recorded;
    }

    boolean reached(long number) {
        return reached >= number;
    }

    @Override
    public boolean isDone() {
        synchronized (device.lock()) {
            return reached >= recorded;
        }
    }

    @Override
    public void synchronize() {
        long number;
        synchronized (device.lock()) {
            number = recorded;
        }
        device.await(() -> reached >= number);
        if (broken) {
            throw new DeviceException(DeviceException.Kind.FAILED, "fake: the work before the event failed");
        }
    }

    @Override
    public float millisSince(Event earlier) {
        return (nanos - ((FakeEvent) earlier).nanos) / 1e6f;
    }

    @Override
    public void close() {
        synchronized (device.lock()) {
            if (!closed) {
                closed = true;
                device.eventClosed();
            }
        }
    }
}
