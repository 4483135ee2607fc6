package dev.strata.decode;

import static dev.strata.decode.Closing.own;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.MissShare;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.CacheMemory;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileReads;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.SlotCache;
import dev.strata.expert.SlotPlan;
import dev.strata.expert.TieredExpertSource;
import dev.strata.memory.Bytes;
import dev.strata.os.HostPages;
import dev.strata.prefill.PrefillPlan;
import dev.strata.prefill.PrefillScheduler;
import dev.strata.prefill.PrefillTiming;
import dev.strata.prefill.StagerSizing;
import dev.strata.prefill.StreamGroup;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts the experts of a model on a device, once everything else there has its memory. */
public final class ExpertTiers {
    private static final Logger LOG = LoggerFactory.getLogger(ExpertTiers.class);

    /** Spare slots for blobs that steps fetch. */
    static final int SPARE_SLOTS = 8;

    /**
     * Slots for blobs that the card pulls over the link in a layer of a step, where further ones are read in place, at half the rate, and for
     * those that short prompts fetch.
     */
    static final int PULL_SLOTS = 48;

    /** Slots for each layer, so that most of what a step pulls is still there behind it. */
    private static final int PULLED_OF_A_LAYER = 2;

    private static final long PULL_BYTES = 256 * Bytes.MIB;

    /** Shortest ring that is worth borrowing. */
    static final int LEAST_RING = 16;

    /** The issuer, the engine's thread and the one that the workers compute for. */
    private static final int THREADS_BESIDE_WORKERS = 3;

    private static final double LENDABLE = 0.85;
    private static final double LENDABLE_PINNED = 0.90;
    private static final double MOSTLY_PINNED = 0.90;
    private static final int GROUPS_IN_RING = 12;

    private ExpertTiers() {}

    /**
     * Allocates the cache, starts the stager and fills the slots.
     *
     * @param source stays open as long as the placement, which does not own it
     * @param pinned what of the source's arena is registered; likewise
     * @throws dev.strata.device.DeviceException of kind OUT_OF_MEMORY saying what to change
     */
    public static DevicePlacement place(
            Device device,
            TieredExpertSource source,
            PinnedRanges pinned,
            ExpertProfile profile,
            PlacementSettings settings) {
        return place(device, source, pinned, profile, settings, MissSettings.CARD_ONLY);
    }

    /** The same with missed experts of decode steps shared as {@code misses} says. */
    public static DevicePlacement place(
            Device device,
            TieredExpertSource source,
            PinnedRanges pinned,
            ExpertProfile profile,
            PlacementSettings settings,
            MissSettings misses) {
        List<AutoCloseable> owned = new ArrayList<>();
        try {
            return build(device, source, pinned, profile, settings, misses, owned);
        } catch (RuntimeException failed) {
            Closing.all(owned);
            throw failed;
        }
    }

    private static DevicePlacement build(
            Device device,
            TieredExpertSource source,
            PinnedRanges pinned,
            ExpertProfile profile,
            PlacementSettings settings,
            MissSettings misses,
            List<AutoCloseable> owned) {
        ArenaLayout layout = source.arenaLayout();
        ResidencyTable table = own(owned, ResidencyTable.create(device, layout, "expert table"));
        ResidencyTable streamTable = own(owned, ResidencyTable.create(device, layout, "expert table of prompts"));
        UsageLog log = own(owned, UsageLog.create(device, layout.layers()));
        StagerSizing sizing = StagerSizing.of(
                situation(source, pinned, settings, expectedSlots(device, layout, settings)), settings.stager());
        double pinnedShare = 1 - unpinned(source, pinned);

        long stride = layout.maxStride();
        int pullSlots = pullSlots(layout);
        int spares = SPARE_SLOTS + pullSlots;
        long spareBytes = spares * stride;
        long most = settings.slots() > layout.totalExperts()
                ? layout.dataBytes() + atMostLent(settings, sizing, stride)
                : settings.slots() * stride;
        Buffer memory = CacheMemory.allocate(
                device,
                most + spareBytes,
                settings.reserve(),
                Math.min(most + spareBytes, (LEAST_RING + spares) * stride));
        PromptLoan loan = settings.loan();
        PrefillPlan planned =
                loan == null ? null : plan(memory, layout, profile, settings, loan, sizing, pinnedShare, spareBytes);
        long kept = planned == null ? sizing.ringSlots() * stride : planned.loanBytes();
        SlotCache cache = own(owned, cache(memory, layout, profile, settings, kept, spareBytes));
        PrefillPlan plan =
                planned == null ? ringOnly(cache, spareBytes, sizing, pinnedShare, settings.borrow()) : planned;
        int groupSize = groupSize(plan.ringBytes(), stride);
        long spareOffset = memory.bytes() - spareBytes;
        long pulledOffset = spareOffset + SPARE_SLOTS * stride;
        // Half of the slots are for what is brought ahead of the layers.
        int ahead = misses.bringsAhead() && pullSlots / 2 >= ComingExperts.LEAST_PLACES ? pullSlots / 2 : 0;
        int pulled = misses.pull() ? pullSlots - ahead : 0;

        PlacedBlobs blobs = new PlacedBlobs(source, pinned, cache);
        SharedSteps shared = own(
                owned,
                SharedSteps.create(
                        device, cache, table, memory.address() + pulledOffset, pulled, log, misses.tailSkip()));
        boolean missesLieInRam = source.arena() != null && cache.slots() < layout.totalExperts();
        if (ahead > 0 && missesLieInRam) {
            shared.bringAhead(new PullAhead(device, cache, blobs, memory, pulledOffset, pulled, ahead));
        }
        ExpertWorkers workers = null;
        Supplier<ExpertWorkers> wanted = misses.workers();
        if (wanted != null && missesLieInRam) {
            workers = wanted.get();
            meet(shared, workers, device, source, pinned, blobs, memory, pulledOffset, misses);
        }
        BitSet spared = workers == null ? new BitSet() : workers.spared();
        if (sizing.threads() > 0 || spared.cardinality() < THREADS_BESIDE_WORKERS) {
            // Copy threads of a stager have processors of their own already, and fewer would be worse than any.
            spared.clear();
        }
        PrefillScheduler scheduler = own(
                owned,
                PrefillScheduler.start(
                        device,
                        memory,
                        blobs,
                        blobs,
                        sizing,
                        settings.stagerSleeps(),
                        spared,
                        new PrefillTiming(settings.timing())));
        StreamedPass streamed = new StreamedPass(cache, blobs, scheduler, streamTable, plan, spareOffset, groupSize);
        FetchedPass fetched = own(
                owned,
                FetchedPass.create(
                        device,
                        cache,
                        blobs,
                        scheduler,
                        new FetchedPass.Spares(spareOffset, SPARE_SLOTS),
                        new FetchedPass.Spares(pulledOffset, pullSlots)));
        PromptShare prompts = workers == null || misses.promptRows() == 0
                ? null
                : own(
                        owned,
                        new PromptShare(new PromptShare.Parts(
                                device, cache, blobs, table, fetched, workers, spared, misses.promptRows())));
        DevicePlacement placement = new DevicePlacement(new DevicePlacement.Parts(
                blobs,
                cache,
                scheduler,
                streamed,
                fetched,
                table,
                shared,
                prompts,
                log,
                new PulledExperts(device, memory, pulledOffset, stride, pullSlots),
                profile,
                settings,
                planned == null ? 0 : planned.chunk(),
                owned));
        if (cache.slots() < layout.totalExperts()) {
            LOG.info("{}", sizing.line());
        }
        try (Stream stream = device.newStream("expert cache")) {
            placement.fillCache(stream);
            stream.synchronize();
        }
        LOG.info(
                "expert cache: {} of {} experts in {} slots ({}), ring {}, prompts borrow {} ({} slots){}, {} free on the device",
                cache.residents(),
                layout.totalExperts(),
                cache.slots(),
                Bytes.text(memory.bytes()),
                Bytes.text(plan.ringBytes()),
                Bytes.text(plan.loanBytes()),
                plan.borrowed() ? plan.lentSlots() : 0,
                planned == null ? "" : " for chunks of " + planned.chunk() + " tokens",
                Bytes.text(device.freeBytes()));
        return placement;
    }

    /** Starts the processor's part with a split from rates that are measured now. */
    private static void meet(
            SharedSteps shared,
            ExpertWorkers workers,
            Device device,
            TieredExpertSource source,
            PinnedRanges pinned,
            PlacedBlobs blobs,
            Buffer memory,
            long pulledOffset,
            MissSettings misses) {
        PcieShare share;
        String split;
        if (misses.linkShare().isPresent()) {
            share = PcieShare.fixed(misses.linkShare().getAsDouble());
            split = misses.linkShare().getAsDouble() + " of the misses over the link";
        } else {
            double processor = RateProbe.processorNanos(workers, source.arenaLayout(), blobs);
            double link = RateProbe.linkNanos(device, source, pinned, memory, pulledOffset);
            share = PcieShare.measured(misses.balanced(), processor, link);
            split = String.format(
                    Locale.ROOT,
                    "an expert takes it %.0f us and the link %.0f us: it takes %d of 8 misses",
                    processor / 1e3,
                    link / 1e3,
                    share.processor(8));
        }
        LOG.info("missed experts: the processor helps with {}; {}", workers.description(), split);
        shared.meet(workers, blobs::hostAddress, share, MissShare.MOST_PAIRS);
    }

    private static int pullSlots(ArenaLayout layout) {
        int most = Math.max(PULL_SLOTS, PULLED_OF_A_LAYER * layout.layers());
        return Math.min(layout.totalExperts(), Math.clamp(PULL_BYTES / layout.maxStride(), 2, most));
    }

    private static SlotCache cache(
            Buffer memory,
            ArenaLayout layout,
            ExpertProfile profile,
            PlacementSettings settings,
            long lentBytes,
            long spareBytes) {
        try {
            long kept = spareBytes + (settings.borrow() ? 0 : Math.min(lentBytes, memory.bytes() / 2));
            SlotPlan plan = SlotPlan.fit(layout, profile.ranking(), memory.bytes() - kept, settings.slots());
            return new SlotCache(layout, plan, memory);
        } catch (RuntimeException failed) {
            memory.close();
            throw failed;
        }
    }

    /** What prompts borrow at most: so much beyond the last expert's slot is of use. */
    private static long atMostLent(PlacementSettings settings, StagerSizing sizing, long stride) {
        PromptLoan loan = settings.loan();
        if (loan == null) {
            return 0;
        }
        int chunk = loan.chunk().chunk().orElse(loan.chunk().most());
        return PrefillPlan.carve(sizing.ringSlots() * stride, loan.bytes().applyAsLong(chunk))
                .bytes();
    }

    private static PrefillPlan plan(
            Buffer memory,
            ArenaLayout layout,
            ExpertProfile profile,
            PlacementSettings settings,
            PromptLoan loan,
            StagerSizing sizing,
            double pinnedShare,
            long spareBytes) {
        try {
            SlotPlan slots = SlotPlan.fit(layout, profile.ranking(), memory.bytes() - spareBytes, settings.slots());
            return PrefillPlan.of(
                    new PrefillPlan.Case(
                            slots,
                            memory.bytes() - spareBytes,
                            layout.maxStride(),
                            sizing.ringSlots(),
                            loan.bytes(),
                            pinnedShare,
                            settings.borrow(),
                            loan.keptSlots()),
                    loan.chunk());
        } catch (RuntimeException failed) {
            memory.close();
            throw failed;
        }
    }

    /** The ring alone is borrowed, as much of it as can be lent. */
    private static PrefillPlan ringOnly(
            SlotCache cache, long spareBytes, StagerSizing sizing, double pinnedShare, boolean borrow) {
        long stride = cache.layout().maxStride();
        long memory = cache.buffer().bytes() - spareBytes;
        double share = pinnedShare >= MOSTLY_PINNED ? LENDABLE_PINNED : LENDABLE;
        long lendable = borrow ? (long) (share * memory) : memory - cache.plan().bytes();
        long slots = Math.clamp(lendable / stride, 1, sizing.ringSlots());
        if (slots < sizing.ringSlots() && cache.slots() < cache.layout().totalExperts()) {
            LOG.warn("prefill: the cache can lend {} slots to the ring instead of {}", slots, sizing.ringSlots());
        }
        long ring = slots * stride;
        int first = cache.plan().firstLent(ring, memory);
        return new PrefillPlan(0, ring, ring, cache.slots() - first, borrow);
    }

    /** Experts that are computed together: a twelfth of the ring, so that copies run well ahead of products. */
    static int groupSize(long ringBytes, long stride) {
        return Math.clamp(ringBytes / stride / GROUPS_IN_RING, 1, StreamGroup.MOST_EXPERTS);
    }

    private static int expectedSlots(Device device, ArenaLayout layout, PlacementSettings settings) {
        long room = Math.max(0, device.freeBytes() - settings.reserve()) / layout.maxStride();
        return (int) Math.min(room, settings.slots());
    }

    private static StagerSizing.Case situation(
            TieredExpertSource source, PinnedRanges pinned, PlacementSettings settings, int slots) {
        double unpinned = unpinned(source, pinned);
        long total = source.arenaLayout().dataBytes();
        double inRam =
                unpinned == 0 ? 1 : Math.clamp((source.residentBytes() - pinned.bytes()) / (unpinned * total), 0, 1);
        StagerSizing.Source from = StagerSizing.Source.RESIDENT;
        if (source.rest() != null) {
            from = source.rest() instanceof FileReads reads && reads.isUnbuffered()
                    ? StagerSizing.Source.FILE_UNBUFFERED
                    : StagerSizing.Source.FILE;
        }
        return new StagerSizing.Case(unpinned, inRam, from, settings.cpus(), bufferBytes(source), slots);
    }

    /** A buffer takes a blob the way its source reads it, from a page's start on. */
    private static long bufferBytes(TieredExpertSource source) {
        ArenaLayout layout = source.arenaLayout();
        if (source.rest() == null) {
            return layout.maxStride();
        }
        long most = layout.maxStride();
        for (int layer = 0; layer < layout.layers(); layer++) {
            most = Math.max(most, source.partsBytes(layer));
        }
        return Bytes.roundUp(most, HostPages.SMALL_PAGE);
    }

    private static double unpinned(TieredExpertSource source, PinnedRanges pinned) {
        ArenaLayout layout = source.arenaLayout();
        int missing = 0;
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                int place = source.place(layer, expert);
                missing += place < 0 || !pinned.isPinned(layer, place) ? 1 : 0;
            }
        }
        return missing / (double) layout.totalExperts();
    }
}
