package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.SlotCache;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Short prompts: of the experts that a layer misses, the processor computes some of those with few rows where their blobs lie, while the
 * others cross the link. Every layer meets the host, which a prompt's chunk can bear. A gate for every size of passes keeps it on only
 * where it was faster.
 */
final class PromptShare implements AutoCloseable {
    /** Rows of an expert that the processor takes at most: so many share one reading of its weights. */
    static final int MOST_ROWS_AN_EXPERT = 8;

    private static final Logger LOG = LoggerFactory.getLogger(PromptShare.class);
    private static final int SIZES = 32;
    private static final int LARGE_GAP = 4;

    private final Device device;
    private final PinnedRoom host;
    private final ArenaLayout layout;
    private final SlotCache cache;
    private final PlacedBlobs blobs;
    private final ResidencyTable table;
    private final FetchedPass fetched;
    private final ExpertWorkers workers;
    private final int mostRows;
    private final Event begun;
    private final Event computed;
    private final Event done;
    private final ExecutorService helper;
    private final ShareGate[] gates = new ShareGate[SIZES];
    private @Nullable ShareGate measured;
    private int overlaid = -1;
    private int helped;
    private int others;
    private volatile long helperNanos;

    private PromptShare(Parts parts, Event begun, Event computed, Event done) {
        device = parts.device();
        host = new PinnedRoom(device, "short prompts");
        layout = parts.cache().layout();
        cache = parts.cache();
        blobs = parts.blobs();
        table = parts.table();
        fetched = parts.fetched();
        workers = parts.workers();
        mostRows = parts.mostRows();
        this.begun = begun;
        this.computed = computed;
        this.done = done;
        helper = Executors.newSingleThreadExecutor(
                Thread.ofPlatform().daemon().name("prompt-experts").factory());
        for (int i = 0; i < SIZES; i++) {
            gates[i] = new ShareGate();
        }
    }

    /**
     * What it works with; everything stays its owner's.
     *
     * @param mostRows passes of fewer rows are shared
     */
    record Parts(
            Device device,
            SlotCache cache,
            PlacedBlobs blobs,
            ResidencyTable table,
            FetchedPass fetched,
            ExpertWorkers workers,
            int mostRows) {}

    static PromptShare create(Parts parts) {
        List<AutoCloseable> made = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                made.add(parts.device().newEvent());
            }
            return new PromptShare(parts, (Event) made.get(0), (Event) made.get(1), (Event) made.get(2));
        } catch (RuntimeException failed) {
            Closing.all(made);
            throw failed;
        }
    }

    /** Whether it computes the layers of such a pass. */
    boolean takes(int rows) {
        return rows > UsageLog.ROWS && rows < mostRows;
    }

    /** The products of one layer. */
    void products(int layer, ExpertGroups groups) {
        Stream compute = groups.stream();
        int rows = groups.rows();
        int used = groups.routing().used();
        ShareGate gate = gates[Integer.SIZE - Integer.numberOfLeadingZeros(rows)];
        restore(compute);
        if (!gate.decided() || gate.pays()) {
            share(layer, groups, gate, 4L * rows * used);
        } else {
            fetched.products(layer, groups, table);
        }
    }

    private void share(int layer, ExpertGroups groups, ShareGate gate, long idBytes) {
        Stream compute = groups.stream();
        ExpertLayout shape = layout.layout(layer);
        Tensor input = groups.input();
        long inputBytes = 4L * input.rows() * input.columns();
        long resultBytes = idBytes * shape.hidden();
        Buffer room = host.of(idBytes + inputBytes + resultBytes);
        device.copyToHost(groups.routing().ids(), 0, room.host().asSlice(0, idBytes), compute);
        device.copyToHost(input.buffer(), input.offset(), room.host().asSlice(idBytes, inputBytes), compute);
        compute.synchronize();
        note();
        Missed missed = missed(layer, room, (int) (idBytes / 4));
        int[] chosen = gate.next() ? missed.fewestRows(gate.share()) : new int[0];
        long[] addresses = new long[chosen.length];
        for (int i = 0; i < chosen.length; i++) {
            addresses[i] = blobs.hostAddress(layer, chosen[i]);
        }
        long base = room.address();
        Future<?> running = chosen.length == 0
                ? null
                : helper.submit(() -> {
                    long start = System.nanoTime();
                    workers.compute(
                            shape,
                            chosen,
                            addresses,
                            chosen.length,
                            base,
                            groups.rows(),
                            groups.routing().used(),
                            base + idBytes,
                            base + idBytes + inputBytes);
                    helperNanos = System.nanoTime() - start;
                });
        try {
            begun.record(compute);
            // Experts of the processor have no address until the results are summed up.
            overlaid = layer;
            fetched.fetch(layer, groups, table, missed.without(chosen), chosen);
            computed.record(compute);
        } finally {
            if (running != null) {
                await(running);
            }
        }
        if (running != null) {
            bring(groups.results(), room, idBytes + inputBytes, missed, shape.hidden(), compute);
        }
        done.record(compute);
        measured = gate;
        helped = chosen.length;
        others = missed.experts.length - chosen.length;
    }

    private static void await(Future<?> running) {
        try {
            running.get();
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while experts were computed", stop);
        } catch (ExecutionException failed) {
            throw new IllegalStateException("the processor failed to compute experts", failed.getCause());
        }
    }

    /** Brings the processor's pairs to the card, neighbours in one copy. */
    private void bring(Tensor results, Buffer room, long from, Missed missed, int hidden, Stream compute) {
        long rowBytes = 4L * hidden;
        int[] pairs = missed.pairs;
        for (int i = 0; i < missed.pairCount; ) {
            int first = pairs[i];
            int last = first;
            for (i++; i < missed.pairCount && pairs[i] - last <= LARGE_GAP; i++) {
                last = pairs[i];
            }
            device.copyToDevice(
                    room.host().asSlice(from + first * rowBytes, (last - first + 1) * rowBytes),
                    results.buffer(),
                    results.offset() + first * rowBytes,
                    compute);
        }
    }

    /** The measurements of the layer before, whose events have happened. */
    private void note() {
        ShareGate gate = measured;
        if (gate == null) {
            return;
        }
        measured = null;
        boolean before = gate.decided();
        gate.took(helped, others, computed.millisSince(begun), helperNanos / 1e6, done.millisSince(begun));
        if (gate.decided() && !before) {
            LOG.info(
                    "short prompts: layers with the processor's help take {} of the time without: it {}",
                    String.format(java.util.Locale.ROOT, "%.2f", gate.ratio()),
                    gate.pays() ? "helps" : "does not help");
        }
    }

    /** Behind the last layer, or before the next: kernels see all addresses again. */
    void restore(Stream compute) {
        if (overlaid >= 0) {
            table.restore(overlaid, compute);
            overlaid = -1;
        }
    }

    /** Behind the last layer of a pass, which may have been given up. */
    void end(Stream compute) {
        restore(compute);
        measured = null;
    }

    private Missed missed(int layer, Buffer room, int choices) {
        int[] rows = new int[layout.experts(layer)];
        for (int i = 0; i < choices; i++) {
            int expert = room.host().getAtIndex(JAVA_INT, i);
            if (expert >= 0 && !cache.isResident(layer, expert)) {
                rows[expert]++;
            }
        }
        return new Missed(layer, rows, room, choices);
    }

    /** The missed experts of a layer, and the pairs of those that the processor takes. */
    private final class Missed {
        private final int layer;
        private final int[] rows;
        private final int[] experts;
        private final Buffer ids;
        private final int[] pairs;
        private int pairCount;

        Missed(int layer, int[] rows, Buffer ids, int choices) {
            this.layer = layer;
            this.rows = rows;
            this.ids = ids;
            pairs = new int[choices];
            int count = 0;
            int[] found = new int[rows.length];
            for (int expert = 0; expert < rows.length; expert++) {
                if (rows[expert] > 0) {
                    found[count++] = expert;
                }
            }
            experts = java.util.Arrays.copyOf(found, count);
        }

        /** At most a share of the experts: those in RAM with the fewest rows, ascending by number. */
        int[] fewestRows(double share) {
            int most = (int) Math.round(share * experts.length);
            boolean[] taken = new boolean[rows.length];
            int count = 0;
            for (int few = 1; few <= MOST_ROWS_AN_EXPERT; few++) {
                for (int expert : experts) {
                    if (rows[expert] == few && count < most && blobs.hostAddress(layer, expert) != 0) {
                        taken[expert] = true;
                        count++;
                    }
                }
            }
            int[] chosen = new int[count];
            int next = 0;
            for (int expert : experts) {
                if (taken[expert]) {
                    chosen[next++] = expert;
                }
            }
            for (int pair = 0; pair < pairs.length; pair++) {
                int expert = ids.host().getAtIndex(JAVA_INT, pair);
                if (expert >= 0 && taken[expert]) {
                    pairs[pairCount++] = pair;
                }
            }
            return chosen;
        }

        int[] without(int[] chosen) {
            int[] left = new int[experts.length];
            int count = 0;
            int next = 0;
            for (int expert : experts) {
                if (next < chosen.length && chosen[next] == expert) {
                    next++;
                } else {
                    left[count++] = expert;
                }
            }
            return java.util.Arrays.copyOf(left, count);
        }
    }

    @Override
    public void close() {
        helper.close();
        host.close();
        begun.close();
        computed.close();
        done.close();
    }
}
