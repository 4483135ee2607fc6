package dev.strata.decode;

import static dev.strata.decode.Closing.own;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.MissShare;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.SlotCache;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Decode steps whose missed experts are shared out on the device: a part is pulled over the link into spare slots, the other part is the
 * processor's. Nothing in a step needs the host but the meetings, so that it can be captured.
 */
final class SharedSteps implements AutoCloseable {
    /** Meetings after which the split is looked at again. */
    private static final int REFINE_EVERY = 256;

    /** Misses of a layer of which a link that takes part at all takes some. */
    private static final int MANY_MISSES = 8;

    private final Device device;
    private final ArenaLayout layout;
    private final SlotCache cache;
    private final ResidencyTable table;
    private final ResidencyTable planned;
    private final long spareAddress;
    private final int spares;
    private final Buffer pulls;
    private final MissingTrend trend = new MissingTrend();
    private final UsageLog log;
    private final int tailSkip;
    private final Buffer state;
    private final List<AutoCloseable> owned;
    private final @Nullable MissShare[] alone;
    private final @Nullable MissShare[] meeting;
    private @Nullable Host host;
    private @Nullable PullAhead ahead;
    private int[] split = new int[MANY_MISSES + 1];
    private boolean helped;
    private boolean published;
    private boolean asking;

    private SharedSteps(
            Device device,
            SlotCache cache,
            ResidencyTable table,
            ResidencyTable planned,
            long spareAddress,
            int spares,
            Buffer pulls,
            UsageLog log,
            int tailSkip,
            Buffer state,
            List<AutoCloseable> owned) {
        this.device = device;
        this.layout = cache.layout();
        this.cache = cache;
        this.table = table;
        this.planned = planned;
        this.spareAddress = spareAddress;
        this.spares = spares;
        this.pulls = pulls;
        this.log = log;
        this.tailSkip = tailSkip;
        this.state = state;
        this.owned = owned;
        alone = new MissShare[layout.layers()];
        meeting = new MissShare[layout.layers()];
    }

    /** The processor's side; it {@code always} takes its part when that was set, and the link takes one, too, if it {@code links}. */
    private record Host(
            ExpertPool pool,
            Buffer shares,
            Buffer sharesImage,
            Event copied,
            AtomicReference<int @Nullable []> fresh,
            boolean always,
            double linkNanos,
            boolean links,
            MissShare.Meeting meeting) {}

    /**
     * Makes what the kernels need.
     *
     * @param spareAddress device memory for pulled blobs, which stays its owner's
     * @param spares how many it holds; 0: misses are read in place
     * @param log what its kernels note the choices in
     * @param tailSkip rank from which on missed experts are left out; 0: none are
     */
    static SharedSteps create(
            Device device,
            SlotCache cache,
            ResidencyTable table,
            long spareAddress,
            int spares,
            UsageLog log,
            int tailSkip) {
        List<AutoCloseable> owned = new ArrayList<>();
        try {
            ResidencyTable planned = own(owned, ResidencyTable.create(device, cache.layout(), "planned experts"));
            Buffer pulls = own(owned, device.allocate(8L * (2 * spares + 1), "missed blobs"));
            Buffer state = own(owned, device.allocate(MissShare.STATE_BYTES, "meetings"));
            try (Stream stream = device.newStream("meetings")) {
                device.fill(state, 0, MissShare.STATE_BYTES, 0, stream);
                stream.synchronize();
            }
            return new SharedSteps(
                    device, cache, table, planned, spareAddress, spares, pulls, log, tailSkip, state, owned);
        } catch (RuntimeException failed) {
            Closing.all(owned);
            throw failed;
        }
    }

    /** Lets the processor take part from now on; {@code workers} are closed with this, also when it fails. */
    void meet(ExpertWorkers workers, ExpertPool.Blobs blobs, PcieShare share, int mostPairs) {
        List<AutoCloseable> made = new ArrayList<>();
        try {
            int hidden = 0;
            for (int layer = 0; layer < layout.layers(); layer++) {
                hidden = Math.max(hidden, layout.layout(layer).hidden());
            }
            long rowBytes = 4L * hidden;
            Buffer question =
                    own(made, device.allocatePinned(MissShare.QUESTION_HEADER + UsageLog.ROWS * rowBytes, "questions"));
            Buffer answer = own(made, device.allocatePinned(MissShare.ANSWER_HEADER + mostPairs * rowBytes, "answers"));
            question.host().fill((byte) 0);
            answer.host().fill((byte) 0);
            long bytes = 2L * (PcieShare.MOST_MISSES + 1);
            Buffer shares = own(made, device.allocate(bytes, "split of misses"));
            Buffer image = own(made, device.allocatePinned(bytes, "split of misses"));
            Event copied = own(made, device.newEvent());
            AtomicReference<int @Nullable []> fresh =
                    new AtomicReference<>(share.table().clone());
            ExpertPool pool =
                    new ExpertPool(layout, workers, blobs, new Refining(share, fresh), question.host(), answer.host());
            host = new Host(
                    pool,
                    shares,
                    image,
                    copied,
                    fresh,
                    share.isFixed(),
                    share.linkNanos(),
                    share.processor(MANY_MISSES) < MANY_MISSES,
                    new MissShare.Meeting(shares, PcieShare.MOST_MISSES, question, answer));
            pool.start();
            owned.addAll(made);
            owned.add(pool);
        } catch (RuntimeException failed) {
            Closing.all(made);
            workers.close();
            throw failed;
        }
    }

    /** Lets experts be brought ahead of the layers that will probably miss them; {@code made} is closed with this. */
    void bringAhead(PullAhead made) {
        owned.add(made);
        ahead = made;
        made.start();
    }

    /** The last step used what it found in a spare slot. */
    void used(int place) {
        if (ahead != null && place >= spares) {
            ahead.found();
        }
    }

    /** Missed experts that had been brought ahead of their layer. */
    long foreseen() {
        return ahead == null ? 0 : ahead.foreseen();
    }

    /** Whether a spare slot still holds what a pass of the last step found there. */
    boolean holds(int place, int layer, int expert) {
        return ahead == null || ahead.holds(place, layer, expert);
    }

    /** Blobs that were brought ahead so far. */
    long broughtAhead() {
        return ahead == null ? 0 : ahead.brought();
    }

    /** Before a pass that is not one of shared steps: spare slots are others' as long as it runs. */
    void leave(Stream stream) {
        if (ahead != null) {
            ahead.leave(stream);
        }
    }

    /** Feeds measurements into the split and publishes it when it has changed. Runs on the pool's thread. */
    private static final class Refining implements ExpertPool.Timing {
        private final PcieShare share;
        private final AtomicReference<int @Nullable []> fresh;
        private int meetings;

        Refining(PcieShare share, AtomicReference<int @Nullable []> fresh) {
            this.share = share;
            this.fresh = fresh;
        }

        @Override
        public void met(int experts, long nanos, int linkExperts, long linkNanos) {
            share.measured(experts, nanos, linkExperts, linkNanos);
            if (++meetings % REFINE_EVERY == 0 && share.refine()) {
                fresh.set(share.table().clone());
            }
        }
    }

    /** Whether the processor takes part. */
    boolean meets() {
        return host != null;
    }

    /** Whether the running pass asks the processor, which passes that miss little have no kernels for. */
    boolean asks() {
        return asking;
    }

    /** Whether the running pass pulls all that it misses or, where the processor helps, some of it. */
    boolean pulls() {
        Host now = host;
        return spares > 0 && (now == null || now.links());
    }

    /** What the pool has done, null without one. */
    @Nullable
    PoolFigures figures() {
        Host now = host;
        return now == null ? null : now.pool().figures();
    }

    /** The plan of a layer, which products read. */
    Buffer addresses(int layer) {
        return planned.layer(layer);
    }

    /**
     * The last step is over, and all that it used has been told.
     *
     * @param experts missed experts of a layer, the mean; those that had been brought ahead are among them
     */
    void stepEnded(double experts) {
        double foreseen = ahead == null ? 0 : ahead.stepEnded() / (double) layout.layers();
        Host now = host;
        if (now != null) {
            trend.missed((experts - foreseen) * now.linkNanos());
        }
    }

    /**
     * Before a pass of shared steps.
     *
     * @param reached whether the link could bring all experts
     */
    void begin(boolean reached, Stream stream) {
        Host now = host;
        if (now != null) {
            beginMeetings(now, reached, stream);
        }
        if (ahead != null) {
            ahead.begin(asking, stream);
        }
    }

    private void beginMeetings(Host now, boolean reached, Stream stream) {
        int[] fresh = now.fresh().getAndSet(null);
        if (fresh != null) {
            split = fresh;
            published = false;
        }
        boolean helps = now.always() || split[MANY_MISSES] > 0 && trend.many();
        published &= helps == helped;
        helped = helps;
        asking = helps || !reached;
        if (asking) {
            publish(now, helps, stream);
            now.pool().begin();
        }
    }

    /** Brings the split to the device when it has changed. */
    private void publish(Host now, boolean helps, Stream stream) {
        if (published) {
            return;
        }
        published = true;
        now.copied().synchronize();
        for (int i = 0; i < split.length; i++) {
            now.sharesImage().host().setAtIndex(JAVA_SHORT, i, (short) (helps ? split[i] : 0));
        }
        device.copyToDevice(now.sharesImage().host().asSlice(0, 2L * split.length), now.shares(), 0, stream);
        now.copied().record(stream);
    }

    void products(int layer, ExpertGroups groups) {
        MissShare share = share(layer, groups.routing().used());
        groups.share(share);
        groups.run(0, layout.experts(layer));
        groups.answer(share);
    }

    private MissShare share(int layer, int used) {
        Host now = asking ? host : null;
        @Nullable MissShare[] kept = now == null ? alone : meeting;
        MissShare known = kept[layer];
        if (known == null) {
            known = new MissShare(
                    layer,
                    layout.layout(layer),
                    table.layer(layer),
                    planned.layer(layer),
                    cache.buffer().address(),
                    cache.plan().bytes(),
                    spareAddress,
                    layout.maxStride(),
                    spares,
                    pulls,
                    tailSkip,
                    log.address(layer),
                    UsageLog.MOST_PAIRS,
                    state,
                    now == null ? null : now.meeting(),
                    ahead == null ? null : ahead.guess(layer, used));
            kept[layer] = known;
        }
        return known;
    }

    /**
     * The results of all passes have been waited for.
     *
     * @throws IllegalStateException when the processor failed in one
     */
    void settle() {
        if (ahead != null) {
            ahead.settle();
        }
        Host now = host;
        if (now != null) {
            now.pool().settle();
        }
    }

    @Override
    public void close() {
        Closing.all(owned);
    }
}
