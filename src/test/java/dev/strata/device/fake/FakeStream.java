package dev.strata.device.fake;

import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** An ordered queue of work. Guarded by the device's lock; payloads run outside it. */
final class FakeStream implements Stream {
    /** Work that may start when {@code ready} holds; {@code payload} runs outside the lock, {@code mark} inside. */
    record Work(
            BooleanSupplier ready,
            @Nullable Runnable payload,
            @Nullable Runnable mark,
            long bytes) {
        static Work payload(Runnable payload, long bytes) {
            return new Work(() -> true, payload, null, bytes);
        }

        static Work mark(Runnable mark) {
            return new Work(() -> true, null, mark, 0);
        }

        static Work wait(BooleanSupplier ready) {
            return new Work(ready, null, null, 0);
        }
    }

    private final FakeDevice device;
    private final String name;
    private final ArrayDeque<Work> queue = new ArrayDeque<>();
    private long queued;
    private long finished;
    private boolean running;
    private boolean broken;
    private boolean closed;

    FakeStream(FakeDevice device, String name) {
        this.device = device;
        this.name = name;
    }

    String name() {
        return name;
    }

    boolean broken() {
        return broken;
    }

    void queue(Work work) {
        if (closed) {
            throw new IllegalStateException("work was queued on the closed stream " + name);
        }
        queue.add(work);
        queued++;
        device.lock().notifyAll();
    }

    /** Whether {@link #runNext} would do something; inside the lock. */
    boolean canRun() {
        Work head = queue.peek();
        return !running && head != null && head.ready.getAsBoolean();
    }

    boolean idle() {
        return queue.isEmpty() && !running;
    }

    boolean closed() {
        return closed;
    }

    /** Runs the head of the queue; called without the lock, by one thread at a time. */
    void runNext() {
        Work work;
        synchronized (device.lock()) {
            if (!canRun()) {
                return;
            }
            work = queue.remove();
            running = true;
        }
        boolean failed = false;
        if (work.payload != null && !broken) {
            try {
                device.spend(work.bytes);
                work.payload.run();
            } catch (RuntimeException | AssertionError failure) {
                failed = true;
                device.failed(failure);
            }
        }
        synchronized (device.lock()) {
            broken |= failed;
            if (work.mark != null) {
                work.mark.run();
            }
            running = false;
            finished++;
            device.lock().notifyAll();
        }
        device.settle();
    }

    @Override
    public void waitFor(Event event) {
        device.call(FakeCall.Kind.WAIT, this, 0, "wait");
        synchronized (device.lock()) {
            FakeEvent fake = (FakeEvent) event;
            long number = fake.recorded();
            queue(Work.wait(() -> fake.reached(number)));
        }
    }

    @Override
    public void synchronize() {
        long target;
        synchronized (device.lock()) {
            target = queued;
        }
        device.await(() -> finished >= target);
        if (broken) {
            throw new DeviceException(DeviceException.Kind.FAILED, "fake: work on stream " + name + " failed");
        }
    }

    @Override
    public void close() {
        synchronize(true);
    }

    private void synchronize(boolean close) {
        long target;
        synchronized (device.lock()) {
            target = queued;
        }
        device.await(() -> finished >= target);
        synchronized (device.lock()) {
            if (close && !closed) {
                closed = true;
                device.streamClosed(this);
                device.lock().notifyAll();
            }
        }
    }
}
