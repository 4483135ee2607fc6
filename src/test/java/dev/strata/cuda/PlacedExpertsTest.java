package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuExpertWorkers;
import dev.strata.cpu.CpuSettings;
import dev.strata.decode.DeferredPlacement;
import dev.strata.decode.DevicePlacement;
import dev.strata.decode.ExpertTiers;
import dev.strata.decode.MissSettings;
import dev.strata.decode.PlacementSettings;
import dev.strata.decode.PromptLoan;
import dev.strata.device.KvFormat;
import dev.strata.device.PromptMemory;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaLoader;
import dev.strata.expert.ArenaPinner;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.MappedExpertSource;
import dev.strata.expert.PinPlan;
import dev.strata.expert.PinSetting;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.ExpertTensors;
import dev.strata.model.GoldenLogits;
import dev.strata.model.LogitsRunner;
import dev.strata.model.Model;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import dev.strata.prefill.ChunkSetting;
import dev.strata.prefill.StagerSizing;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Logits do not depend on where experts lie and how they reach the card: bit for bit in deterministic mode. */
class PlacedExpertsTest {
    private static final ModelOptions ROOM = new ModelOptions(64, 6, 1, KvFormat.F16, false);
    private static final int STREAM_FROM = 4;
    private static final MissSettings CARD_WITH_GUESSES =
            new MissSettings(true, true, OptionalDouble.empty(), false, 0, 0, null);

    @Test
    void everyPlacementGivesTheLogitsOfExpertsOnTheCard() {
        Path folder = GoldenModels.folder("qwen3_moe");
        float[][] resident = resident(folder);
        Setting[] all = {
            new Setting(6, "0", false, false, true),
            new Setting(6, "none", true, false, true),
            new Setting(6, "none", false, false, true),
            new Setting(6, "none", false, true, false),
            new Setting(1, "none", true, false, false),
            new Setting(1000, "none", false, false, true),
        };
        // Emulated kernels are slow: two settings show registered and staged experts, streamed, in place and fetched.
        for (Setting setting : Cards.real() ? all : new Setting[] {all[0], all[1]}) {
            float[][] placed = placed(folder, setting);
            assertEquals(resident.length, placed.length);
            for (int i = 0; i < resident.length; i++) {
                assertArrayEquals(resident[i], placed[i], setting + ", position " + i);
            }
        }
    }

    /** Where experts lie off the card. */
    private enum From {
        ARENA,
        /** Half of them in an arena, the others read past the page cache. */
        TIERED,
        FILE
    }

    /** From as many slots as a token uses to all experts, with misses computed on the card, whatever they are read from. */
    @Test
    void stepsDoNotDependOnCacheAndSource() {
        Path folder = GoldenModels.folder("qwen3_moe");
        float[][] resident = resident(folder, options(), PlacedExpertsTest::steps);
        int[] slots = {4, 7, 5};
        From[] from = {From.ARENA, From.TIERED, From.FILE};
        for (int i = 0; i < slots.length; i++) {
            float[][] placed = steps(folder, slots[i], from[i]);
            for (int token = 0; token < resident.length; token++) {
                assertArrayEquals(resident[token], placed[token], slots[i] + " slots, " + from[i] + ", token " + token);
            }
        }
    }

    private static float[][] steps(Path folder, int slots, From from) {
        try (CudaBackend backend = Cards.open(options());
                ModelFiles files = ModelFileOpener.open(folder);
                TieredExpertSource source = source(files, from)) {
            Setting setting = new Setting(slots, "0", false, false, true, 1000);
            return placed(backend, files, source, setting, CARD_WITH_GUESSES, (model, placement) -> {
                float[][] logits = steps(model);
                assertTrue(
                        slots >= source.arenaLayout().totalExperts()
                                || placement.totals().missBytes() > 0,
                        "nothing was missed");
                return logits;
            });
        }
    }

    private static float[][] steps(Model model) {
        LogitsRunner runner = new LogitsRunner(model);
        runner.restart();
        return runner.append(new int[] {3, 77}, 1);
    }

    private static TieredExpertSource source(ModelFiles files, From from) {
        if (from == From.ARENA) {
            return source(files, false);
        }
        List<Path> paths = files.files();
        List<BlobSlices> slices = ExpertTensors.find(files, ModelConfigReader.hyperparameters(files)).stream()
                .map(layer -> BlobSlices.of(layer, paths))
                .toList();
        FileExpertSource file = FileExpertSource.open(paths, slices, true, 4);
        if (from == From.FILE) {
            return TieredExpertSource.file(file);
        }
        ArenaLayout layout = ArenaLayout.of(file);
        long budget = layout.dataBytes() / 2 + layout.maxStride() + layout.layers() * 4096L;
        return TieredExpertSource.budget(file, ExpertProfile.even(layout).ranking(), budget, 2, LoadProgress.NONE);
    }

    /** One order of summation with kernels of their own for every operation, and the default with fused ones. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theProcessorTakesItsPartOfTheMisses(boolean deterministic) {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        Path folder = GoldenModels.folder("qwen3_moe");
        CudaOptions options = options().withDeterministic(deterministic);
        float[][] resident = resident(folder, options);
        for (String pin : Cards.real() ? new String[] {"0", "none"} : new String[] {"0"}) {
            Setting setting = new Setting(6, pin, true, false, true);
            MissSettings misses = new MissSettings(
                    true,
                    true,
                    OptionalDouble.of(0.5),
                    false,
                    0,
                    0,
                    () -> CpuExpertWorkers.start(new CpuSettings(2, null, false, false), List.of()));
            float[][] placed = placed(folder, options, setting, misses);
            double worst = worst(resident, placed);
            assertTrue(
                    worst < (deterministic ? 1e-2 : 2e-2),
                    "pinned " + pin + ": largest difference " + worst + " of the logits' size");
            assertTrue(worst > 0, "the processor took no part");
        }
    }

    /** The largest difference of a position's logits, as a part of their size. */
    private static double worst(float[][] expected, float[][] found) {
        double worst = 0;
        for (int i = 0; i < expected.length; i++) {
            worst = Math.max(worst, error(expected[i], found[i]));
        }
        return worst;
    }

    private static double error(float[] expected, float[] found) {
        double difference = 0;
        double size = 0;
        for (int i = 0; i < expected.length; i++) {
            difference += Math.pow(expected[i] - found[i], 2);
            size += expected[i] * expected[i];
        }
        return Math.sqrt(difference / size);
    }

    @ParameterizedTest
    @CsvSource({"0", "none"})
    void theProcessorTakesItsPartOfShortPrompts(String pin) {
        assumeTrue(Cards.real() || pin.equals("0"), "emulated kernels are slow");
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        Path folder = GoldenModels.folder("qwen3_moe");
        float[][] resident = resident(folder, options(), model -> shortPrompt(model, folder));
        MissSettings misses = new MissSettings(
                true,
                true,
                OptionalDouble.of(1),
                false,
                1000,
                0,
                () -> CpuExpertWorkers.start(new CpuSettings(2, null, false, false), List.of()));
        Setting setting = new Setting(3, pin, true, false, true, 1000);
        try (CudaBackend backend = Cards.open(options());
                ModelFiles files = ModelFileOpener.open(folder);
                TieredExpertSource source = source(files, false)) {
            float[][] placed =
                    placed(backend, files, source, setting, misses, (model, there) -> shortPrompt(model, folder));
            double worst = worst(resident, placed);
            assertTrue(worst < 1e-2, "largest difference " + worst + " of the logits' size");
            assertTrue(worst > 0, "the processor took no part");
        }
    }

    /** A pass that is longer than a step and shorter than one that streams, a second behind it. */
    private static float[][] shortPrompt(Model model, Path folder) {
        int[] prompt = GoldenLogits.read(folder).get(2).prompt();
        LogitsRunner runner = new LogitsRunner(model);
        runner.restart();
        return runner.append(Arrays.copyOf(prompt, Math.min(prompt.length, Cards.real() ? 50 : 17)), 17);
    }

    @Test
    void activationsInLentMemoryGiveTheSameLogits() {
        Path folder = GoldenModels.folder("qwen3_moe");
        float[][] resident = resident(folder);
        float[][] lent = lent(folder);
        for (int i = 0; i < resident.length; i++) {
            assertArrayEquals(resident[i], lent[i], "position " + i);
        }
    }

    @ParameterizedTest
    @CsvSource({"qwen3_next", "qwen3_5_moe"})
    void otherFamiliesStreamToo(String family) {
        assumeTrue(Cards.real(), "takes minutes on emulated kernels");
        Path folder = GoldenModels.folder(family);
        float[][] resident = resident(folder);
        float[][] placed = placed(folder, new Setting(3, "none", false, false, true));
        for (int i = 0; i < resident.length; i++) {
            assertArrayEquals(resident[i], placed[i], family + ", position " + i);
        }
    }

    /**
     * @param slots of the cache
     * @param pin value of the pinning variable
     * @param pieces whether the stager cuts blobs
     * @param file whether experts are read from their mapped files instead of an arena
     * @param borrow whether the ring is borrowed
     * @param streamFrom rows from which on passes stream
     */
    private record Setting(int slots, String pin, boolean pieces, boolean file, boolean borrow, int streamFrom) {
        Setting(int slots, String pin, boolean pieces, boolean file, boolean borrow) {
            this(slots, pin, pieces, file, borrow, STREAM_FROM);
        }

        PlacementSettings placement() {
            StagerSizing.Overrides stager = new StagerSizing.Overrides(
                    StagerSizing.StageResident.BY_SOURCE,
                    pieces ? StagerSizing.Named.PIECES : StagerSizing.Named.REFERENCE,
                    OptionalInt.of(pieces ? 2 : 3),
                    OptionalInt.of(pieces ? 3 : 5),
                    OptionalInt.of(pieces ? 6 : 5),
                    OptionalInt.empty());
            return new PlacementSettings(
                    slots,
                    1 << 20,
                    streamFrom,
                    borrow,
                    stager,
                    true,
                    false,
                    new SlotAdaptation(2, 4, 0.8f, 1.2f, 1),
                    0,
                    null,
                    2);
        }
    }

    private static CudaOptions options() {
        return CudaOptions.defaults().withDeterministic(true).withVramLimit(1L << 30);
    }

    /** A prompt in one pass, in chunks that stream and in single steps that do not. */
    private static float[][] run(Model model, Path folder) {
        int[] prompt = GoldenLogits.read(folder).get(2).prompt();
        int length = Cards.real() ? Math.min(prompt.length, 50) : 6;
        int[] text = Arrays.copyOf(prompt, length);
        LogitsRunner runner = new LogitsRunner(model);
        int[] chunks = Cards.real() ? new int[] {64, 5, 1} : new int[] {4};
        float[][] all = new float[chunks.length * length][];
        int next = 0;
        for (int chunk : chunks) {
            runner.restart();
            for (float[] row : runner.append(text, chunk)) {
                all[next++] = row;
            }
        }
        return all;
    }

    private static float[][] resident(Path folder) {
        return resident(folder, options());
    }

    private static float[][] resident(Path folder, CudaOptions options) {
        return resident(folder, options, model -> run(model, folder));
    }

    /** What a model gives whose experts are its own on the card. */
    private static float[][] resident(Path folder, CudaOptions options, Function<Model, float[][]> use) {
        try (CudaBackend backend = Cards.open(options);
                ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, backend, ROOM)) {
            return use.apply(model);
        }
    }

    /** All experts on the card; activations of passes that stream lie behind them, in memory that prompts borrow. */
    private static float[][] lent(Path folder) {
        Setting setting = new Setting(1000, "none", false, false, true);
        try (CudaBackend backend = Cards.open(options());
                ModelFiles files = ModelFileOpener.open(folder);
                TieredExpertSource source = source(files, false)) {
            ArenaLayout layout = source.arenaLayout();
            PromptMemory memory = backend.promptMemory().orElseThrow();
            memory.separate(STREAM_FROM - 1, ROOM.maxRows());
            try (PinnedRanges pinned = PinnedRanges.none(layout);
                    DeferredPlacement deferred = DeferredPlacement.create(backend.device(), layout);
                    Model model = ModelLoader.load(files, backend, ROOM, deferred, null)) {
                for (int rows : Cards.real() ? new int[] {STREAM_FROM, 64} : new int[] {STREAM_FROM, 5}) {
                    memory.measure(rows);
                    LogitsRunner runner = new LogitsRunner(model);
                    runner.restart();
                    runner.append(new int[rows], rows);
                }
                memory.measured();
                PromptLoan loan = new PromptLoan(new ChunkSetting(OptionalInt.of(256), 256), memory::bytes, 0);
                try (DevicePlacement placement = ExpertTiers.place(
                        backend.device(),
                        source,
                        pinned,
                        ExpertProfile.even(layout),
                        setting.placement().withLoan(loan),
                        CARD_WITH_GUESSES)) {
                    deferred.become(placement);
                    memory.layOut(placement.chunk());
                    assertEquals(256, placement.chunk());
                    return run(model, folder);
                }
            }
        }
    }

    private static float[][] placed(Path folder, Setting setting) {
        return placed(folder, options(), setting, CARD_WITH_GUESSES);
    }

    private static float[][] placed(Path folder, CudaOptions options, Setting setting, MissSettings misses) {
        try (CudaBackend backend = Cards.open(options);
                ModelFiles files = ModelFileOpener.open(folder);
                TieredExpertSource source = source(files, setting.file())) {
            return placed(backend, files, source, setting, misses, (model, placement) -> {
                float[][] logits = run(model, folder);
                if (setting.slots() < source.arenaLayout().totalExperts() && setting.streamFrom() == STREAM_FROM) {
                    assertTrue(placement.scheduler().timing().passes() > 0, "nothing was streamed");
                }
                return logits;
            });
        }
    }

    /** What a model gives whose experts lie where the source and the setting say. */
    private static float[][] placed(
            CudaBackend backend,
            ModelFiles files,
            TieredExpertSource source,
            Setting setting,
            MissSettings misses,
            BiFunction<Model, DevicePlacement, float[][]> use) {
        ArenaLayout layout = source.arenaLayout();
        try (PinnedRanges pinned = pin(backend, source, PinSetting.parse(setting.pin()));
                DeferredPlacement deferred = DeferredPlacement.create(backend.device(), layout);
                Model model = ModelLoader.load(files, backend, ROOM, deferred, null);
                DevicePlacement placement = ExpertTiers.place(
                        backend.device(), source, pinned, ExpertProfile.even(layout), setting.placement(), misses)) {
            deferred.become(placement);
            return use.apply(model, placement);
        }
    }

    private static TieredExpertSource source(ModelFiles files, boolean file) {
        MappedExpertSource mapped =
                new MappedExpertSource(ExpertTensors.find(files, ModelConfigReader.hyperparameters(files)));
        if (file) {
            return TieredExpertSource.file(mapped);
        }
        ExpertArena arena = ExpertArena.allocate(ArenaLayout.of(mapped));
        ArenaLoader.fill(mapped, arena, 2, LoadProgress.NONE, layer -> {});
        return TieredExpertSource.resident(arena);
    }

    private static PinnedRanges pin(CudaBackend backend, TieredExpertSource source, PinSetting pin) {
        ExpertArena arena = source.arena();
        if (arena == null) {
            return PinnedRanges.none(source.arenaLayout());
        }
        return ArenaPinner.pin(
                backend.device(), arena, PinPlan.wholeLayers(arena.arenaLayout(), pin), pin, (layer, expert) -> false);
    }
}
