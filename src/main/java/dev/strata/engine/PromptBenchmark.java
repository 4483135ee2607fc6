package dev.strata.engine;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.strata.config.Options;
import dev.strata.decode.DevicePlacement;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.format.ModelFiles;
import dev.strata.memory.Bytes;
import dev.strata.model.Hyperparameters;
import dev.strata.model.Model;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.NgramTables;
import dev.strata.model.ngram.NgramTable;
import dev.strata.synth.ModelSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * Reads fresh prompts of a model under several settings of the memory tiers: the experts are brought into RAM once, the model is put on
 * the card anew for every arm. Every arm also gives a hash of its first-token logits and greedy tokens.
 */
public final class PromptBenchmark {
    private final Options options;
    private final int longPrompt;
    private final int shortPrompt;

    /**
     * @param longPrompt tokens of the two long prompts of an arm
     * @param shortPrompt tokens of its three short ones
     */
    public PromptBenchmark(Options options, int longPrompt, int shortPrompt) {
        this.options = options;
        this.longPrompt = longPrompt;
        this.shortPrompt = shortPrompt;
    }

    /** Runs all arms and hands every result out as soon as it is there. */
    public void run(List<PromptArm> arms, Consumer<Map<String, Object>> results) {
        try (ModelFiles files = ModelSource.open(options.model());
                ExpertHome.Shared experts = ExpertHome.share(files, options)) {
            for (PromptArm arm : arms) {
                results.accept(arm(files, experts, arm));
            }
        }
    }

    private Map<String, Object> arm(ModelFiles files, ExpertHome.Shared experts, PromptArm arm) {
        Options set = arm.apply(options);
        Hyperparameters sizes = ModelConfigReader.hyperparameters(files);
        NgramTable table = sizes.ngram() == null ? null : NgramTables.open(files, sizes.ngram(), TierSettings.ngram(set));
        int context = longPrompt + 64;
        try (Backend backend = Backends.create(set)) {
            int chunk = TierSettings.chunk(set, files, Backends.device(backend));
            ExpertHome.Loaded loaded = ExpertHome.load(
                    files,
                    backend,
                    set,
                    ModelSession.room(set.engine().withChunk(chunk), ModelConfigReader.read(files), context),
                    table,
                    experts);
            try {
                return measure(loaded, arm, chunk);
            } finally {
                loaded.model().close();
                loaded.home().close();
            }
        }
    }

    private Map<String, Object> measure(ExpertHome.Loaded loaded, PromptArm arm, int chunk) {
        Model model = loaded.model();
        DevicePlacement placement = loaded.home().placement();
        List<Double> longRates = new ArrayList<>();
        List<Double> shortRates = new ArrayList<>();
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("what", "prompt");
        row.put("arm", arm.name());
        row.put("chunk", chunk);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(4L * model.config().vocabulary(), 64);
            read(model, chunk, Math.min(chunk, longPrompt), 99, logits);
            for (int seed = 0; seed < 2; seed++) {
                longRates.add(longPrompt / read(model, chunk, longPrompt, seed, logits));
            }
            row.put("hash", Integer.toHexString(greedy(model, longPrompt, 1, logits)));
            for (int seed = 0; seed < 3; seed++) {
                shortRates.add(shortPrompt / read(model, chunk, shortPrompt, 10 + seed, logits));
            }
        }
        row.put("long_tok_per_s", longRates);
        row.put("short_tok_per_s", shortRates);
        if (placement != null) {
            row.put("slots", placement.cache().slots());
            row.put("experts", placement.cache().layout().totalExperts());
            row.put("blob_mib", placement.cache().layout().maxStride() / (double) Bytes.MIB);
            row.put("link_gb", placement.scheduler().linkBytes() / 1e9);
            row.put("timing", placement.scheduler().timing().line());
        }
        return row;
    }

    /** Seconds to read a fresh prompt up to its first token's logits. */
    private static double read(Model model, int chunk, int length, int seed, MemorySegment logits) {
        int[] text = text(model, length, seed);
        int[] pages = new int[Math.ceilDiv(length + 64, Batch.PAGE)];
        Arrays.setAll(pages, page -> page);
        model.clearSlot(0);
        long start = System.nanoTime();
        for (int past = 0; past < length; past += chunk) {
            int rows = Math.min(chunk, length - past);
            int[] wanted = past + rows == length ? new int[] {rows - 1} : new int[0];
            forward(model, text, past, rows, pages, wanted, logits);
        }
        return (System.nanoTime() - start) / 1e9;
    }

    /** Hash of the last logits and of 32 greedy tokens after them. */
    private static int greedy(Model model, int length, int seed, MemorySegment logits) {
        int[] text = Arrays.copyOf(text(model, length, seed), length + 33);
        int[] pages = new int[Math.ceilDiv(length + 64, Batch.PAGE)];
        Arrays.setAll(pages, page -> page);
        int hash = 1;
        for (int i = 0; i < 32; i++) {
            int best = 0;
            for (int token = 0; token < model.config().vocabulary(); token++) {
                float value = logits.getAtIndex(JAVA_FLOAT, token);
                if (i == 0) {
                    hash = 31 * hash + Float.floatToIntBits(value);
                }
                if (value > logits.getAtIndex(JAVA_FLOAT, best)) {
                    best = token;
                }
            }
            hash = 31 * hash + best;
            text[length + i] = best;
            forward(model, text, length + i, 1, pages, new int[] {0}, logits);
        }
        return hash;
    }

    private static void forward(
            Model model, int[] text, int past, int rows, int[] pages, int[] wanted, MemorySegment logits) {
        int[] history = Arrays.copyOfRange(text, Math.max(0, past - 8), past);
        Batch.Segment segment = new Batch.Segment(0, rows, past, pages, 0, history);
        model.forward(new Batch(Arrays.copyOfRange(text, past, past + rows), List.of(segment), false), wanted, logits);
    }

    private static int[] text(Model model, int length, int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] text = new int[length];
        Arrays.setAll(text, i -> random.nextInt(model.config().vocabulary()));
        return text;
    }
}
