package dev.strata.prefill;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.prefill.PassTimeline.Mark;
import java.util.BitSet;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the link busy: an issuer thread and the stager's copy threads bring the blobs of an order into the cache memory while the
 * engine's thread issues the products that read them. The engine's thread calls everything but {@link #cancel}.
 */
public final class PrefillScheduler implements AutoCloseable {
    /** Groups that copies may be ahead of products. */
    public static final int GROUPS_AHEAD = StreamIssuer.EVENTS;

    private static final int CORES_FOR_ISSUER = 8;

    private final Device device;
    private final @Nullable Stager stager;
    private final StreamIssuer issuer;
    private final StreamThreads threads;
    private final Event fence;
    private final PrefillTiming timing;
    private boolean fenced = true;
    private long linkBefore;
    private long stagedBefore;
    private long nanosBefore;
    private @Nullable StreamRing lastRing;
    private @Nullable StreamOrder ahead;

    private PrefillScheduler(
            Device device,
            @Nullable Stager stager,
            StreamIssuer issuer,
            StreamThreads threads,
            Event fence,
            PrefillTiming timing) {
        this.device = device;
        this.stager = stager;
        this.issuer = issuer;
        this.threads = threads;
        this.fence = fence;
        this.timing = timing;
    }

    /**
     * Starts the threads.
     *
     * @param target the allocation that all copies go to
     * @param sleeps whether waiting threads sleep after a while instead of spinning on
     * @param issuerCpus where the issuer runs, empty for anywhere
     */
    public static PrefillScheduler start(
            Device device,
            Buffer target,
            BlobPlaces places,
            StageSource source,
            StagerSizing sizing,
            boolean sleeps,
            BitSet issuerCpus,
            PrefillTiming timing) {
        Stager stager = sizing.threads() > 0 ? Stager.create(device, source, sizing) : null;
        StreamIssuer issuer = null;
        Event fence;
        try {
            issuer = new StreamIssuer(device, target, places, stager);
            fence = device.newEvent();
        } catch (RuntimeException failed) {
            if (issuer != null) {
                issuer.close();
            }
            if (stager != null) {
                stager.close();
            }
            throw failed;
        }
        StreamThreads threads = new StreamThreads(device, sizing.file());
        StreamIssuer machine = issuer;
        // A copy that is queued late leaves the link idle, so the issuer does not sleep where a core can be spared for
        // it.
        boolean spare = Runtime.getRuntime().availableProcessors() >= CORES_FOR_ISSUER;
        // Copy threads rest no earlier than the issuer: one that woke up before the first jobs were open would
        // sleep through all that runs ahead of a pass.
        BooleanSupplier resting = () -> !machine.running() || machine.waitsForRoom();
        StagerCrew crew = new StagerCrew();
        if (stager != null) {
            List<BitSet> cpus = StreamThreads.cpus(sizing.threads());
            for (int i = 0; i < sizing.threads(); i++) {
                StagerWorker worker = new StagerWorker(stager);
                Thread thread = threads.start(
                        "stager-" + i,
                        sizing.file() ? () -> crew.worked(worker.step()) : worker::step,
                        () -> worker.idle() && resting.getAsBoolean(),
                        cpus.get(i),
                        sleeps,
                        sizing.threads());
                crew.add(worker, thread);
            }
        }
        BooleanSupplier issuing = sizing.file() ? () -> crew.issued(machine.step()) : machine::step;
        crew.issuer(threads.start("expert-issuer", issuing, resting, issuerCpus, sleeps && !spare, 1));
        return new PrefillScheduler(device, stager, issuer, threads, fence, timing);
    }

    /**
     * Starts an order. Copies wait for what is queued on {@code compute}, unless this order goes on in the ring of the last one: then
     * they wait only for the groups that they overwrite. An order whose copies run ahead already is taken up.
     */
    public void begin(StreamOrder order, StreamRing ring, long ringBase, Stream compute) {
        if (!runsAhead(order, ring)) {
            start(order, ring, ringBase, compute);
        }
        ahead = null;
        threads.wake();
    }

    private boolean runsAhead(StreamOrder order, StreamRing ring) {
        return ahead == order && ring == lastRing && !fenced && !issuer.cancelled();
    }

    private void start(StreamOrder order, StreamRing ring, long ringBase, Stream compute) {
        dropAhead(compute);
        boolean behind = fenced || ring != lastRing;
        if (behind) {
            fence.record(compute);
        }
        count();
        issuer.begin(order, ring, ringBase, behind ? fence : null, timing.prepare(device, order));
        lastRing = ring;
        fenced = false;
    }

    /**
     * What {@link #runAhead} will start when the order that has begun was consumed: its bytes are staged as soon as there is room behind those
     * of the current one, so that a drive does not run dry between the two.
     */
    public void expect(StreamOrder order) {
        issuer.follow(order);
    }

    /** Lets copies start before the pass that they are for: as far as the ring has room, until {@link #begin} takes them up. */
    public void startAhead(StreamOrder order, StreamRing ring, long ringBase, Stream compute) {
        if (!runsAhead(order, ring)) {
            start(order, ring, ringBase, compute);
            ahead = order;
            threads.wake();
            threads.rest();
        }
    }

    /**
     * Lets the copies of the next pass start in the ring of the pass that was consumed, until the ring is full: the link is busy while
     * the device computes the last layers, and the next {@link #begin} with this order takes them up.
     */
    public void runAhead(StreamOrder order, StreamRing ring, long ringBase) {
        if (fenced || ring != lastRing || issuer.running()) {
            return;
        }
        count();
        issuer.begin(order, ring, ringBase, null, timing.prepare(device, order));
        ahead = order;
        threads.wake();
        threads.rest();
    }

    /** Gives up copies that run ahead: no pass will take them up. */
    public void dropAhead(Stream compute) {
        if (ahead == null) {
            return;
        }
        ahead = null;
        issuer.cancel();
        threads.wake();
        awaitRest();
        issuer.abandon(compute);
        fenced = true;
        timing.drop();
        threads.rest();
    }

    /** The next order has to wait for everything queued on the stream it is given: memory outside the ring is used by others. */
    public void fence() {
        fenced = true;
    }

    /**
     * Waits until the copies of a group of the current order are queued.
     *
     * @throws RuntimeException what stopped the order
     */
    public void awaitIssued(int group) {
        long number = issuer.firstGroup() + group;
        if (issuer.issuedGroups() > number) {
            return;
        }
        long start = System.nanoTime();
        Backoff backoff = threads.backoff();
        while (issuer.issuedGroups() <= number) {
            if (!issuer.running()) {
                RuntimeException failure = issuer.failure();
                if (failure != null) {
                    throw failure;
                }
                if (issuer.issuedGroups() <= number) {
                    throw new IllegalStateException("the stream ended before group " + group);
                }
            }
            backoff.pause();
        }
        timing.hostWait(System.nanoTime() - start);
    }

    /** Makes {@code compute} wait for a group that was issued. */
    public void waitFor(int group, Stream compute) {
        timing.mark(Mark.REACHED, group, compute);
        issuer.waitFor(issuer.firstGroup() + group, compute);
        timing.mark(Mark.ARRIVED, group, compute);
    }

    /** The group's memory may be overwritten behind what is queued on {@code compute}. */
    public void release(int group, Stream compute) {
        timing.mark(Mark.COMPUTED, group, compute);
        issuer.release(issuer.firstGroup() + group, compute);
    }

    /**
     * Ends the current order: at once when every group was consumed, else it is cancelled and what is on its way is waited for.
     *
     * @param consumed whether every group was released
     */
    public void end(boolean consumed, Stream compute) {
        if (!consumed) {
            issuer.cancel();
        }
        awaitRest();
        if (!consumed) {
            issuer.abandon(compute);
            fenced = true;
        }
        threads.rest();
    }

    private void awaitRest() {
        Backoff backoff = threads.backoff();
        while (issuer.running()) {
            backoff.pause();
        }
    }

    /**
     * Adds the pass that has just ended to the timing.
     *
     * @param bytes what its order says that it copies
     */
    public void countPass(long bytes, boolean consumed, Stream compute) {
        timing.end(
                compute,
                bytes,
                consumed,
                issuer.issuedBytes() - linkBefore,
                stager == null ? 0 : stager.stagedBytes() - stagedBefore,
                stager == null ? 0 : stager.busyNanos() - nanosBefore);
    }

    /** What crosses the link from here on belongs to the order that begins. */
    private void count() {
        linkBefore = issuer.issuedBytes();
        stagedBefore = stager == null ? 0 : stager.stagedBytes();
        nanosBefore = stager == null ? 0 : stager.busyNanos();
    }

    /** Where the time went. */
    public PrefillTiming timing() {
        return timing;
    }

    /** Bytes that crossed the link so far. */
    public long linkBytes() {
        return issuer.issuedBytes();
    }

    @Override
    public void close() {
        threads.close();
        try {
            issuer.synchronize();
        } finally {
            issuer.close();
            fence.close();
            if (stager != null) {
                stager.close();
            }
            timing.close();
        }
    }
}
