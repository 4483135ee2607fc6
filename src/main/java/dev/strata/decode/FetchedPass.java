package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
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

    /** Experts that are computed together at most: the products of the last ones have no copies beside them. */
    private static final int MOST_IN_GROUP = 8;

    private final Device device;
    private final PinnedRoom choices;
    private final SlotCache cache;
    private final PlacedBlobs blobs;
    private final PrefillScheduler scheduler;
    private final Room steps;
    private final Room prompts;
    private final Event begun;
    private final Event computed;
    private final FetchFigures figures = new FetchFigures();
    private int fetching;
    private long fetchingBytes;
    private double millis;
    private @Nullable Routing guess;
    private int guessLayer;
    private int guessRows;
    private int[] guessed = new int[0];

    /**
     * Spare slots.
     *
     * @param base where they start in the cache's allocation
     * @param count how many there are
     */
    record Spares(long base, int count) {}

    private record Room(StreamRing ring, long base, int groupSize) {
        static Room of(Spares spares, long stride) {
            return new Room(
                    new StreamRing(spares.count * stride, PrefillScheduler.GROUPS_AHEAD),
                    spares.base,
                    Math.clamp(spares.count / 2, 1, MOST_IN_GROUP));
        }
    }

    /**
     * Makes one.
     *
     * @param ofSteps what steps use, while earlier layers' pulled blobs lie elsewhere
     * @param ofPrompts what larger passes use; steps pull blobs to there, but every fetch begins when the card is through with all that was
     *     queued before
     */
    static FetchedPass create(
            Device device,
            SlotCache cache,
            PlacedBlobs blobs,
            PrefillScheduler scheduler,
            Spares ofSteps,
            Spares ofPrompts) {
        Event begun = device.newEvent();
        try {
            return new FetchedPass(device, cache, blobs, scheduler, ofSteps, ofPrompts, begun, device.newEvent());
        } catch (RuntimeException failed) {
            begun.close();
            throw failed;
        }
    }

    private FetchedPass(
            Device device,
            SlotCache cache,
            PlacedBlobs blobs,
            PrefillScheduler scheduler,
            Spares ofSteps,
            Spares ofPrompts,
            Event begun,
            Event computed) {
        this.device = device;
        this.begun = begun;
        this.computed = computed;
        choices = new PinnedRoom(device, "routed experts");
        this.cache = cache;
        this.blobs = blobs;
        this.scheduler = scheduler;
        steps = Room.of(ofSteps, cache.layout().maxStride());
        prompts = Room.of(ofPrompts, cache.layout().maxStride());
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
        begun.record(compute);
        fetching = missing.length;
        fetchingBytes = 0;
        if (missing.length == 0) {
            if (others.length > 0) {
                table.overlay(layer, others, new long[others.length], others.length, compute);
            }
            groups.run(0, cache.layout().experts(layer));
            computed.record(compute);
            return;
        }
        Room room = groups.rows() > UsageLog.ROWS ? prompts : steps;
        StreamOrder order = StreamOrder.some(blobs, layer, missing, missing.length, room.groupSize);
        fetchingBytes = order.bytes();
        int released = 0;
        scheduler.begin(order, room.ring, room.base, compute);
        try {
            int[] changed = Arrays.copyOf(missing, missing.length + others.length);
            System.arraycopy(others, 0, changed, missing.length, others.length);
            long[] addresses = Arrays.copyOf(places(layer, room, order, missing.length), changed.length);
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
            computed.record(compute);
        } finally {
            scheduler.end(released == order.size(), compute);
        }
    }

    /** Milliseconds of the last fetch and its products, once the stream has been waited for behind them; it counts among the figures then. */
    double took() {
        if (fetching > 0) {
            millis = computed.millisSince(begun);
            figures.fetched(fetching, fetchingBytes, millis);
            fetching = 0;
        }
        return millis;
    }

    /** What was fetched since they were cleared. */
    FetchFigures figures() {
        return figures;
    }

    /** Experts of a later layer that the rows of the next products will probably choose there. */
    void expect(int layer, Routing choice, int rows) {
        guess = choice;
        guessLayer = layer;
        guessRows = rows;
    }

    /** The routed experts to fetch, ascending; waits for the router. What was guessed comes along. */
    private int[] missing(int layer, ExpertGroups groups, ResidencyTable table) {
        int count = groups.rows() * groups.routing().used();
        Routing later = guess;
        guess = null;
        int guesses = later == null ? 0 : guessRows * later.used();
        Buffer read = choices.of(4L * (count + guesses));
        device.copyToHost(groups.routing().ids(), 0, read.host().asSlice(0, 4L * count), groups.stream());
        if (later != null) {
            device.copyToHost(later.ids(), 0, read.host().asSlice(4L * count, 4L * guesses), groups.stream());
        }
        groups.stream().synchronize();
        took();
        IntPredicate unreachable = expert -> table.get(layer, expert) == 0;
        IntPredicate absent = expert -> !cache.isResident(layer, expert);
        guessed = chosen(read, count, guesses, expert -> table.get(guessLayer, expert) == 0);
        return chosen(read, 0, count, groups.rows() > UsageLog.ROWS ? absent : unreachable);
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

    private long[] places(int layer, Room room, StreamOrder order, int count) {
        long[] places = new long[count];
        long stride = cache.layout().stride(layer);
        long end = 0;
        int next = 0;
        for (int index = 0; index < order.size(); index++) {
            long size = order.group(index).ringBytes();
            long start = StreamRing.place(end, size, room.ring.bytes());
            end = start + size;
            for (long offset = start; offset < end; offset += stride) {
                places[next++] = cache.buffer().address() + room.base + offset;
            }
        }
        return places;
    }

    @Override
    public void close() {
        choices.close();
        begun.close();
        computed.close();
    }
}
