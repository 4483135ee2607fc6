package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.Delta;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives deltas to their listeners in order. What one pass brought goes out together behind it, or while a card computes the next one, on the step loop's own
 * thread: listeners never wait, and a thread between would cost every token one more wake-up.
 */
final class Delivery {
    private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);

    private record Parcel(ActiveRequest request, Delta delta) {}

    /** The step loop's own. */
    private final List<Parcel> parcels = new ArrayList<>();
    /** Requests that have not had their last delta. */
    private final Set<ActiveRequest> live = ConcurrentHashMap.newKeySet();

    /** Keeps the delta until {@link #flush}. Called by the step loop alone. */
    void send(ActiveRequest request, Delta delta) {
        parcels.add(new Parcel(request, delta));
    }

    /** Delivers what was sent. Called by the step loop alone. */
    void flush() {
        for (Parcel parcel : parcels) {
            deliver(parcel.request(), parcel.delta());
        }
        // Only now: whoever is woken may take the processor away.
        for (Parcel parcel : parcels) {
            pause(parcel.request());
        }
        parcels.clear();
    }

    /** From now on the request will get a last delta, whatever happens. */
    void expect(ActiveRequest request) {
        live.add(request);
    }

    /** Ends every request that has not had its last delta, at once: the step loop may hang. */
    void failAll(ApiError error) {
        for (ActiveRequest request : live) {
            deliver(request, new Delta.Failed(0, error));
            pause(request);
        }
    }

    private static void pause(ActiveRequest request) {
        try {
            request.listener.onPause();
        } catch (RuntimeException e) {
            LOG.warn("a listener failed; its request is cancelled", e);
            request.cancel();
        }
    }

    private void deliver(ActiveRequest request, Delta delta) {
        // Whoever finds the engine dead ends requests beside the step loop.
        synchronized (request) {
            if (request.open == 0) {
                return;
            }
            if (delta instanceof Delta.Failed) {
                request.open = 0;
            } else if (delta instanceof Delta.Finished) {
                request.open--;
            }
            if (request.open == 0) {
                live.remove(request);
            }
            try {
                request.listener.onDelta(delta);
            } catch (RuntimeException e) {
                LOG.warn("a listener failed; its request is cancelled", e);
                request.cancel();
            }
        }
    }
}
