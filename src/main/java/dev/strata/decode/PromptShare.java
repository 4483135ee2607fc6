package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.SlotCache;
import dev.strata.os.OperatingSystem;
import dev.strata.os.Outcome;
import java.util.BitSet;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Short prompts: of the experts that a layer misses, the processor computes those with the fewest rows where their blobs lie, while the
 * others cross the link, so many that both are through at the same time. Every layer meets the host, which a prompt's chunk can bear. A
 * gate for every size of passes keeps it on only where it was faster.
 */
final class PromptShare implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PromptShare.class);
    private static final int SIZES = 32;

    /** Weight of the newest measurement in the running means. */
    private static final double NEWEST = 0.2;

    /** Workers wait for their next job for 20 ms, in which they take processors from copy threads. */
    private static final long WORKERS_WAIT_NANOS = 25_000_000;

    private static final int[] NONE = new int[0];

    private final Device device;
    private final PinnedRoom host;
    private final ArenaLayout layout;
    private final SlotCache cache;
    private final PlacedBlobs blobs;
    private final ResidencyTable table;
    private final FetchedPass fetched;
    private final ExpertWorkers workers;
    private final BitSet spared;
    private final int mostRows;
    private final ExecutorService helper;
    private final ShareGate[] gates = new ShareGate[SIZES];
    private int overlaid = -1;
    /** Where the engine's thread may run outside of the pass. */
    private @Nullable BitSet anywhere;

    private @Nullable Layer last;
    private long passBegun;
    private long lastHelp;
    /** Milliseconds that a missed expert takes the card, and one reading of an expert the processor; 0 as long as nobody knows. */
    private double cardMillis;

    private double processorMillis;
    private volatile long helperNanos;

    PromptShare(Parts parts) {
        device = parts.device();
        host = new PinnedRoom(device, "short prompts");
        layout = parts.cache().layout();
        cache = parts.cache();
        blobs = parts.blobs();
        table = parts.table();
        fetched = parts.fetched();
        workers = parts.workers();
        mostRows = parts.mostRows();
        spared = parts.spared();
        helper = Executors.newSingleThreadExecutor(
                work -> Thread.ofPlatform().daemon().name("prompt-experts").unstarted(() -> {
                    bind(spared);
                    work.run();
                }));
        for (int i = 0; i < SIZES; i++) {
            gates[i] = new ShareGate();
        }
    }

    /**
     * What it works with; everything stays its owner's.
     *
     * @param spared CPUs for the threads that work beside the workers, empty for any
     * @param mostRows passes of fewer rows are shared
     */
    record Parts(
            Device device,
            SlotCache cache,
            PlacedBlobs blobs,
            ResidencyTable table,
            FetchedPass fetched,
            ExpertWorkers workers,
            BitSet spared,
            int mostRows) {}

    /**
     * A layer whose measurements are taken when the next one meets the host.
     *
     * @param number by which the gate knows it
     * @param start when its own meeting was over, in nanoseconds
     * @param fetched experts that crossed the link
     * @param readings times that the processor read an expert
     */
    private record Layer(ShareGate gate, int number, long start, int missed, int fetched, int readings) {}

    /** Whether it computes the layers of such a pass. */
    boolean takes(int rows) {
        return rows > UsageLog.ROWS && rows < mostRows;
    }

    /** Whether such a pass is faster with it, as far as is known. */
    boolean helps(int rows) {
        return takes(rows) && (!gate(rows).decided() || gate(rows).pays());
    }

    private ShareGate gate(int rows) {
        return gates[Integer.SIZE - Integer.numberOfLeadingZeros(rows)];
    }

    /** The products of one layer. */
    void products(int layer, ExpertGroups groups) {
        ShareGate gate = gate(groups.rows());
        restore(groups.stream());
        if (!gate.decided() || gate.pays()) {
            share(layer, groups, gate);
        } else {
            fetched.products(layer, groups, table);
        }
    }

    private void share(int layer, ExpertGroups groups, ShareGate gate) {
        if (anywhere == null) {
            anywhere = OperatingSystem.current().affinity();
            bind(spared);
            passBegun = System.nanoTime();
        }
        Stream compute = groups.stream();
        ExpertLayout shape = layout.layout(layer);
        Tensor input = groups.input();
        int choices = groups.rows() * groups.routing().used();
        long idBytes = 4L * choices;
        long inputBytes = 4L * input.rows() * input.columns();
        Buffer room = host.of(idBytes + inputBytes + idBytes * shape.hidden());
        int number = gate.next();
        boolean helps = gate.helps(number);
        device.copyToHost(groups.routing().ids(), 0, room.host().asSlice(0, idBytes), compute);
        if (helps) {
            device.copyToHost(input.buffer(), input.offset(), room.host().asSlice(idBytes, inputBytes), compute);
        }
        compute.synchronize();
        long now = System.nanoTime();
        note(now);
        MissedExperts missed = missed(layer, room, choices);
        boolean known = cardMillis > 0 && processorMillis > 0;
        int[] chosen = helps
                ? missed.forProcessor(
                        known ? cardMillis : 1,
                        known ? processorMillis : 1,
                        expert -> blobs.hostAddress(layer, expert) != 0)
                : NONE;
        Future<?> running = null;
        if (chosen.length > 0) {
            long base = room.address();
            groups.others(room, idBytes + inputBytes);
            running = helper.submit(
                    () -> compute(layer, groups, chosen, base, base + idBytes, base + idBytes + inputBytes));
        }
        int[] others = missed.without(chosen);
        try {
            // Experts of the processor have no address until the results are summed up.
            overlaid = layer;
            fetched.fetch(layer, groups, table, others, chosen);
        } finally {
            if (running != null) {
                await(running);
            }
        }
        last = new Layer(gate, number, now, missed.all().length, others.length, missed.readings(chosen));
    }

    /** The processor's part, on the helper's thread. */
    private void compute(int layer, ExpertGroups groups, int[] chosen, long ids, long input, long results) {
        long start = System.nanoTime();
        long[] addresses = new long[chosen.length];
        for (int i = 0; i < chosen.length; i++) {
            addresses[i] = blobs.hostAddress(layer, chosen[i]);
        }
        workers.compute(
                layout.layout(layer),
                chosen,
                addresses,
                chosen.length,
                ids,
                groups.rows(),
                groups.routing().used(),
                input,
                results);
        helperNanos = System.nanoTime() - start;
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

    /** The measurements of the layer before, whose work has been waited for. */
    private void note(long now) {
        Layer before = last;
        if (before == null) {
            return;
        }
        last = null;
        double fetching = fetched.took();
        if (before.fetched > 0) {
            cardMillis = mean(cardMillis, fetching / before.fetched);
        }
        if (before.readings > 0) {
            processorMillis = mean(processorMillis, helped(before) / before.readings);
        }
        ShareGate gate = before.gate;
        boolean decided = gate.decided();
        long waiting = before.start - (lastHelp - passBegun > 0 ? lastHelp : passBegun);
        gate.took(before.number, before.missed, (now - before.start) / 1e6, waiting > WORKERS_WAIT_NANOS);
        if (before.readings > 0) {
            lastHelp = now;
        }
        if (gate.decided() && !decided) {
            LOG.info(
                    "short prompts: layers with the processor's help take {} of the time without: it {}",
                    String.format(Locale.ROOT, "%.2f", gate.ratio()),
                    gate.pays() ? "helps" : "does not help");
        }
    }

    /** Counts the processor's part of a layer; returns its milliseconds. */
    private double helped(Layer layer) {
        double millis = helperNanos / 1e6;
        fetched.figures().helped(layer.readings, millis);
        return millis;
    }

    private static double mean(double old, double value) {
        return old == 0 ? value : old + NEWEST * (value - old);
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
        if (last != null && last.readings > 0) {
            helped(last);
        }
        last = null;
        if (anywhere != null) {
            bind(anywhere);
            anywhere = null;
        }
    }

    private void bind(BitSet cpus) {
        if (!spared.isEmpty()) {
            Outcome bound = OperatingSystem.current().bindThread(cpus);
            if (!bound.done()) {
                LOG.debug("{}: {}", Thread.currentThread().getName(), bound.reason());
            }
        }
    }

    private MissedExperts missed(int layer, Buffer room, int choices) {
        int[] rows = new int[layout.experts(layer)];
        for (int i = 0; i < choices; i++) {
            int expert = room.host().getAtIndex(JAVA_INT, i);
            if (expert >= 0 && !cache.isResident(layer, expert)) {
                rows[expert]++;
            }
        }
        return new MissedExperts(rows);
    }

    @Override
    public void close() {
        helper.close();
        host.close();
    }
}
