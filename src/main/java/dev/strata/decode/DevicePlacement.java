package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.MissShare;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.ExpertUsage;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.SlotCache;
import dev.strata.expert.SwapJudge;
import dev.strata.prefill.PrefillScheduler;
import dev.strata.prefill.StreamOrder;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The experts of a model on a device: the busiest in slots, the others in registered RAM that kernels read over the link, or fetched.
 * Large passes stream every expert that has no slot through a ring borrowed from the cache's tail; small ones read slots and
 * registered RAM through a table and fetch the rest into spare slots.
 */
public final class DevicePlacement implements ExpertPlacement, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DevicePlacement.class);

    private final ArenaLayout layout;
    private final PlacedBlobs blobs;
    private final SlotCache cache;
    private final PrefillScheduler scheduler;
    private final StreamedPass streamed;
    private final FetchedPass fetched;
    private final SlotFiller filler;
    private final ResidencyTable table;
    private final SharedSteps shared;
    private final UsageLog log;
    private final PulledExperts pulled;
    private final ExpertUsage usage;
    private final SlotAdaptation adaptation;
    private final SwapJudge judge;
    private final @Nullable PromptShare prompts;
    private final int streamFrom;
    private final int loanPatience;
    private final boolean timed;
    private final boolean lendsMemory;
    private final int chunk;
    /** Whether the processor finds every expert in RAM. */
    private final boolean inMemory;

    private final List<AutoCloseable> owned;
    private ChoiceListener listener = (layer, expert) -> {};
    private Runnable stepEnded = () -> {};
    private final long[] blobBytes;
    private boolean[] complete;
    private boolean[] served;
    private boolean resident;
    private boolean unreached;
    private boolean sharing;
    private int form;
    private boolean streaming;
    private boolean finished;
    private boolean more;
    /** Whether chunks of the running prompt were streamed, behind which copies run on. */
    private boolean goesOn;

    private @Nullable Stream lastStream;
    private int passRows;
    private long passBegun;
    private int smallPasses;
    private int sinceRound;
    private long swapped;
    private long kept;
    private long missedOnDrive;

    DevicePlacement(Parts parts) {
        layout = parts.cache().layout();
        blobs = parts.blobs();
        cache = parts.cache();
        scheduler = parts.scheduler();
        streamed = parts.streamed();
        fetched = parts.fetched();
        filler = new SlotFiller(parts.cache(), parts.blobs(), parts.scheduler());
        table = parts.table();
        shared = parts.shared();
        log = parts.log();
        pulled = parts.pulled();
        usage = new ExpertUsage(parts.profile(), 1);
        adaptation = parts.settings().adaptation();
        judge = new SwapJudge(layout);
        prompts = parts.prompts();
        streamFrom = parts.settings().streamFrom();
        loanPatience = parts.settings().loanPatience();
        timed = parts.settings().timing();
        lendsMemory = parts.settings().loan() != null;
        chunk = parts.chunk();
        owned = parts.owned();
        blobBytes = new long[layout.layers()];
        Arrays.setAll(blobBytes, layer -> layout.layout(layer).blobBytes());
        inMemory = inMemory();
        complete = new boolean[layout.layers()];
        served = new boolean[layout.layers()];
        refreshTable();
    }

    /** What a placement is made of; {@code owned} is closed with it, last first. */
    record Parts(
            PlacedBlobs blobs,
            SlotCache cache,
            PrefillScheduler scheduler,
            StreamedPass streamed,
            FetchedPass fetched,
            ResidencyTable table,
            SharedSteps shared,
            @Nullable PromptShare prompts,
            UsageLog log,
            PulledExperts pulled,
            ExpertProfile profile,
            PlacementSettings settings,
            int chunk,
            List<AutoCloseable> owned) {}

    @Override
    public ExpertLayout layout(int layer) {
        return layout.layout(layer);
    }

    @Override
    public Buffer addresses(int layer) {
        if (streaming) {
            return streamed.addresses(layer);
        }
        return sharing && served[layer] ? shared.addresses(layer) : table.layer(layer);
    }

    @Override
    public boolean capturable(int rows) {
        if (rows >= streamFrom) {
            return false;
        }
        boolean steps = shares(rows);
        for (int layer = 0; layer < complete.length; layer++) {
            if (!complete[layer] && !(steps && served[layer])) {
                return false;
            }
        }
        return true;
    }

    @Override
    public boolean whole(int layer) {
        return !streaming && (sharing ? served[layer] : resident && complete[layer]);
    }

    @Override
    public boolean resident() {
        return resident;
    }

    @Override
    public int form() {
        return 2 * form + (sharesProcessor() ? 1 : 0);
    }

    /** Whether the missed experts of a pass of this many rows are shared out on the device. */
    private boolean shares(int rows) {
        return !resident && rows <= UsageLog.ROWS;
    }

    @Override
    public void enter(int rows, Stream stream) {
        lastStream = stream;
        if (rows >= streamFrom && (lendsMemory || cache.residents() + cache.lent() < layout.totalExperts())) {
            finished = false;
            smallPasses = 0;
            if (streamed.borrow(stream)) {
                refreshTable();
                table.flush(stream);
            }
            if (cache.residents() < layout.totalExperts() && !sharesPrompt(rows)) {
                streamed.startAhead(stream);
            }
        } else if (streamed.borrowed() && (finished || ++smallPasses > loanPatience)) {
            giveBack(stream);
        }
    }

    @Override
    public long lentMemory() {
        return streamed.lentMemory();
    }

    @Override
    public void beginPass(int rows, Stream stream) {
        passRows = rows;
        streaming = rows >= streamFrom
                && streamed.borrowed()
                && cache.residents() < layout.totalExperts()
                && !sharesPrompt(rows);
        if (streaming) {
            sharing = false;
            shared.leave(stream);
            streamed.begin(more, stream);
            return;
        }
        if (timed && fetching()) {
            passBegun = System.nanoTime();
            fetched.figures().clear();
        }
        usage.beginStep();
        log.clear(stream);
        long missed = usage.missedOnce();
        boolean noted = log.read(this::chosen);
        if (noted) {
            shared.stepEnded((usage.missedOnce() - missed) / (double) (layout.maxStride() * layout.layers()));
            stepEnded.run();
            keepPulled(stream);
        }
        if (noted && ++sinceRound >= adaptation.every()) {
            sinceRound = 0;
            // What the link brings step by step is followed without swaps, which would keep the link from bringing it.
            if (!(shared.pulls() && allReached())) {
                adapt(stream);
            }
            judge.endRound();
            usage.decay(adaptation.decay());
        }
        table.flush(stream);
        sharing = shares(rows);
        if (sharing) {
            shared.begin(allReached(), stream);
        } else {
            shared.leave(stream);
        }
    }

    /**
     * Whether a pass that could stream is shared with the processor instead: one that is all of its prompt, for the copies of chunks that follow one another run on
     * from each to the next.
     */
    private boolean sharesPrompt(int rows) {
        return prompts != null && inMemory && !more && !goesOn && prompts.helps(rows);
    }

    private boolean inMemory() {
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                if (blobs.hostAddress(layer, expert) == 0) {
                    return false;
                }
            }
        }
        return true;
    }

    private void giveBack(Stream stream) {
        finished = false;
        goesOn = false;
        if (timed && scheduler.timing().passes() > 0) {
            LOG.info("{}", scheduler.timing().line());
            blobs.reads().ifPresent(text -> LOG.info("prefill timing: {}", text));
            scheduler.timing().restart();
        }
        streamed.giveBack(stream);
        filler.fill(stream);
        refreshTable();
    }

    /** Tells every choice of decode steps from now on, and the end of each step; on the thread that begins passes. */
    public void listen(ChoiceListener choice, Runnable endOfStep) {
        listener = choice;
        stepEnded = endOfStep;
    }

    /** Hears one choice. */
    @FunctionalInterface
    public interface ChoiceListener {
        void chosen(int layer, int expert);
    }

    private void chosen(int layer, int expert, int spare) {
        listener.chosen(layer, expert);
        boolean hit = cache.isResident(layer, expert);
        long bytes = blobBytes[layer];
        if (!hit && !usage.inStep(layer, expert)) {
            missedOnDrive += blobs.hostAddress(layer, expert) == 0 ? bytes : 0;
        }
        usage.count(layer, expert, hit, bytes);
        judge.used(layer, expert);
        if (spare >= 0) {
            shared.used(spare);
            pulled.pulled(layer, expert, spare);
        }
    }

    private void keepPulled(Stream stream) {
        if (adaptation.swaps() > 0) {
            kept += pulled.keep(cache, usage, adaptation.minimumGain(), shared::holds, stream, this::exchanged);
            completeTable();
        }
    }

    private void adapt(Stream stream) {
        List<SlotAdaptation.Swap> swaps = adaptation.choose(cache, usage, judge.factor());
        if (swaps.isEmpty()) {
            return;
        }
        int[] gone = new int[swaps.size()];
        for (int i = 0; i < gone.length; i++) {
            gone[i] = cache.expert(swaps.get(i).slot());
            judge.swapped(swaps.get(i).layer(), gone[i], swaps.get(i).newcomer());
            cache.replace(swaps.get(i).slot(), swaps.get(i).newcomer());
        }
        filler.fill(stream);
        for (int i = 0; i < gone.length; i++) {
            exchanged(swaps.get(i).layer(), gone[i], swaps.get(i).newcomer());
        }
        completeTable();
    }

    /** A slot holds another expert. */
    private void exchanged(int layer, int gone, int newcomer) {
        swapped++;
        refresh(layer, gone);
        refresh(layer, newcomer);
        boolean reached = table.get(layer, gone) != 0 && table.get(layer, newcomer) != 0;
        if (!reached && shared.meets() && complete[layer]) {
            // The processor has it: steps go on as before, larger passes fetch.
            complete[layer] = false;
            form++;
        }
        unreached |= !reached && !shared.meets();
    }

    private void completeTable() {
        if (unreached) {
            unreached = false;
            refreshTable();
        }
    }

    /** Fills every free slot now; before the first pass. */
    public void fillCache(Stream stream) {
        filler.fill(stream);
        refreshTable();
        table.flush(stream);
    }

    private void refresh(int layer, int expert) {
        table.set(layer, expert, blobs.address(layer, expert));
    }

    private void refreshTable() {
        boolean[] now = new boolean[layout.layers()];
        boolean[] reached = new boolean[layout.layers()];
        for (int layer = 0; layer < now.length; layer++) {
            now[layer] = true;
            reached[layer] = layout.experts(layer) <= MissShare.MOST_EXPERTS;
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                long address = blobs.address(layer, expert);
                table.set(layer, expert, address);
                now[layer] &= address != 0;
                reached[layer] &= address != 0 || shared.meets() && blobs.hostAddress(layer, expert) != 0;
            }
        }
        boolean all = cache.residents() == layout.totalExperts();
        if (all != resident || !Arrays.equals(now, complete) || !Arrays.equals(reached, served)) {
            form++;
        }
        resident = all;
        complete = now;
        served = reached;
    }

    @Override
    public boolean readsAhead() {
        return blobs.readsAhead();
    }

    @Override
    public void expect(int layer, Routing guess, int rows) {
        if (!streaming && !complete[layer]) {
            fetched.expect(layer, guess, rows);
        }
    }

    @Override
    public void products(int layer, ExpertGroups groups) {
        if (streaming) {
            streamed.products(layer, groups);
            return;
        }
        if (sharing && served[layer] && groups.rows() * groups.routing().used() <= MissShare.MOST_PAIRS) {
            log.noted(groups.routing());
            shared.products(layer, groups);
            return;
        }
        log.note(layer, groups.routing(), groups.rows(), groups.stream());
        if (prompts != null && !resident && !groups.capturing() && prompts.takes(groups.rows())) {
            prompts.products(layer, groups);
        } else if (complete[layer] && (resident || groups.capturing() || groups.rows() <= UsageLog.ROWS)) {
            groups.run(0, layout.experts(layer));
        } else {
            fetched.products(layer, groups, table);
        }
    }

    @Override
    public void endPass(Stream stream) {
        if (streaming) {
            streamed.end(more, stream);
            goesOn |= more;
        } else {
            if (prompts != null) {
                prompts.end(stream);
            }
            log.collect(passRows, stream);
            if (timed && fetching()) {
                stream.synchronize();
                LOG.info("{}", fetchFigures().text(passRows, (System.nanoTime() - passBegun) / 1e6));
            }
        }
        more = false;
    }

    /** What the last short prompt's pass fetched, which has been waited for. */
    FetchFigures fetchFigures() {
        fetched.took();
        return fetched.figures();
    }

    /** Whether the running pass is a short prompt's that misses experts. */
    private boolean fetching() {
        return passRows > UsageLog.ROWS && !resident;
    }

    @Override
    public void promptGoesOn() {
        more = true;
    }

    @Override
    public boolean sharesProcessor() {
        return sharing && shared.asks();
    }

    private boolean allReached() {
        boolean all = true;
        for (boolean layer : complete) {
            all &= layer;
        }
        return all;
    }

    @Override
    public void settled() {
        shared.settle();
    }

    @Override
    public void promptFinished() {
        finished = true;
        goesOn = false;
        if (lastStream != null) {
            scheduler.dropAhead(lastStream);
        }
    }

    /** Rows of a pass that were planned; 0 when prompts borrow nothing but the ring. */
    public int chunk() {
        return chunk;
    }

    public SlotCache cache() {
        return cache;
    }

    public ExpertUsage usage() {
        return usage;
    }

    public PrefillScheduler scheduler() {
        return scheduler;
    }

    /** Experts that were exchanged so far. */
    public long swapped() {
        return swapped;
    }

    /** Of these, the ones that steps had brought over the link anyway. */
    public long kept() {
        return kept;
    }

    /** Missed experts that had been brought ahead of their layer. */
    public long foreseen() {
        return shared.foreseen();
    }

    /** Experts that were brought ahead, also in vain. */
    public long broughtAhead() {
        return shared.broughtAhead();
    }

    /** What decode steps have used so far; figures of other threads may be a step old. */
    public ExpertTotals totals() {
        PoolFigures pool = shared.figures();
        return ExpertTotals.of(usage, pool == null ? 0 : pool.bytes(), missedOnDrive, swapped);
    }

    /** What the processor has computed, null when it takes no part. */
    public @Nullable PoolFigures pool() {
        return shared.figures();
    }

    /** What was learned, for the next start. */
    public ExpertProfile profile() {
        return usage.profile((layer, expert) -> cache.slot(layer, expert) >= 0);
    }

    /** The order of the last streamed pass, or null. */
    @Nullable
    StreamOrder order() {
        return streamed.order();
    }

    @Override
    public void close() {
        LOG.debug("expert placement: {} swaps, hit rate {}", swapped, usage.hitRate());
        Closing.all(owned);
    }
}
