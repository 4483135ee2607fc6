package dev.strata.engine;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.config.Options;
import dev.strata.decode.DevicePlacement;
import dev.strata.decode.ExpertTiers;
import dev.strata.decode.NoProducts;
import dev.strata.device.Backend;
import dev.strata.device.Device;
import dev.strata.device.ExpertLayout;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaPinner;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.PinPlan;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.QuantType;
import dev.strata.memory.Bytes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * How fast experts reach a card, without a model: an arena of random blobs streams through stager and ring by the very path that
 * prompts take, with nothing computed. Beside it the link's own rate by size of a copy, and the RAM's.
 */
public final class LinkBenchmark {
    private static final int ROWS = 8192;

    private final Options options;
    private final ArenaLayout layout;
    private final int passes;

    /**
     * @param layers layers of {@code experts} NVFP4 experts of 2560 x 640
     * @param passes streamed passes that count, after one that does not
     */
    public LinkBenchmark(Options options, int layers, int experts, int passes) {
        this.options = options;
        this.passes = passes;
        List<ExpertLayout> layouts = new ArrayList<>();
        for (int layer = 0; layer < layers; layer++) {
            layouts.add(new ExpertLayout(
                    layer, experts, 2560, 640, QuantType.NVFP4, QuantType.NVFP4, QuantType.NVFP4, true));
        }
        layout = new ArenaLayout(layouts);
    }

    /** Runs all arms and hands every result out as soon as it is there. */
    public void run(List<PromptArm> arms, Consumer<Map<String, Object>> results) {
        try (Backend backend = Backends.create(options)) {
            Device device = Backends.device(backend);
            if (device == null) {
                throw new IllegalStateException(
                        backend.description() + " has no memory of its own: use --backend cuda");
            }
            run(device, arms, results);
        }
    }

    void run(Device device, List<PromptArm> arms, Consumer<Map<String, Object>> results) {
        try (ExpertArena arena = ExpertArena.allocate(layout)) {
            long start = System.nanoTime();
            fill(arena);
            results.accept(Map.of(
                    "what", "arena",
                    "gib", layout.dataBytes() / (double) Bytes.GIB,
                    "pages", arena.pageKind().toString(),
                    "seconds", seconds(start),
                    "device", device.description()));
            LinkProbe.link(device, arena)
                    .forEach((bytes, rate) -> results.accept(Map.of("what", "link", "bytes", bytes, "gb_per_s", rate)));
            int threads = Runtime.getRuntime().availableProcessors();
            results.accept(Map.of("what", "ram", "threads", threads, "gb_per_s_copied", LinkProbe.ram(arena, threads)));
            for (PromptArm arm : arms) {
                results.accept(arm(device, arena, arm));
            }
        }
    }

    private static void fill(ExpertArena arena) {
        List<Thread> threads = new ArrayList<>();
        int count = Runtime.getRuntime().availableProcessors();
        long words = arena.arenaLayout().dataBytes() / 8;
        for (int t = 0; t < count; t++) {
            long from = words / count * t;
            long to = t == count - 1 ? words : words / count * (t + 1);
            threads.add(Thread.ofPlatform().start(() -> {
                SplittableRandom random = new SplittableRandom(from);
                for (long word = from; word < to; word++) {
                    arena.memory().setAtIndex(JAVA_LONG, word, random.nextLong());
                }
            }));
        }
        LinkProbe.join(threads);
    }

    private Map<String, Object> arm(Device device, ExpertArena arena, PromptArm arm) {
        Options set = arm.apply(options);
        ExpertProfile profile = ExpertProfile.even(layout);
        PinPlan plan = PinPlan.wholeLayers(layout, arm.pin());
        // The source is not closed: the arena outlives the arms.
        TieredExpertSource source = TieredExpertSource.resident(arena);
        try (PinnedRanges pinned = ArenaPinner.pin(device, arena, plan, arm.pin(), (layer, expert) -> false);
                DevicePlacement placement =
                        ExpertTiers.place(device, source, pinned, profile, TierSettings.placement(set));
                Stream stream = device.newStream("products")) {
            pass(placement, stream);
            long before = placement.scheduler().linkBytes();
            long start = System.nanoTime();
            for (int i = 0; i < passes; i++) {
                pass(placement, stream);
            }
            stream.synchronize();
            double seconds = seconds(start);
            long bytes = placement.scheduler().linkBytes() - before;
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("what", "stream");
            row.put("arm", arm.name());
            row.put("pinned_gib", pinned.bytes() / (double) Bytes.GIB);
            row.put("slots", placement.cache().slots());
            row.put("lent", placement.cache().lent());
            row.put("gb_per_pass", bytes / 1e9 / passes);
            row.put("seconds_per_pass", seconds / passes);
            row.put("gb_per_s", bytes / 1e9 / seconds);
            return row;
        }
    }

    private void pass(DevicePlacement placement, Stream stream) {
        placement.enter(ROWS, stream);
        placement.beginPass(ROWS, stream);
        try {
            for (int layer = 0; layer < layout.layers(); layer++) {
                placement.products(layer, new NoProducts(stream, ROWS));
            }
        } finally {
            placement.endPass(stream);
        }
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }
}
