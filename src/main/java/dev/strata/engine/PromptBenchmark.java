package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.decode.DevicePlacement;
import dev.strata.device.Backend;
import dev.strata.device.Device;
import dev.strata.expert.ExpertArena;
import dev.strata.format.ModelFiles;
import dev.strata.memory.Bytes;
import dev.strata.metrics.Median;
import dev.strata.model.Model;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.ngram.NgramTable;
import dev.strata.prefill.PrefillTiming;
import dev.strata.synth.ModelSource;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads fresh prompts of a model under several settings of the memory tiers: the experts are brought into RAM once, the model is put on
 * the card anew for every arm. Every arm also gives hashes of its first-token logits and greedy tokens; at the end ratios between arms
 * are held against the goals.
 */
public final class PromptBenchmark {
    private static final int LONG_READS = 2;
    private static final int SHORT_READS = 3;

    private final Options options;
    private final int longPrompt;
    private final List<Integer> shortPrompts;
    private final boolean hashesOnly;
    private final List<PromptGoals.Result> done = new ArrayList<>();
    private final Set<String> longHashes = new TreeSet<>();
    private final Set<String> shortHashes = new TreeSet<>();

    /**
     * @param longPrompt tokens of the two long prompts of an arm
     * @param shortPrompts tokens of its short ones, three of each length
     * @param hashesOnly whether each is read once only, for its hash
     */
    public PromptBenchmark(Options options, int longPrompt, List<Integer> shortPrompts, boolean hashesOnly) {
        this.options = options;
        this.longPrompt = longPrompt;
        this.shortPrompts = shortPrompts;
        this.hashesOnly = hashesOnly;
    }

    /**
     * Runs all arms and hands every result out as soon as it is there.
     *
     * @return whether the hashes that have to agree do: all of them in deterministic mode, else true
     */
    public boolean run(List<PromptArm> arms, Consumer<Map<String, Object>> results) {
        double linkRate = 0;
        try (ModelFiles files = ModelSource.open(options.model());
                ExpertHome.Shared experts = ExpertHome.share(files, options)) {
            ExpertArena arena = experts.source().arena();
            if (arena != null && !hashesOnly) {
                linkRate = probe(arena, results);
            }
            for (int i = 0; i < arms.size(); i++) {
                results.accept(arm(files, experts, arms.get(i), i % 2 == 0));
            }
        }
        if (linkRate > 0) {
            new PromptGoals(done, linkRate).rows().forEach(results);
        }
        boolean same = longHashes.size() <= 1 && shortHashes.size() <= 1;
        Map<String, Object> identity = new LinkedHashMap<>();
        identity.put("what", "identity");
        identity.put("deterministic", options.engine().deterministic());
        identity.put("arms", arms.size());
        identity.put("hashes_of_long_prompts", List.copyOf(longHashes));
        identity.put("hashes_of_short_prompts", List.copyOf(shortHashes));
        identity.put("same", same);
        results.accept(identity);
        return same || !options.engine().deterministic();
    }

    /** The link's and the RAM's own rates; returns the best one of the link. */
    private double probe(ExpertArena arena, Consumer<Map<String, Object>> results) {
        try (Backend backend = Backends.create(options)) {
            Device device = Backends.device(backend);
            if (device == null) {
                return 0;
            }
            Map<Long, Double> rates = LinkProbe.link(device, arena);
            int threads = Runtime.getRuntime().availableProcessors();
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("what", "probe");
            row.put("device", device.description());
            row.put("link_gb_per_s_by_bytes_of_a_copy", rates);
            row.put("ram_gb_per_s_copied", LinkProbe.ram(arena, threads));
            results.accept(row);
            return rates.values().stream()
                    .mapToDouble(Double::doubleValue)
                    .max()
                    .orElse(0);
        }
    }

    private Map<String, Object> arm(ModelFiles files, ExpertHome.Shared experts, PromptArm arm, boolean longFirst) {
        Options set = arm.apply(options);
        NgramTable rows = ModelSession.ngramTable(files, set);
        TimedNgramTable table = rows == null ? null : new TimedNgramTable(rows);
        int context = Math.max(longPrompt, Collections.max(shortPrompts)) + 64;
        try (Backend backend = Backends.create(set)) {
            int most = TierSettings.chunk(set, Backends.device(backend));
            try (ExpertHome.Loaded loaded = ExpertHome.load(
                            files,
                            backend,
                            set,
                            ModelSession.room(set.engine().withChunk(most), ModelConfigReader.read(files), context),
                            table,
                            experts);
                    Arena arena = Arena.ofConfined()) {
                Model model = loaded.model();
                int chunk = loaded.chunk() > 0 ? loaded.chunk() : most;
                PromptReader reader = new PromptReader(
                        model, chunk, arena.allocate(4L * model.config().vocabulary(), 64));
                return measure(reader, loaded.home().placement(), table, arm, chunk, longFirst);
            }
        }
    }

    private Map<String, Object> measure(
            PromptReader reader,
            @Nullable DevicePlacement placement,
            @Nullable TimedNgramTable table,
            PromptArm arm,
            int chunk,
            boolean longFirst) {
        int all = PromptReader.GREEDY;
        Prompts longs = new Prompts(reader, placement, table, longPrompt, 0, all, hashesOnly ? 1 : LONG_READS);
        List<Prompts> shorts = new ArrayList<>();
        for (int length : shortPrompts) {
            int answer = hashesOnly || shorts.isEmpty() ? all : 0;
            shorts.add(new Prompts(reader, placement, table, length, 10, answer, hashesOnly ? 1 : SHORT_READS));
        }
        if (!hashesOnly) {
            reader.read(Math.min(chunk, longPrompt), 99);
            shortPrompts.forEach(length -> reader.read(length, 99));
        }
        if (longFirst) {
            longs.run();
        }
        shorts.forEach(Prompts::run);
        if (!longFirst) {
            longs.run();
        }
        longHashes.add(longs.hash);
        String hashes = String.join(" ", shorts.stream().map(one -> one.hash).toList());
        shortHashes.add(hashes);
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("what", "prompt");
        row.put("arm", arm.name());
        row.put("chunk", chunk);
        row.put("long", longs.row());
        row.put("short", shorts.getFirst().row());
        if (shorts.size() > 1) {
            row.put("shorter", shorts.stream().skip(1).map(Prompts::row).toList());
        }
        if (placement != null) {
            row.put("slots", placement.cache().slots());
            row.put("experts", placement.cache().layout().totalExperts());
            row.put("blob_mib", placement.cache().layout().maxStride() / (double) Bytes.MIB);
        }
        done.add(new PromptGoals.Result(
                arm,
                chunk,
                longPrompt,
                longs.median(),
                shorts.getFirst().median(),
                (double) longs.uniqueBytes / longs.rates.length));
        return row;
    }

    /** Prompts of one length under one arm, the last of which is answered. */
    private static final class Prompts {
        private final PromptReader reader;
        private final @Nullable DevicePlacement placement;
        private final @Nullable TimedNgramTable table;
        private final int length;
        private final int firstSeed;
        private final int answer;
        private final double[] rates;
        private long uniqueBytes;
        private String timing = "";
        private double ngramMillis;
        private String hash = "";

        Prompts(
                PromptReader reader,
                @Nullable DevicePlacement placement,
                @Nullable TimedNgramTable table,
                int length,
                int firstSeed,
                int answer,
                int count) {
            this.reader = reader;
            this.placement = placement;
            this.table = table;
            this.length = length;
            this.firstSeed = firstSeed;
            this.answer = answer;
            rates = new double[count];
        }

        void run() {
            if (placement != null) {
                placement.scheduler().timing().restart();
            }
            if (table != null) {
                table.waitedMillis();
            }
            for (int i = 0; i < rates.length; i++) {
                rates[i] = reader.read(length, firstSeed + i);
            }
            ngramMillis = table == null ? 0 : table.waitedMillis() / rates.length;
            if (placement != null) {
                PrefillTiming told = placement.scheduler().timing();
                uniqueBytes = told.uniqueBytes();
                timing = told.passes() == 0 ? "" : told.line();
            }
            hash = reader.greedy(length, firstSeed + rates.length - 1, answer).text();
        }

        double median() {
            return Median.of(rates);
        }

        Map<String, Object> row() {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("tokens", length);
            row.put("tok_per_s", Arrays.stream(rates).boxed().toList());
            row.put("median", median());
            row.put("hash", hash);
            row.put("streamed_gb_a_prompt", uniqueBytes / 1e9 / rates.length);
            if (table != null) {
                row.put("ngram_rows_ms_a_prompt", ngramMillis);
            }
            row.put("timing", timing);
            return row;
        }
    }
}
