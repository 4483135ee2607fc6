package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.ExpertGroups;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.expert.SlotCache;
import dev.strata.prefill.PrefillScheduler;
import dev.strata.prefill.StreamGroup;
import dev.strata.prefill.StreamOrder;
import dev.strata.prefill.StreamRing;
import java.util.Arrays;
import java.util.BitSet;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Small passes over layers with experts outside the cache: the router's choice comes to the host, and the missing blobs are copied into spare
 * slots, some ahead of the products. In steps these are the ones that no kernel can reach; a prompt's tiles read those in registered memory
 * at half of the link's rate only, so there all of them are copied.
 */
final class FetchedPass implements AutoCloseable {
    private static final int[] NONE = new int[0];

    private final Device device;
    private final PinnedRoom room;
    private final SlotCache cache;
    private final PlacedBlobs blobs;
    private final PrefillScheduler scheduler;
    private final StreamRing ring;
    private final long ringBase;
    private final int groupSize;
    private @Nullable Routing guess;
    private int guessLayer;
    private int guessRows;
    private int[] guessed = new int[0];

    /**
     * @param ringBase where the spare slots start in the cache's allocation
     * @param spare how many there are
     */
    FetchedPass(
            Device device, SlotCache cache, PlacedBlobs blobs, PrefillScheduler scheduler, long ringBase, int spare) {
        this.device = device;
        room = new PinnedRoom(device, "routed experts");
        this.cache = cache;
        this.blobs = blobs;
        this.scheduler = scheduler;
        this.ringBase = ringBase;
        ring = new StreamRing(spare * cache.layout().maxStride(), PrefillScheduler.GROUPS_AHEAD);
        groupSize = Math.max(1, spare / 2);
    }

    void products(int layer, ExpertGroups groups, ResidencyTable table) {
        Stream compute = groups.stream();
        int[] missing = missing(layer, groups, table);
        int experts = cache.layout().experts(layer);
        if (missing.length == 0) {
            blobs.expect(guessLayer, guessed);
            groups.run(0, experts);
            return;
        }
        try {
            fetch(layer, groups, table, missing, NONE);
        } finally {
            table.restore(layer, compute);
        }
    }

    /**
     * The products of a layer whose missing experts are known. Kernels see the addresses of fetched blobs until the caller restores the
     * table.
     *
     * @param missing experts to bring, ascending; others without an address are left out
     * @param others experts that are left out though they may have an address
     */
    void fetch(int layer, ExpertGroups groups, ResidencyTable table, int[] missing, int[] others) {
        Stream compute = groups.stream();
        if (missing.length == 0) {
            if (others.length > 0) {
                table.overlay(layer, others, new long[others.length], others.length, compute);
            }
            groups.run(0, cache.layout().experts(layer));
            return;
        }
        StreamOrder order = StreamOrder.some(blobs, layer, missing, missing.length, groupSize);
        int released = 0;
        scheduler.begin(order, ring, ringBase, compute);
        try {
            int[] changed = Arrays.copyOf(missing, missing.length + others.length);
            System.arraycopy(others, 0, changed, missing.length, others.length);
            long[] addresses = Arrays.copyOf(places(layer, order, missing.length), changed.length);
            table.overlay(layer, changed, addresses, changed.length, compute);
            for (; released < order.size(); released++) {
                StreamGroup group = order.group(released);
                scheduler.awaitIssued(released);
                if (released == order.size() - 1) {
                    // All of this layer's reads have ended.
                    blobs.expect(guessLayer, guessed);
                }
                scheduler.waitFor(released, compute);
                groups.run(group.first(), group.count());
                scheduler.release(released, compute);
            }
        } finally {
            scheduler.end(released == order.size(), compute);
        }
    }

    /** Experts of a later layer that the rows of the next products will probably choose there. */
    void expect(int layer, Routing choice, int rows) {
        guess = choice;
        guessLayer = layer;
        guessRows = rows;
    }

    /** The routed experts to fetch, ascending; waits for the router. What was guessed comes along. */
    private int[] missing(int layer, ExpertGroups groups, ResidencyTable table) {
        int choices = groups.rows() * groups.routing().used();
        Routing later = guess;
        guess = null;
        int guesses = later == null ? 0 : guessRows * later.used();
        Buffer read = room.of(4L * (choices + guesses));
        device.copyToHost(groups.routing().ids(), 0, read.host().asSlice(0, 4L * choices), groups.stream());
        if (later != null) {
            device.copyToHost(later.ids(), 0, read.host().asSlice(4L * choices, 4L * guesses), groups.stream());
        }
        groups.stream().synchronize();
        IntPredicate unreachable = expert -> table.get(layer, expert) == 0;
        IntPredicate absent = expert -> !cache.isResident(layer, expert);
        guessed = chosen(read, choices, guesses, expert -> table.get(guessLayer, expert) == 0);
        return chosen(read, 0, choices, groups.rows() > UsageLog.ROWS ? absent : unreachable);
    }

    private static int[] chosen(Buffer ids, int from, int count, IntPredicate wanted) {
        BitSet chosen = new BitSet();
        for (int i = from; i < from + count; i++) {
            int expert = ids.host().getAtIndex(JAVA_INT, i);
            if (expert >= 0 && wanted.test(expert)) {
                chosen.set(expert);
            }
        }
        return chosen.stream().toArray();
    }

    private long[] places(int layer, StreamOrder order, int count) {
        long[] places = new long[count];
        long stride = cache.layout().stride(layer);
        long end = 0;
        int next = 0;
        for (int index = 0; index < order.size(); index++) {
            long size = order.group(index).ringBytes();
            long start = StreamRing.place(end, size, ring.bytes());
            end = start + size;
            for (long offset = start; offset < end; offset += stride) {
                places[next++] = cache.buffer().address() + ringBase + offset;
            }
        }
        return places;
    }

    @Override
    public void close() {
        room.close();
    }
}
