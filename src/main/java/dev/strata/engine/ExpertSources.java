package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.device.ExpertSource;
import dev.strata.expert.AheadGate;
import dev.strata.expert.AheadSource;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaLoader;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.DriveProbe;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.FileReads;
import dev.strata.expert.LayerGate;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.MappedExpertSource;
import dev.strata.expert.PageCacheProbe;
import dev.strata.expert.StoredExperts;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.ModelFiles;
import dev.strata.memory.Bytes;
import dev.strata.memory.HostMemory;
import dev.strata.memory.MemoryPlan;
import dev.strata.model.ExpertTensors;
import dev.strata.model.ModelConfigReader;
import dev.strata.os.Outcome;
import dev.strata.os.PageKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Chooses where experts are kept off the device, and brings them there. */
final class ExpertSources {
    private static final Logger LOG = LoggerFactory.getLogger(ExpertSources.class);
    private static final int READERS = Math.max(8, Runtime.getRuntime().availableProcessors());

    /** Threads that wait for reads past the page cache: more than the drive serves at once, so that it always has the next ones. */
    private static final int WAITING_READERS = Math.max(READERS, FileExpertSource.DEPTH);

    private static final long LARGE = Bytes.GIB;

    private ExpertSources() {}

    /**
     * Opens the experts of a model.
     *
     * @param device whether a device with memory of its own reads them, which cannot read mapped files
     * @throws IllegalStateException with the numbers when what was asked for does not fit
     */
    static ExpertSource open(ModelFiles files, Options options, boolean device) {
        return open(files, options, device, (arena, whole) -> LayerGate.OPEN);
    }

    /** What readers pass that fill an arena; {@code whole}: with all experts. */
    @FunctionalInterface
    interface Gates {
        LayerGate gate(ExpertArena arena, boolean whole);
    }

    /** The same, with gates before an arena's memory. */
    static ExpertSource open(ModelFiles files, Options options, boolean device, Gates gates) {
        List<StoredExperts> stored = stored(files);
        ExpertSource mapped = new MappedExpertSource(stored);
        ArenaLayout layout = ArenaLayout.of(mapped);
        MemoryPlan plan = MemoryPlan.of(new MemoryPlan.Case(
                HostMemory.read(),
                layout.totalBytes(),
                wish(options.tiers()),
                options.tiers().residentBudgetGib() * Bytes.GIB,
                !device && !files.makesTensors()));
        boolean trivial = plan.tier() == MemoryPlan.Tier.MAPPED
                && wish(options.tiers()) == MemoryPlan.Wish.AUTO
                && options.tiers().cacheSlots() == TierOptions.DEFAULTS.cacheSlots();
        if (trivial) {
            LOG.debug("{}", plan.table());
        } else {
            LOG.info("{}", plan.table());
        }
        ExpertSource source = switch (plan.tier()) {
            case MAPPED -> device ? TieredExpertSource.file(mapped) : mapped;
            case ARENA -> TieredExpertSource.resident(loaded(files, stored, mapped, layout, gates));
            case FILE -> TieredExpertSource.file(ahead(file(files, stored), options));
            case TIERED -> tiered(files, stored, options, layout, plan.residentBytes(), gates);
        };
        if (plan.tier() != MemoryPlan.Tier.MAPPED && !options.variables().flag(Variable.KEEP_MAPPING)) {
            closeViews(files, source);
        }
        return source;
    }

    /** Nobody looks at mapped experts from here on; on some systems a mapped file serves unbuffered reads one at a time. */
    private static void closeViews(ModelFiles files, ExpertSource source) {
        boolean buffered = source instanceof TieredExpertSource tiered
                && tiered.rest() instanceof FileReads reads
                && !reads.isUnbuffered();
        if (!buffered) {
            long closed = files.closeExpertViews();
            if (closed >= LARGE) {
                LOG.info("the mapped view of {} of experts is closed", Bytes.text(closed));
            }
        }
    }

    /** Experts in place in the mapped files. */
    static ExpertSource mapped(ModelFiles files) {
        return new MappedExpertSource(stored(files));
    }

    private static List<StoredExperts> stored(ModelFiles files) {
        return ExpertTensors.find(files, ModelConfigReader.hyperparameters(files));
    }

    private static MemoryPlan.Wish wish(TierOptions tiers) {
        if (tiers.residentBudgetGib() > 0) {
            return MemoryPlan.Wish.BUDGET;
        }
        return switch (tiers.residence()) {
            case AUTO -> MemoryPlan.Wish.AUTO;
            case RESIDENT -> MemoryPlan.Wish.RESIDENT;
            case MAPPED -> MemoryPlan.Wish.MAPPED;
            case LOW_RAM -> MemoryPlan.Wish.LOW_RAM;
        };
    }

    /** An arena with all experts, read past the page cache when the files are large and not in it. */
    private static ExpertArena loaded(
            ModelFiles files, List<StoredExperts> stored, ExpertSource mapped, ArenaLayout layout, Gates gates) {
        if (files.makesTensors()
                || layout.dataBytes() < LARGE
                || PageCacheProbe.cachedShare(stored, files::data) >= PageCacheProbe.WARM) {
            return arena(mapped, layout, READERS, gates);
        }
        try (FileExpertSource direct = file(files, stored)) {
            return arena(direct, layout, WAITING_READERS, gates);
        }
    }

    private static ExpertArena arena(ExpertSource from, ArenaLayout layout, int readers, Gates gates) {
        ExpertArena arena = ExpertArena.allocate(layout);
        try {
            ArenaLoader.fill(from, arena, readers, progress(), gates.gate(arena, true));
        } catch (RuntimeException failed) {
            arena.close();
            throw failed;
        }
        lock(arena);
        return arena;
    }

    private static void lock(ExpertArena arena) {
        if (arena.pageKind() != PageKind.RESERVED_HUGE) {
            Outcome lock = arena.lock();
            if (!lock.done()) {
                LOG.warn("the expert arena is not locked in RAM and may be paged out: {}", lock.reason());
            }
        }
    }

    private static FileExpertSource file(ModelFiles files, List<StoredExperts> stored) {
        List<Path> paths = files.files();
        List<BlobSlices> slices =
                stored.stream().map(layer -> BlobSlices.of(layer, paths)).toList();
        DriveProbe.Result drive = DriveProbe.measure(paths.getFirst(), FileExpertSource.DEPTH);
        if (drive.isSlow()) {
            LOG.warn("{}", drive.line());
        } else {
            LOG.info("{}", drive.line());
        }
        return FileExpertSource.open(paths, slices, true, drive.readers());
    }

    private static ExpertSource ahead(FileExpertSource files, Options options) {
        Variables variables = options.variables();
        if (!variables.isSet(Variable.LOOKAHEAD)) {
            return AheadSource.start(files, AheadGate.measuring());
        }
        return variables.flag(Variable.LOOKAHEAD) ? AheadSource.start(files) : files;
    }

    private static TieredExpertSource tiered(
            ModelFiles files,
            List<StoredExperts> stored,
            Options options,
            ArenaLayout layout,
            long budget,
            Gates gates) {
        ExpertProfile profile = profile(options.tiers(), layout);
        ExpertSource rest = ahead(file(files, stored), options);
        try {
            TieredExpertSource made = TieredExpertSource.budget(
                    rest, profile.ranking(), budget, WAITING_READERS, progress(), arena -> gates.gate(arena, false));
            ExpertArena arena = made.arena();
            if (arena != null) {
                lock(arena);
            }
            return made;
        } catch (RuntimeException failed) {
            rest.close();
            throw failed;
        }
    }

    /** What is known about the use of experts: the profile that the options name, or nothing. */
    static ExpertProfile profile(TierOptions tiers, ArenaLayout layout) {
        if (tiers.profile().isEmpty()) {
            return ExpertProfile.even(layout);
        }
        try {
            return ExpertProfile.load(tiers.profile().get(), layout);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** A line every five percent. */
    private static LoadProgress progress() {
        long[] next = {0};
        return (done, total, seconds) -> {
            synchronized (next) {
                if (done < next[0] || total < Bytes.GIB) {
                    return;
                }
                next[0] = done + total / 20;
            }
            double rate = done / Math.max(seconds, 1e-3);
            LOG.info(
                    "experts: {} of {} GiB, {} GiB/s, {} s left",
                    Bytes.gib(done),
                    Bytes.gib(total),
                    Bytes.gib((long) rate),
                    Math.round((total - done) / Math.max(rate, 1)));
        };
    }
}
