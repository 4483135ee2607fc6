package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.decode.DeferredPlacement;
import dev.strata.decode.DevicePlacement;
import dev.strata.decode.ExpertTiers;
import dev.strata.decode.ExpertTotals;
import dev.strata.decode.PlacementSettings;
import dev.strata.decode.PoolFigures;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.Device;
import dev.strata.device.ExpertSource;
import dev.strata.expert.AheadSource;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.ExpertUsage;
import dev.strata.expert.FileReads;
import dev.strata.expert.LayerGate;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import dev.strata.memory.Bytes;
import dev.strata.model.Model;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import dev.strata.model.ngram.NgramTable;
import dev.strata.prefill.PromptRoomException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Loads a model with its experts where the options and the memory of the machine say, and owns what that takes. */
final class ExpertHome implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExpertHome.class);

    /** Where experts are read from, whoever owns it. */
    private final ExpertSource experts;

    private final @Nullable ExpertSource source;
    private final @Nullable PinnedRanges pinned;
    private final @Nullable DeferredPlacement deferred;
    private @Nullable DevicePlacement placement;
    private @Nullable ProfileSaver saver;
    private final Optional<Path> profileSave;

    private ExpertHome(
            ExpertSource experts,
            @Nullable ExpertSource source,
            @Nullable PinnedRanges pinned,
            @Nullable DeferredPlacement deferred,
            Optional<Path> profileSave) {
        this.experts = experts;
        this.source = source;
        this.pinned = pinned;
        this.deferred = deferred;
        this.profileSave = profileSave;
    }

    /**
     * A model and the home of its experts, which is closed behind it.
     *
     * @param chunk rows of a pass that were planned, 0 as the options say
     * @param table the n-gram table that the model reads, if it has one
     */
    record Loaded(
            Model model,
            ExpertHome home,
            int chunk,
            @Nullable NgramTable table) implements AutoCloseable {
        @Override
        public void close() {
            model.close();
            home.close();
        }
    }

    /**
     * Loads.
     *
     * @param table the n-gram table of models that have one; the model owns it then
     */
    static Loaded load(
            ModelFiles files, Backend backend, Options options, ModelOptions room, @Nullable NgramTable table) {
        return load(files, backend, options, room, table, null);
    }

    /** Experts in RAM that several loads use, one after the other. */
    record Shared(TieredExpertSource source) implements AutoCloseable {
        @Override
        public void close() {
            source.close();
        }
    }

    /** Brings the experts where the options say, for several loads on a device. */
    static Shared share(ModelFiles files, Options options) {
        return new Shared(tiered(files, options, (arena, whole) -> LayerGate.OPEN));
    }

    /**
     * Loads.
     *
     * @param shared experts to use, which stay their owner's; null: the home's own
     */
    static Loaded load(
            ModelFiles files,
            Backend backend,
            Options options,
            ModelOptions room,
            @Nullable NgramTable table,
            @Nullable Shared shared) {
        Device device = Backends.device(backend);
        if (device != null && shared != null) {
            ArenaPins pins = new ArenaPins(device, options);
            return place(files, backend, device, options, room, shared.source(), pins, table, false);
        }
        int rows = device == null ? 0 : rowsOfResident(files, device, options, room);
        if (rows > 0) {
            ExpertSource mapped = ExpertSources.mapped(files);
            Model model = ModelLoader.load(files, backend, room.withMaxRows(rows), mapped, table);
            return new Loaded(model, new ExpertHome(mapped, null, null, null, Optional.empty()), rows, table);
        }
        return device == null
                ? besideProcessor(files, backend, options, room, table)
                : onDevice(files, backend, device, options, room, table);
    }

    /** Experts wherever they fit, with as many of them on the device as its memory holds. */
    private static Loaded onDevice(
            ModelFiles files,
            Backend backend,
            Device device,
            Options options,
            ModelOptions room,
            @Nullable NgramTable table) {
        try (ArenaPins pins = new ArenaPins(device, options)) {
            TieredExpertSource source = tiered(files, options, pins::gate);
            try {
                return placeSized(files, backend, device, options, room, source, pins, table);
            } catch (RuntimeException | Error failed) {
                pins.close();
                source.close();
                throw failed;
            }
        }
    }

    private static TieredExpertSource tiered(ModelFiles files, Options options, ExpertSources.Gates gates) {
        if (ExpertSources.open(files, options, true, gates) instanceof TieredExpertSource tiered) {
            return tiered;
        }
        throw new IllegalStateException("experts for a device are always tiered");
    }

    /** The processor computes experts where they lie; those that lie in RAM follow their use. */
    private static Loaded besideProcessor(
            ModelFiles files, Backend backend, Options options, ModelOptions room, @Nullable NgramTable table) {
        ExpertSource source = ExpertSources.open(files, options, false);
        try {
            return besideProcessor(files, backend, options, room, source, table);
        } catch (RuntimeException | Error failed) {
            source.close();
            throw failed;
        }
    }

    private static Loaded besideProcessor(
            ModelFiles files,
            Backend backend,
            Options options,
            ModelOptions room,
            ExpertSource source,
            @Nullable NgramTable table) {
        TierOptions tiers = options.tiers();
        if (source instanceof TieredExpertSource tiered
                && tiered.arena() != null
                && tiered.rest() != null
                && tiers.adaptation().swaps() > 0) {
            tiered.followUse(
                    ExpertSources.profile(tiers, tiered.arenaLayout()), TierSettings.adaptation(tiers.adaptation()));
        }
        int rows = TierSettings.rowsFromFiles(options, source);
        Model model = ModelLoader.load(files, backend, rows == 0 ? room : room.withMaxRows(rows), source, table);
        ExpertHome home = new ExpertHome(source, null, null, null, tiers.profileSave());
        if (source instanceof TieredExpertSource tiered && tiered.adapts()) {
            home.keepProfile(() -> Objects.requireNonNull(tiered.profile()));
        }
        return new Loaded(model, home, rows, table);
    }

    /** Rows of a pass with which the whole model fits on the device, so that nothing has to be placed; 0: it does not. */
    private static int rowsOfResident(ModelFiles files, Device device, Options options, ModelOptions room) {
        if (!TierSettings.sizesPasses(options)) {
            return fits(files, device, options, room.maxRows()) ? room.maxRows() : 0;
        }
        int useful = (int) Math.min(room.maxRows(), (long) room.pages() * Batch.PAGE);
        for (int rows : new int[] {useful, useful / 4, useful / 16}) {
            int most = Math.max(rows, leastRows(options));
            if (fits(files, device, options, most)) {
                return most;
            }
        }
        return 0;
    }

    /** Rows that passes have whatever else is short of memory. */
    private static int leastRows(Options options) {
        return Math.max(options.engine().chunk(), options.engine().parallel() * Batch.MAX_WINDOW);
    }

    /** Whether the whole model fits on the device with room to spare. */
    private static boolean fits(ModelFiles files, Device device, Options options, int rows) {
        if (options.tiers().cacheSlots() >= 0 || options.tiers().residence() != TierOptions.Residence.AUTO) {
            return false;
        }
        long weights = 0;
        for (TensorEntry tensor : files.tensors()) {
            weights += tensor.bytes();
        }
        // Types that the card does not read are stored as wider ones, at most twice as wide where it matters.
        long work = rows * TierSettings.rowBytes(files) + options.tiers().vramReserveMib() * Bytes.MIB;
        return weights + weights / 4 + work < device.freeBytes();
    }

    /** Places with passes as large as the cache can lend, or, when it is too small for any loan, with small ones of their own memory. */
    private static Loaded placeSized(
            ModelFiles files,
            Backend backend,
            Device device,
            Options options,
            ModelOptions room,
            TieredExpertSource source,
            ArenaPins pins,
            @Nullable NgramTable table) {
        if (!TierSettings.sizesPasses(options)) {
            return place(files, backend, device, options, room, source, pins, table, true);
        }
        try {
            Options sized = options.withTiers(options.tiers().withPrefill(TierSettings.AUTO));
            return place(files, backend, device, sized, room, source, pins, table, true);
        } catch (PromptRoomException tooSmall) {
            LOG.info("prefill: {}; prompts are read {} tokens at a time", tooSmall.getMessage(), leastRows(options));
        }
        int rows = leastRows(options);
        // The first one was closed with its model.
        NgramTable again = table == null ? null : ModelSession.ngramTable(files, options);
        Loaded small = place(files, backend, device, options, room.withMaxRows(rows), source, pins, again, true);
        return new Loaded(small.model(), small.home(), rows, again);
    }

    private static Loaded place(
            ModelFiles files,
            Backend backend,
            Device device,
            Options options,
            ModelOptions room,
            TieredExpertSource source,
            ArenaPins pins,
            @Nullable NgramTable table,
            boolean owned) {
        ArenaLayout layout = source.arenaLayout();
        ExpertProfile profile = ExpertSources.profile(options.tiers(), layout);
        PinnedRanges pinned = pins.of(source);
        DeferredPlacement deferred = DeferredPlacement.create(device, layout, source.readsAhead());
        ExpertHome home = new ExpertHome(
                source, owned ? source : null, pinned, deferred, options.tiers().profileSave());
        PlacementSettings settings = TierSettings.placement(options);
        PromptRoom prompts = PromptRoom.prepare(backend, room, TierSettings.prefill(options), settings);
        Model model = ModelLoader.load(files, backend, room, deferred, table);
        try {
            prompts.warm(model);
            DevicePlacement placement = ExpertTiers.place(
                    device, source, pinned, profile, prompts.settings(settings), TierSettings.misses(options));
            home.placement = placement;
            home.keepProfile(placement::profile);
            deferred.become(placement);
            return new Loaded(model, home, prompts.layOut(placement.chunk()), table);
        } catch (RuntimeException | Error failed) {
            model.close();
            deferred.close();
            pinned.close();
            throw failed;
        }
    }

    /** Where the experts are on a device, or null when a backend reads them where they lie. */
    @Nullable
    DevicePlacement placement() {
        return placement;
    }

    private void keepProfile(Supplier<ExpertProfile> profile) {
        if (profileSave.isPresent()) {
            ProfileSaver made = new ProfileSaver(profile, profileSave.get());
            made.start(ProfileSaver.PERIOD_MILLIS);
            saver = made;
        }
    }

    /** What decode has used of the expert cache, null without one; may be a step old. */
    @Nullable
    ExpertTotals totals() {
        DevicePlacement placed = placement;
        TieredExpertSource.ResidentFigures resident = residentFigures();
        FileReads reads = fileReads();
        if (placed == null && resident == null && reads == null) {
            return null;
        }
        ExpertTotals totals = ExpertTotals.NONE;
        if (placed != null) {
            totals = placed.totals();
        } else if (resident != null) {
            ExpertUsage usage = resident.usage();
            totals = ExpertTotals.of(usage, 0, usage.missedOnce(), resident.swaps());
        }
        if (reads == null) {
            return totals;
        }
        ReadCounters.Snapshot read = reads.counters().snapshot();
        return totals.withReads(read.bytes(), read.waitedNanos());
    }

    /** What the processor's steps found in RAM; null on a card, and where RAM holds all experts or none. */
    TieredExpertSource.@Nullable ResidentFigures residentFigures() {
        return experts instanceof TieredExpertSource tiered ? tiered.figures() : null;
    }

    /** Where experts are read from. */
    ExpertSource experts() {
        return experts;
    }

    /** The reads of experts that stay in files; null when none do. */
    @Nullable
    FileReads fileReads() {
        return experts instanceof TieredExpertSource tiered && tiered.rest() instanceof FileReads reads ? reads : null;
    }

    /** Where experts are and how they are reached, by name; figures may be a step old. */
    Map<String, Object> figures() {
        Map<String, Object> figures = new LinkedHashMap<>();
        if (pinned != null) {
            figures.put("pinned_bytes", pinned.bytes());
        }
        if (experts instanceof TieredExpertSource tiered) {
            figures.put("ram_bytes", tiered.residentBytes());
            FileReads reads = fileReads();
            if (reads != null) {
                figures.putAll(reads.counters().figures());
            }
            if (tiered.rest() instanceof AheadSource ahead) {
                figures.put("blobs_read_ahead", ahead.guessed());
                figures.put("blobs_read_ahead_used", ahead.used());
            }
        }
        DevicePlacement placed = placement;
        if (placed != null) {
            figures.put("cache_slots", placed.cache().slots());
            figures.put("cache_slots_lent", placed.cache().lent());
        }
        ExpertTotals totals = totals();
        if (totals != null) {
            figures.put("cache_lookups", totals.lookups());
            figures.put("cache_hits", totals.hits());
            figures.put("cache_hit_rate", totals.hitRate());
            figures.put("cache_hit_rate_by_bytes", totals.hitRateByBytes());
            figures.put("missed_bytes", totals.missedOnce());
            figures.put("missed_bytes_processor", totals.processorBytes());
            figures.put("missed_bytes_link", totals.linkBytes());
            figures.put("missed_bytes_drive", totals.driveBytes());
            figures.put("swaps", totals.swaps());
        }
        if (placed != null) {
            PoolFigures pool = placed.pool();
            if (pool != null) {
                figures.put("pool_meetings", pool.meetings());
                figures.put("pool_experts", pool.experts());
                figures.put("pool_seconds", pool.nanos() / 1e9);
                figures.put("pool_late_seconds", pool.lateNanos() / 1e9);
            }
            figures.put("brought_ahead", placed.broughtAhead());
            figures.put("foreseen", placed.foreseen());
            figures.put("link_bytes", placed.scheduler().linkBytes());
        }
        return figures;
    }

    /** Gives everything back; the model has been closed. */
    @Override
    public void close() {
        ProfileSaver last = saver;
        if (last != null) {
            last.close();
        }
        DevicePlacement placed = placement;
        if (placed != null) {
            placed.close();
        }
        if (deferred != null) {
            deferred.close();
        }
        if (pinned != null) {
            pinned.close();
        }
        if (source != null) {
            source.close();
        }
    }
}
