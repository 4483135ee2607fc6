package dev.strata.decode;

import dev.strata.device.Stream;
import dev.strata.expert.SlotCache;
import dev.strata.expert.SlotState;
import dev.strata.prefill.PrefillScheduler;
import dev.strata.prefill.StreamOrder;
import dev.strata.prefill.StreamRing;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Copies experts into free slots, in the order of a stream: what is queued on it later finds them there. */
final class SlotFiller {
    private static final Logger LOG = LoggerFactory.getLogger(SlotFiller.class);

    private final SlotCache cache;
    private final PlacedBlobs blobs;
    private final PrefillScheduler scheduler;
    private final StreamRing noRing = new StreamRing(1, 1);

    SlotFiller(SlotCache cache, PlacedBlobs blobs, PrefillScheduler scheduler) {
        this.cache = cache;
        this.blobs = blobs;
        this.scheduler = scheduler;
    }

    /**
     * Fills every free slot behind what {@code stream} reads from them. A blob that cannot be brought leaves the remaining slots free:
     * their experts are served from where they lie.
     */
    void fill(Stream stream) {
        int[] slots = freeSlots();
        if (slots.length == 0) {
            return;
        }
        int[] layers = new int[slots.length];
        int[] experts = new int[slots.length];
        long[] targets = new long[slots.length];
        for (int i = 0; i < slots.length; i++) {
            cache.loading(slots[i]);
            layers[i] = cache.layer(slots[i]);
            experts[i] = cache.expert(slots[i]);
            targets[i] = cache.offset(slots[i]);
        }
        StreamOrder order = StreamOrder.slots(blobs, layers, experts, targets, slots.length);
        int done = 0;
        RuntimeException failure = null;
        scheduler.fence();
        scheduler.begin(order, noRing, 0, stream);
        try {
            for (; done < order.size(); done++) {
                scheduler.awaitIssued(done);
                scheduler.waitFor(done, stream);
                scheduler.release(done, stream);
            }
        } catch (RuntimeException failed) {
            failure = failed;
        } finally {
            scheduler.end(done == order.size(), stream);
        }
        int filled = Math.min(slots.length, done * StreamOrder.SLOTS_A_GROUP);
        for (int i = 0; i < slots.length; i++) {
            if (i < filled) {
                cache.ready(slots[i]);
            } else {
                cache.failed(slots[i]);
            }
        }
        if (failure != null) {
            LOG.warn(
                    "expert cache: {} of {} slots stay empty: {}",
                    slots.length - filled,
                    slots.length,
                    failure.toString());
        }
    }

    private int[] freeSlots() {
        int[] free = new int[cache.slots()];
        int count = 0;
        for (int slot = 0; slot < free.length; slot++) {
            if (cache.state(slot) == SlotState.FREE) {
                free[count++] = slot;
            }
        }
        return java.util.Arrays.copyOf(free, count);
    }
}
