package dev.strata.decode;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.Stream;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaPinner;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.DriveComparison;
import dev.strata.expert.DriveProbe;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.FileSlice;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.PinPlan;
import dev.strata.expert.PinSetting;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.os.OperatingSystem;
import dev.strata.prefill.StagerSizing;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.regex.Pattern;

/**
 * Experts from a real drive through stager and ring into a device in host memory that computes nothing, against what the drive gives by
 * itself to requests of the same size. The file has the tensors of a GGUF model (gate, up and down matrices of all experts of a layer,
 * stacked), or is read as if it were a pack.
 *
 * <p>Arguments: folder for the file, GiB of experts, reads that run at the same time, tokens of each of three answers (0: none), a regular
 * expression that chooses arms by their names (all).
 */
final class FileTierBench {
    private static final int USED = 10;
    private static final int ROWS = 8192;
    /** Passes of a prompt of 32K tokens in chunks of 8K, after one that touches the read buffers. */
    private static final int PASSES = 4;

    /** An answer that takes longer is cut, so that the whole table takes less than eight minutes. */
    private static final long ANSWER_NANOS = 45_000_000_000L;

    private static final int[] CEILING_KIB = {512, 1024, 4096, 8192, 16_384, 32_768};
    private static final long CEILING_BYTES = 1L << 30;
    /** Prompts of an arm that is compared with the drive, and of the one that the goal is for. */
    private static final int PROMPTS = 2;

    private static final int GOAL_PROMPTS = 5;

    private static final int BLOCK = 4096;

    private final Path file;
    private final ExpertFile whole;
    private final ExpertFile small;
    private final int depth;
    private final Pattern chosen;

    /**
     * One line of the table.
     *
     * @param batch blobs of a claim; 0: out of the mapped file
     * @param inRam share of the experts that lies in RAM
     * @param registered whether the device reads those where they lie
     * @param view whether the file is mapped besides
     * @param readers requests at the same time
     * @param prompts how many are read, in turns with the drive alone
     */
    private record Arm(
            String name,
            ExpertFile file,
            boolean pack,
            int batch,
            double inRam,
            boolean registered,
            boolean view,
            int readers,
            int passes,
            int prompts,
            int tokens) {
        static Arm of(String name, ExpertFile file, int batch, int readers) {
            return new Arm(name, file, false, batch, 0, true, false, readers, 2, PROMPTS, 0);
        }

        Arm packed() {
            return new Arm(name, file, true, batch, inRam, registered, view, readers, passes, prompts, tokens);
        }

        /** With that share of the experts in RAM, over a whole prompt. */
        Arm tiered(double share) {
            return new Arm(name, file, pack, batch, share, registered, view, readers, PASSES, prompts, tokens);
        }

        Arm unregistered() {
            return new Arm(name, file, pack, batch, inRam, false, view, readers, passes, prompts, tokens);
        }

        Arm viewed() {
            return new Arm(name, file, pack, batch, inRam, registered, true, readers, passes, prompts, tokens);
        }

        Arm passes(int count) {
            return new Arm(name, file, pack, batch, inRam, registered, view, readers, count, prompts, tokens);
        }

        Arm prompts(int count) {
            return new Arm(name, file, pack, batch, inRam, registered, view, readers, passes, count, tokens);
        }

        Arm answers(int count) {
            return new Arm(name, file, pack, batch, inRam, registered, view, readers, passes, prompts, count);
        }

        List<BlobSlices> slices() {
            return pack ? file.packed() : file.stacked();
        }
    }

    private FileTierBench(Path folder, double gib, int depth, Pattern chosen) {
        this.depth = depth;
        this.chosen = chosen;
        file = folder.resolve("experts.bin");
        whole = ExpertFile.of(gib, 96, 2560, 640);
        small = ExpertFile.of(gib / 4, 512, 512, 256);
    }

    public static void main(String[] arguments) throws IOException {
        FileTierBench bench = new FileTierBench(
                Path.of(arguments[0]),
                Double.parseDouble(arguments[1]),
                arguments.length > 2 ? Integer.parseInt(arguments[2]) : FileExpertSource.DEPTH,
                Pattern.compile(arguments.length > 4 ? arguments[4] : ""));
        try {
            (bench.whole.bytes() > bench.small.bytes() ? bench.whole : bench.small).write(bench.file);
            bench.run(arguments.length > 3 ? Integer.parseInt(arguments[3]) : 600);
        } finally {
            Files.deleteIfExists(bench.file);
        }
    }

    private void run(int answerTokens) throws IOException {
        System.out.println(
                "| what | tok/s | GB/s | of the drive | no request | fewer than wanted | at once | mean MiB | read / unique | past the cache | processor s/GB |");
        System.out.println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        ceiling();
        for (Arm arm : arms(answerTokens)) {
            if (chosen.matcher(arm.name).find()) {
                stream(arm);
            }
        }
    }

    private List<Arm> arms(int answerTokens) {
        List<Arm> arms = new ArrayList<>();
        arms.add(third(8).prompts(GOAL_PROMPTS));
        for (int batch : new int[] {1, 4, 16}) {
            arms.add(third(batch));
        }
        arms.add(Arm.of("nothing in RAM, batch 8", whole, 8, depth));
        arms.add(Arm.of("nothing in RAM, batch 8, pack", whole, 8, depth).packed());
        arms.add(Arm.of("a third in RAM, batch 8, view kept", whole, 8, depth)
                .tiered(0.33)
                .viewed());
        arms.add(Arm.of("a third in RAM, not registered, batch 8", whole, 8, depth)
                .tiered(0.33)
                .unregistered());
        arms.add(Arm.of("a third in RAM, batch 8, 32K chunks", whole, 8, depth)
                .tiered(0.33)
                .passes(1));
        arms.add(Arm.of("mapped file, 8K chunks", whole, 0, depth).viewed().passes(1));
        // Where requests are the limit.
        for (int batch : new int[] {1, 8, 1, 8}) {
            arms.add(Arm.of("one read at a time, batch " + batch, whole, batch, 1)
                    .passes(1));
        }
        for (int batch : new int[] {1, 8}) {
            arms.add(Arm.of("one read at a time, small blobs, batch " + batch, small, batch, 1)
                    .passes(1));
            arms.add(Arm.of("small blobs, batch " + batch, small, batch, depth).passes(1));
        }
        if (answerTokens > 0) {
            arms.add(Arm.of("answers, mapped", whole, 0, depth).viewed().answers(answerTokens));
            arms.add(Arm.of("answers, half in RAM", whole, 8, depth).tiered(0.5).answers(answerTokens));
        }
        return arms;
    }

    private Arm third(int batch) {
        return Arm.of("a third in RAM, batch " + batch, whole, batch, depth).tiered(0.33);
    }

    /** What the drive gives alone. */
    private void ceiling() {
        for (int kib : CEILING_KIB) {
            double before = Measured.processorSeconds();
            double rate = DriveProbe.rate(file, kib << 10, depth, CEILING_BYTES);
            System.out.printf(
                    Locale.ROOT,
                    "| drive alone, %d readers | | %.2f | | | | | %.1f | | | %.2f |%n",
                    depth,
                    rate / 1e9,
                    kib / 1024.0,
                    (Measured.processorSeconds() - before) * 1e9 / CEILING_BYTES);
        }
    }

    private void stream(Arm arm) throws IOException {
        OperatingSystem.current().forget(file);
        List<BlobSlices> slices = arm.slices();
        try (Arena arena = Arena.ofShared();
                FileChannel channel = FileChannel.open(file)) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, arm.view ? whole.bytes() : 1, arena);
            if (arm.view) {
                mapped.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0);
            }
            try (FileExpertSource direct = FileExpertSource.open(List.of(file), slices, true, arm.readers)) {
                ExpertSource rest = arm.batch == 0 ? new MappedSlices(mapped, slices) : direct;
                ArenaLayout layout = ArenaLayout.of(rest);
                ExpertProfile profile = ExpertProfile.even(layout);
                TieredExpertSource source = arm.inRam > 0
                        ? TieredExpertSource.budget(
                                rest, profile.ranking(), (long) (arm.inRam * layout.dataBytes()), 8, LoadProgress.NONE)
                        : TieredExpertSource.file(rest);
                place(arm, source, profile, direct.counters());
                source.close();
            }
        }
    }

    private void place(Arm arm, TieredExpertSource source, ExpertProfile profile, ReadCounters counters) {
        StagerSizing.Overrides overrides = new StagerSizing.Overrides(
                StagerSizing.StageResident.BY_SOURCE,
                StagerSizing.Named.DEFAULT,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.of(Math.max(1, arm.batch)));
        PlacementSettings settings = new PlacementSettings(
                128, 1 << 20, 1024, true, overrides, true, false, SlotAdaptation.DEFAULTS, 0, null, 8);
        try (FakeDevice device = FakeDevice.threaded(1L << 30).withoutCalls().withoutLargeCopies();
                PinnedRanges pinned = pin(arm, device, source);
                DevicePlacement placement = ExpertTiers.place(device, source, pinned, profile, settings)) {
            if (arm.tokens == 0) {
                prompt(arm, device, source, placement, counters);
            } else {
                answers(arm, device, placement, source.arenaLayout(), counters);
            }
        }
    }

    private static PinnedRanges pin(Arm arm, FakeDevice device, TieredExpertSource source) {
        ExpertArena arena = source.arena();
        if (arena == null || !arm.registered) {
            return PinnedRanges.none(arena == null ? source.arenaLayout() : arena.arenaLayout());
        }
        PinSetting all = PinSetting.parse(null);
        return ArenaPinner.pin(
                device, arena, PinPlan.wholeLayers(arena.arenaLayout(), all), all, (layer, expert) -> false);
    }

    /** A mapped file is cold only in the first pass; others are told without theirs, which touches the read buffers, as a server does once. */
    private void prompt(
            Arm arm, FakeDevice device, TieredExpertSource source, DevicePlacement placement, ReadCounters counters) {
        ArenaLayout layout = source.arenaLayout();
        try (Stream stream = device.newStream("products")) {
            NoProducts streams = new NoProducts(stream, ROWS);
            ReadCounters.Snapshot before = counters.snapshot();
            if (arm.batch > 0) {
                pass(placement, layout, streams);
            }
            ReadCounters.Snapshot first = counters.snapshot().since(before);
            boolean compared = first.requests() > 0 && arm.readers == depth;
            int prompts = compared ? arm.prompts : 1;
            DriveComparison comparison = DriveComparison.start(() -> compared ? alone(first, arm.passes) : 0);
            Measured all = new Measured();
            for (int i = 0; i < prompts; i++) {
                ReadCounters.Snapshot read = all.add(counters, () -> passes(arm, placement, layout, streams));
                comparison.add(read.bytes() * 1e9 / read.nanos());
            }
            int chunk = arm.name.contains("32K") ? PASSES * ROWS : ROWS;
            long unique = (long) prompts * arm.passes * fileBytes(placement, source, layout);
            row(
                    arm.name,
                    (double) prompts * arm.passes * chunk,
                    all,
                    unique,
                    compared ? Measured.text(comparison) : "");
        }
    }

    /**
     * What the drive gives alone now to as many bytes as a prompt takes, by requests of the same size. As many, since a drive behind a
     * limit of bytes a second gives more in the first tenths of a second.
     */
    private double alone(ReadCounters.Snapshot pass, int passes) {
        int blocks = (int) Math.max(1, pass.bytes() / pass.requests() / BLOCK);
        return DriveProbe.rate(file, blocks * BLOCK, depth, passes * pass.bytes());
    }

    private static void passes(Arm arm, DevicePlacement placement, ArenaLayout layout, NoProducts streams) {
        for (int pass = 0; pass < arm.passes; pass++) {
            if (pass + 1 < arm.passes) {
                placement.promptGoesOn();
            }
            pass(placement, layout, streams);
        }
    }

    private static void pass(DevicePlacement placement, ArenaLayout layout, NoProducts streams) {
        placement.enter(ROWS, streams.stream());
        placement.beginPass(ROWS, streams.stream());
        for (int layer = 0; layer < layout.layers(); layer++) {
            placement.products(layer, streams);
        }
        placement.endPass(streams.stream());
        streams.stream().synchronize();
    }

    /** Steps whose experts are chosen about as Zipf's law has it, low numbers (those in RAM) first. */
    private void answers(
            Arm arm, FakeDevice device, DevicePlacement placement, ArenaLayout layout, ReadCounters counters) {
        int experts = layout.experts(0);
        double[] bound = new double[experts];
        double sum = 0;
        for (int i = 0; i < experts; i++) {
            sum += 1.0 / (i + 1);
            bound[i] = sum;
        }
        double all = sum;
        SplittableRandom random = new SplittableRandom(4);
        try (FakeSteps steps = new FakeSteps(device, placement, layout.layers(), USED, () -> {
            int expert = Arrays.binarySearch(bound, random.nextDouble() * all);
            return Math.min(experts - 1, expert < 0 ? -expert - 1 : expert);
        })) {
            for (int answer = 1; answer <= 3; answer++) {
                int[] token = {0};
                Measured one = new Measured();
                ReadCounters.Snapshot read = one.add(counters, () -> {
                    long start = System.nanoTime();
                    while (token[0] < arm.tokens && System.nanoTime() - start < ANSWER_NANOS) {
                        steps.step();
                        token[0]++;
                    }
                });
                String name = String.format(Locale.ROOT, "%s, answer %d of %d tokens", arm.name, answer, token[0]);
                row(name, token[0], one, read.usefulBytes(), "");
            }
        }
    }

    /** Bytes that a pass takes from the file: experts neither in RAM nor in a slot. */
    private static long fileBytes(DevicePlacement placement, TieredExpertSource source, ArenaLayout layout) {
        long total = 0;
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                if (source.place(layer, expert) < 0 && !placement.cache().isResident(layer, expert)) {
                    total += layout.layout(layer).blobBytes();
                }
            }
        }
        return total;
    }

    private static void row(String name, double tokens, Measured of, long unique, String share) {
        ReadCounters.Snapshot read = of.read();
        if (read.requests() == 0) {
            // Nothing counts what answers read of a mapped file.
            String rate = unique == 0 ? "" : String.format(Locale.ROOT, "%.2f", unique / 1e9 / of.seconds());
            String cost = unique == 0 ? "" : String.format(Locale.ROOT, "%.2f", of.processor() * 1e9 / unique);
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.1f | %s | | | | | | | 0 %% | %s |%n",
                    name,
                    tokens / of.seconds(),
                    rate,
                    cost);
            return;
        }
        System.out.printf(
                Locale.ROOT,
                "| %s | %.1f | %.2f | %s | %.1f %% | %.1f %% | %.1f | %.1f | %.3f | %.0f %% | %.2f |%n",
                name,
                tokens / of.seconds(),
                read.bytes() / of.seconds() / 1e9,
                share,
                100 * read.idleShare(),
                100 * read.shallowShare(),
                read.depth(),
                read.bytes() / (double) read.requests() / (1 << 20),
                read.bytes() / (double) unique,
                100.0 * read.directBytes() / read.bytes(),
                of.processor() * 1e9 / read.bytes());
    }

    /** Blobs copied out of a mapping. */
    private record MappedSlices(MemorySegment mapped, List<BlobSlices> slices) implements ExpertSource {
        @Override
        public int layers() {
            return slices.size();
        }

        @Override
        public ExpertLayout layout(int layer) {
            return slices.get(layer).layout();
        }

        @Override
        public void copyBlob(int layer, int expert, MemorySegment target) {
            long at = 0;
            for (FileSlice slice : slices.get(layer).slices().get(expert)) {
                MemorySegment.copy(mapped, slice.offset(), target, at, slice.bytes());
                at += slice.bytes();
            }
        }

        @Override
        public void close() {}
    }
}
