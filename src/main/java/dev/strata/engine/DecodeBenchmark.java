package dev.strata.engine;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.strata.config.Options;
import dev.strata.decode.DevicePlacement;
import dev.strata.decode.PoolFigures;
import dev.strata.device.Backend;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.Picks;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.CacheReplay;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.RoutingTrace;
import dev.strata.format.ModelFiles;
import dev.strata.model.Model;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.ngram.NgramTable;
import dev.strata.synth.ModelSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decodes a made text under several sizes of the card and shares of the missed experts: the experts are brought into RAM once, the
 * model is put on the card anew for every arm. Every result stands beside the bound from rates that were measured in the same run.
 */
public final class DecodeBenchmark {
    private static final int RECENT = 32;
    private static final int SPEEDS = 3;

    private final Function<Options, Backend> backends;
    private final Options options;
    private final int warmUp;
    private final int steps;
    private final double locality;
    private final Set<Integer> hashes = new LinkedHashSet<>();
    private final MemorySegment results = MemorySegment.ofArray(new float[Picks.COLUMNS]);
    private int lastHash;

    /**
     * @param warmUp steps before those that count
     * @param steps steps that count
     * @param locality probability that a token is one of the last {@value #RECENT} again, which is what gives its experts another use soon
     */
    public DecodeBenchmark(Options options, int warmUp, int steps, double locality) {
        this(options, warmUp, steps, locality, Backends::create);
    }

    DecodeBenchmark(Options options, int warmUp, int steps, double locality, Function<Options, Backend> backends) {
        this.backends = backends;
        this.options = options;
        this.warmUp = warmUp;
        this.steps = steps;
        this.locality = locality;
    }

    /**
     * Runs all arms and hands every result out as soon as it is there.
     *
     * @return whether all arms gave the same logits where they must
     */
    public boolean run(List<DecodeArm> arms, Consumer<Map<String, Object>> results) {
        try (ModelFiles files = ModelSource.open(options.model());
                ExpertHome.Shared experts = ExpertHome.share(files, options)) {
            ExpertArena arena = experts.source().arena();
            if (arena == null) {
                throw new IllegalStateException("the benchmark needs all experts in RAM: they do not fit");
            }
            DecodeBound bound;
            try (Backend backend = backends.apply(options)) {
                Device device = device(backend);
                bound = DecodeBound.measure(device, arena, files);
                results.accept(bound.row(device.description()));
            }
            for (DecodeArm arm : arms) {
                results.accept(tried(files, experts, arm, bound));
            }
        }
        boolean same = hashes.size() <= 1;
        if (options.engine().deterministic()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("what", "identity");
            row.put("hashes", hashes.stream().map(Integer::toHexString).toList());
            row.put("same", same);
            results.accept(row);
        }
        return same || !options.engine().deterministic();
    }

    /** A card that is too small for the model costs its own row only. */
    private Map<String, Object> tried(ModelFiles files, ExpertHome.Shared experts, DecodeArm arm, DecodeBound bound) {
        try {
            return arm(files, experts, arm, bound);
        } catch (DeviceException refused) {
            if (refused.kind() != DeviceException.Kind.OUT_OF_MEMORY) {
                throw refused;
            }
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("what", "decode");
            row.put("arm", arm.name());
            row.put("refused", String.valueOf(refused.getMessage()));
            return row;
        }
    }

    private static Device device(Backend backend) {
        Device device = Backends.device(backend);
        if (device == null) {
            throw new DeviceException(
                    DeviceException.Kind.UNAVAILABLE, "the benchmark needs a card; " + backend.name() + " has none");
        }
        return device;
    }

    private Map<String, Object> arm(ModelFiles files, ExpertHome.Shared experts, DecodeArm arm, DecodeBound bound) {
        Options set = arm.apply(options);
        NgramTable table = ModelSession.ngramTable(files, set);
        try (Backend backend = backends.apply(set);
                ExpertHome.Loaded loaded = ExpertHome.load(
                        files,
                        backend,
                        set,
                        ModelSession.room(set.engine(), ModelConfigReader.read(files), warmUp + steps + 1),
                        table,
                        experts)) {
            return measure(loaded.model(), loaded.home().placement(), arm, bound);
        }
    }

    private Map<String, Object> measure(
            Model model, @Nullable DevicePlacement placement, DecodeArm arm, DecodeBound bound) {
        if (placement == null) {
            throw new IllegalStateException("the model was loaded without a placement");
        }
        int[] text = text(model.config().vocabulary(), warmUp + steps + 1);
        RoutingTrace trace = new RoutingTrace();
        placement.listen(trace::choose, trace::endStep);
        double[] rates = new double[SPEEDS];
        Marks before;
        Marks after;
        int[] pages = SingleText.pages(text.length);
        steps(model, text, 0, warmUp, pages);
        before = Marks.of(placement);
        for (int part = 0; part < SPEEDS; part++) {
            int from = warmUp + steps * part / SPEEDS;
            int end = warmUp + steps * (part + 1) / SPEEDS;
            long start = System.nanoTime();
            steps(model, text, from, end, pages);
            rates[part] = (end - from) * 1e9 / (System.nanoTime() - start);
        }
        after = Marks.of(placement);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(4L * model.config().vocabulary(), 64);
            model.forward(SingleText.batch(text, warmUp + steps, 1, pages), new int[] {0}, logits);
            lastHash = hash(logits, model.config().vocabulary());
            hashes.add(lastHash);
        }
        return row(placement, arm, bound, after.minus(before), rates, trace);
    }

    private Map<String, Object> row(
            DevicePlacement placement,
            DecodeArm arm,
            DecodeBound bound,
            Marks all,
            double[] rates,
            RoutingTrace trace) {
        ArenaLayout layout = placement.cache().layout();
        double[] sorted = rates.clone();
        Arrays.sort(sorted);
        double rate = sorted[SPEEDS / 2];
        double best = 1 / bound.seconds(all.hitBytes() / (double) steps, all.missBytes() / (double) steps, arm.share());
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("what", "decode");
        row.put("arm", arm.name());
        row.put("slots", placement.cache().slots());
        row.put("experts", layout.totalExperts());
        row.put("tok_per_s", rate);
        row.put("runs", Arrays.stream(rates).boxed().toList());
        row.put("bound_tok_per_s", best);
        row.put("part_of_bound", rate / best);
        row.put("hit_rate", all.hitBytes() / (double) Math.max(1, all.hitBytes() + all.missBytes()));
        row.put("missed_mb_a_step", all.missBytes() / 1e6 / steps);
        row.put("swaps", all.swaps());
        row.put("kept", all.kept());
        row.put("brought_ahead_a_step", placement.broughtAhead() / (double) (warmUp + steps));
        row.put("foreseen_a_step", placement.foreseen() / (double) (warmUp + steps));
        PoolFigures pool = placement.pool();
        if (pool != null && pool.meetings() > 0) {
            double meetings = pool.meetings();
            row.put("meetings_a_step", meetings / (warmUp + steps));
            row.put("experts_of_the_processor", pool.experts() / meetings);
            row.put("experts_of_the_link", pool.linkExperts() / meetings);
            row.put("processor_us", pool.nanos() / 1e3 / meetings);
            row.put("link_us", pool.linkNanos() / 1e3 / meetings);
            row.put("card_waited_us", pool.lateNanos() / 1e3 / meetings);
            row.put("host_plan_us", pool.planNanos() / 1e3 / meetings);
        }
        if (placement.cache().slots() < layout.totalExperts() && trace.steps() > warmUp) {
            CacheReplay replay = new CacheReplay(layout, trace, warmUp);
            CacheReplay.Result adaptive = replay.adaptive(
                    placement.cache().slots(), TierSettings.placement(options).adaptation());
            row.put("replayed_adaptive", adaptive.hitRate());
            row.put("replayed_swaps_a_step", adaptive.swaps());
            row.put("replayed_kept_a_step", adaptive.kept());
            row.put("replayed_static", replay.fixed(placement.cache().slots()));
            row.put("replayed_lru", replay.leastRecentlyUsed(placement.cache().slots()));
            row.put("replayed_optimal", replay.optimal(placement.cache().slots()));
        }
        row.put("hash", Integer.toHexString(lastHash));
        return row;
    }

    /** Counters of a placement at one moment. */
    private record Marks(long hitBytes, long missBytes, long swaps, long kept) {
        static Marks of(DevicePlacement placement) {
            return new Marks(
                    placement.usage().hitBytes(), placement.usage().missBytes(), placement.swapped(), placement.kept());
        }

        Marks minus(Marks other) {
            return new Marks(
                    hitBytes - other.hitBytes, missBytes - other.missBytes, swaps - other.swaps, kept - other.kept);
        }
    }

    /** As answers are written: no logits leave the card, and where a pass can wait behind another it is begun before that one has ended. */
    private void steps(Model model, int[] text, int from, int end, int[] pages) {
        int begun = from;
        for (int position = from; position < end; position++) {
            if (!model.foresees()) {
                model.forwardPicked(SingleText.batch(text, position, 1, pages), SingleText.LIKELIEST, results);
                continue;
            }
            while (begun < Math.min(end, position + 2)) {
                model.beginPicked(SingleText.batch(text, begun++, 1, pages), SingleText.LIKELIEST, false);
            }
            model.endPicked(1, results);
        }
    }

    private int[] text(int vocabulary, int length) {
        SplittableRandom random = new SplittableRandom(7);
        int[] text = new int[length];
        for (int i = 0; i < length; i++) {
            boolean again = i > 0 && random.nextDouble() < locality;
            text[i] = again ? text[i - 1 - random.nextInt(Math.min(i, RECENT))] : random.nextInt(vocabulary);
        }
        return text;
    }

    private static int hash(MemorySegment logits, int vocabulary) {
        int hash = 1;
        for (int token = 0; token < vocabulary; token++) {
            hash = 31 * hash + Float.floatToIntBits(logits.getAtIndex(JAVA_FLOAT, token));
        }
        return hash;
    }
}
