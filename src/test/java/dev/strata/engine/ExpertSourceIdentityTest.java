package dev.strata.engine;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.TierOptions.Residence;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuSettings;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.ExpertSource;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.expert.AheadSource;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.MappedExpertSource;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.StoredExperts;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.PackedFixture;
import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.TypePlan;
import dev.strata.model.ExpertTensors;
import dev.strata.model.Hyperparameters;
import dev.strata.model.Model;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import dev.strata.model.NgramTables;
import dev.strata.model.ngram.NgramTable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The same logits, bit for bit, wherever experts are read from. */
class ExpertSourceIdentityTest {
    private static final int STEPS = 3;
    private static final ModelOptions ROOM = new ModelOptions(64, 4, 1, KvFormat.F32, false);

    @TempDir
    static Path folder;

    private Path path = GoldenModels.gguf("qwen3_next");
    private NgramTables.Access access = NgramTables.Access.MAPPED;

    @Test
    void mappedArenaFileAndTieredSourcesAgree() {
        float[] mapped = logits(MappedExpertSource::new, false);
        assertArrayEquals(mapped, logits(stored -> file(stored, false), false));
        assertArrayEquals(mapped, logits(stored -> file(stored, true), false));
        assertArrayEquals(mapped, logits(stored -> tiered(stored, 0.5), false));
        assertArrayEquals(mapped, logits(stored -> tiered(stored, 1.1), false));
        if (CpuBackend.isAvailable()) {
            float[] cpu = logits(MappedExpertSource::new, true);
            assertArrayEquals(cpu, logits(stored -> file(stored, true), true));
            assertArrayEquals(cpu, logits(stored -> tiered(stored, 0.5), true));
        }
    }

    /** A model with an n-gram table, all tiers of both: the experts of a pack, and rows of the table wherever they are read. */
    @Test
    void packsAndTablesAgree() throws IOException {
        path = folder.resolve("wide.gguf");
        PackedFixture.unpack(Path.of("src/test/resources/golden/gguf/qwen4_exp/model.gguf.planes.gz"), path);
        access = NgramTables.Access.MAPPED;
        float[] mapped = logits(MappedExpertSource::new, false);
        for (NgramTables.Access each : NgramTables.Access.values()) {
            access = each;
            assertArrayEquals(mapped, logits(stored -> file(stored, true), false), each.toString());
        }
        access = NgramTables.Access.DIRECT;
        Path pack = folder.resolve("pack.gguf");
        try (ModelFiles files = ModelFileOpener.open(path)) {
            Conversion.of(files, TypePlan.parse("keep")).pack(pack, true, 2, (bytes, tensor) -> {});
        }
        path = pack;
        assertArrayEquals(mapped, logits(MappedExpertSource::new, false));
        assertArrayEquals(mapped, logits(stored -> file(stored, true), false));
        assertArrayEquals(mapped, logits(stored -> tiered(stored, 0.5), false));
        assertArrayEquals(mapped, logits(stored -> tiered(stored, 1.1), false));
    }

    /** Experts that steps read ahead are those that would have been read. */
    @Test
    void readingAheadChangesNothing() {
        float[] mapped = logits(MappedExpertSource::new, false);
        AtomicReference<AheadSource> ahead = new AtomicReference<>();
        Function<List<StoredExperts>, ExpertSource> open = stored -> {
            ahead.set(AheadSource.start(file(stored, true)));
            return TieredExpertSource.file(Objects.requireNonNull(ahead.get()));
        };
        assertArrayEquals(mapped, logits(open, false));
        assertTrue(Objects.requireNonNull(ahead.get()).guessed() > 0);
        if (CpuBackend.isAvailable()) {
            assertArrayEquals(logits(MappedExpertSource::new, true), logits(open, true));
            assertTrue(Objects.requireNonNull(ahead.get()).guessed() > 0);
        }
    }

    /** What lies in RAM follows the steps and changes nothing else. */
    @Test
    void expertsInRamThatFollowTheirUseChangeNothing() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        AtomicReference<TieredExpertSource> made = new AtomicReference<>();
        float[] followed = logits(
                stored -> {
                    TieredExpertSource tiered = tiered(stored, 0.5);
                    tiered.followUse(ExpertProfile.even(tiered.arenaLayout()), SlotAdaptation.DEFAULTS);
                    made.set(tiered);
                    return tiered;
                },
                true);
        assertArrayEquals(logits(MappedExpertSource::new, true), followed);
        TieredExpertSource.ResidentFigures figures =
                Objects.requireNonNull(Objects.requireNonNull(made.get()).figures());
        assertTrue(figures.swaps() > 0);
        assertTrue(figures.usage().missedOnce() > 0);
        assertTrue(figures.usage().hits() > 0);
    }

    /** Experts that are not in RAM are left out where every row ranks them last; what is in RAM never is. */
    @Test
    void missedExpertsOfLowRankCanBeLeftOut() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        CpuSettings settings = CpuSettings.standard().withThreads(2);
        float[] all = logits(MappedExpertSource::new, settings);
        assertArrayEquals(all, logits(stored -> tiered(stored, 0.5), settings.withTailSkip(64)));
        assertArrayEquals(all, logits(MappedExpertSource::new, settings.withTailSkip(1)));
        AtomicReference<FileExpertSource> made = new AtomicReference<>();
        Function<List<StoredExperts>, ExpertSource> open = stored -> {
            made.set(file(stored, true));
            return TieredExpertSource.file(Objects.requireNonNull(made.get()));
        };
        assertArrayEquals(all, logits(open, settings));
        long bytes = Objects.requireNonNull(made.get()).counters().bytes();
        float[] skipped = logits(open, settings.withTailSkip(1));
        assertTrue(Objects.requireNonNull(made.get()).counters().bytes() < bytes);
        assertFalse(Arrays.equals(all, skipped));
        for (float value : skipped) {
            assertTrue(Float.isFinite(value));
        }
    }

    @Test
    void flagsChooseTheSourceOfASession() {
        for (Residence residence : Residence.values()) {
            TierOptions standard = TierOptions.DEFAULTS;
            TierOptions tiers = new TierOptions(
                    0,
                    0,
                    standard.vramReserveMib(),
                    -1,
                    Optional.empty(),
                    true,
                    residence,
                    0,
                    Optional.empty(),
                    Optional.empty(),
                    standard.adaptation(),
                    List.of(),
                    TierOptions.NgramAccess.AUTO,
                    standard.misses());
            Options options = new Options(path, List.of(), EngineOptions.DEFAULTS, tiers, Variables.defaults());
            try (ModelFiles files = ModelFileOpener.open(path);
                    ExpertSource source = ExpertSources.open(files, options, false)) {
                boolean arena = residence == Residence.RESIDENT || residence == Residence.LOW_RAM;
                assertTrue(source instanceof TieredExpertSource == arena, residence.toString());
                assertFalse(source.view(0, 0) == null, "everything fits into RAM");
                assertEquals(arena, files.closeExpertViews() == 0, "views of what was copied are closed");
            }
        }
    }

    @Test
    void viewsStayOpenWhenTheVariableSaysSo() {
        Options options = new Options(
                path,
                List.of(),
                EngineOptions.DEFAULTS,
                TierOptions.DEFAULTS.withResidence(Residence.RESIDENT, 0),
                Variables.defaults().with(Variable.KEEP_MAPPING, "1"));
        try (ModelFiles files = ModelFileOpener.open(path);
                ExpertSource source = ExpertSources.open(files, options, false)) {
            assertTrue(source.layers() > 0);
            assertTrue(files.closeExpertViews() > 0);
        }
    }

    private FileExpertSource file(List<StoredExperts> stored, boolean unbuffered) {
        List<BlobSlices> slices = stored.stream()
                .map(layer -> BlobSlices.of(layer, List.of(path)))
                .toList();
        return FileExpertSource.open(List.of(path), slices, unbuffered, 4);
    }

    private TieredExpertSource tiered(List<StoredExperts> stored, double share) {
        FileExpertSource rest = file(stored, true);
        ArenaLayout layout = ArenaLayout.of(rest);
        long budget = (long) (share * layout.dataBytes()) + layout.maxStride() + layout.layers() * 4096L;
        return TieredExpertSource.budget(rest, ExpertProfile.even(layout).ranking(), budget, 2, LoadProgress.NONE);
    }

    private float[] logits(Function<List<StoredExperts>, ExpertSource> open, boolean cpu) {
        return logits(open, cpu ? CpuSettings.standard().withThreads(2) : null);
    }

    /** On the C++ backend with {@code settings}, on the reference without. */
    private float[] logits(Function<List<StoredExperts>, ExpertSource> open, @Nullable CpuSettings settings) {
        try (ModelFiles files = ModelFileOpener.open(path);
                Backend backend = settings != null ? CpuBackend.create(settings) : ReferenceBackend.create(2)) {
            Hyperparameters sizes = ModelConfigReader.hyperparameters(files);
            ExpertSource source = open.apply(ExpertTensors.find(files, sizes));
            NgramTable table = sizes.ngram() == null ? null : NgramTables.open(files, sizes.ngram(), access);
            try (Model model = ModelLoader.load(files, backend, ROOM, source, table);
                    Arena arena = Arena.ofConfined()) {
                int vocabulary = model.config().vocabulary();
                int[] tokens = new int[50];
                Arrays.setAll(tokens, i -> (i * 37 + 11) % vocabulary);
                int[] rows = {3, 49};
                MemorySegment logits = arena.allocate(4L * vocabulary * rows.length, 64);
                model.forward(
                        new Batch(tokens, List.of(new Batch.Segment(0, 50, 0, new int[] {0}, 0, new int[0])), false),
                        rows,
                        logits);
                float[] first = logits.toArray(JAVA_FLOAT);
                float[] all = Arrays.copyOf(first, first.length + STEPS * vocabulary);
                for (int step = 0; step < STEPS; step++) {
                    int position = 50 + step;
                    model.forward(
                            new Batch(
                                    new int[] {7 + step},
                                    List.of(new Batch.Segment(0, 1, position, new int[] {0}, 0, new int[] {3, 5})),
                                    false),
                            new int[] {0},
                            logits);
                    MemorySegment.copy(logits, JAVA_FLOAT, 0, all, first.length + step * vocabulary, vocabulary);
                }
                return all;
            }
        }
    }
}
