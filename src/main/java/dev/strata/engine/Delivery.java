package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.Delta;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives deltas to their listeners on a thread of its own, in order, so that no listener can hold up the model. */
final class Delivery implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);

    private record Parcel(ActiveRequest request, Delta delta) {}

    private final LinkedBlockingQueue<Parcel> parcels = new LinkedBlockingQueue<>();
    /** Requests that have not had their last delta. */
    private final Set<ActiveRequest> live = ConcurrentHashMap.newKeySet();

    private final Thread thread;
    private volatile boolean closed;

    Delivery() {
        thread = Thread.ofPlatform().name("strata-delivery").daemon().unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    void send(ActiveRequest request, Delta delta) {
        parcels.add(new Parcel(request, delta));
    }

    /** From now on the request will get a last delta, whatever happens. */
    void expect(ActiveRequest request) {
        live.add(request);
    }

    /** Ends every request that has not had its last delta. */
    void failAll(ApiError error) {
        for (ActiveRequest request : live) {
            send(request, new Delta.Failed(0, error));
        }
    }

    private void run() {
        while (!closed || !parcels.isEmpty()) {
            try {
                Parcel parcel = parcels.take();
                deliver(parcel);
            } catch (InterruptedException e) {
                // Only close() interrupts; what is queued is still delivered.
                Thread.interrupted();
            }
        }
    }

    private void deliver(Parcel parcel) {
        ActiveRequest request = parcel.request();
        if (request.open == 0) {
            return;
        }
        if (parcel.delta() instanceof Delta.Failed) {
            request.open = 0;
        } else if (parcel.delta() instanceof Delta.Finished) {
            request.open--;
        }
        if (request.open == 0) {
            live.remove(request);
        }
        try {
            request.listener.onDelta(parcel.delta());
        } catch (RuntimeException e) {
            LOG.warn("a listener failed; its request is cancelled", e);
            request.cancel();
        }
    }

    /** Delivers what is queued and ends. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join(10_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
