package dev.strata.decode;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import dev.strata.device.Stream;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.DriveProbe;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.FileReads;
import dev.strata.expert.FileSlice;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.QuantType;
import dev.strata.os.OperatingSystem;
import dev.strata.prefill.StagerSizing;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Experts from a real drive through stager and ring into a device in host memory that computes nothing, against what the drive gives by
 * itself to requests of the same size. The file has the tensors of a GGUF model (gate, up and down matrices of all experts of a layer,
 * stacked), or is read as if it were a pack.
 *
 * <p>Arguments: folder for the file, GiB of experts, reads that run at the same time, tokens of each of three answers (0: none).
 */
final class FileTierBench {
    private static final int EXPERTS = 96;
    private static final int USED = 10;
    private static final int ROWS = 8192;
    /** Passes of a prompt of 32K tokens in chunks of 8K, after one that touches the read buffers. */
    private static final int PASSES = 4;

    /** An answer that takes longer is cut, so that the whole table takes less than eight minutes. */
    private static final long ANSWER_NANOS = 45_000_000_000L;

    private static final int[] CEILING_KIB = {1024, 2048, 4096, 8192, 16_384, 32_768};

    private final Path file;
    private final List<BlobSlices> stacked = new ArrayList<>();
    private final List<BlobSlices> packed = new ArrayList<>();
    private final TreeMap<Integer, Double> ceiling = new TreeMap<>();
    private final long bytes;
    private final int depth;
    private final int answerTokens;

    private FileTierBench(Path folder, double gib, int depth, int answerTokens) {
        this.depth = depth;
        this.answerTokens = answerTokens;
        file = folder.resolve("experts.bin");
        ExpertLayout shape = shape(0);
        int layers = (int) Math.max(1, gib * (1L << 30) / shape.blobBytes() / EXPERTS);
        long end = 1344;
        long packEnd = 0;
        for (int layer = 0; layer < layers; layer++) {
            List<List<FileSlice>> apart = new ArrayList<>();
            List<List<FileSlice>> together = new ArrayList<>();
            for (int expert = 0; expert < EXPERTS; expert++) {
                apart.add(new ArrayList<>());
                together.add(List.of(new FileSlice(0, packEnd, shape.blobBytes())));
                packEnd += Math.ceilDiv(shape.blobBytes(), 64 << 10) * (64 << 10);
            }
            for (long size : new long[] {shape.gateBytes(), shape.upBytes(), shape.downBytes()}) {
                for (int expert = 0; expert < EXPERTS; expert++) {
                    apart.get(expert).add(new FileSlice(0, end, size));
                    end += size;
                }
            }
            stacked.add(new BlobSlices(shape(layer), apart, List.of()));
            packed.add(new BlobSlices(shape(layer), together, List.of()));
        }
        bytes = Math.max(end, packEnd);
    }

    private static ExpertLayout shape(int layer) {
        return new ExpertLayout(layer, EXPERTS, 2560, 640, QuantType.NVFP4, QuantType.NVFP4, QuantType.NVFP4, false);
    }

    public static void main(String[] arguments) throws IOException {
        FileTierBench bench = new FileTierBench(
                Path.of(arguments[0]),
                Double.parseDouble(arguments[1]),
                arguments.length > 2 ? Integer.parseInt(arguments[2]) : FileExpertSource.DEPTH,
                arguments.length > 3 ? Integer.parseInt(arguments[3]) : 600);
        try {
            bench.write();
            bench.run();
        } finally {
            Files.deleteIfExists(bench.file);
        }
    }

    private void run() throws IOException {
        System.out.println(
                "| what | tok/s | GB/s | of the drive | requests | mean MiB | read / unique | past the cache | processor s/GB |");
        System.out.println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        ceiling();
        prompt("mapped file, 8K chunks", false, 8, 0, true, stacked, 1);
        for (int batch : new int[] {8, 1, 4, 16}) {
            prompt("a third in RAM, batch " + batch, true, batch, 0.33, false, stacked, PASSES);
        }
        prompt("a third in RAM, batch 8, view kept", true, 8, 0.33, true, stacked, PASSES);
        prompt("a third in RAM, batch 8, 32K chunks", true, 8, 0.33, false, stacked, 1);
        prompt("nothing in RAM, batch 8", true, 8, 0, false, stacked, 2);
        prompt("nothing in RAM, batch 8, pack", true, 8, 0, false, packed, 2);
        ceiling();
        if (answerTokens > 0) {
            stream("answers, mapped", false, 8, 0, true, stacked, 0, answerTokens);
            stream("answers, half in RAM", true, 8, 0.5, false, stacked, 0, answerTokens);
        }
    }

    /** What the drive gives alone; measured before the arms, and again behind them so that a drift shows. */
    private void ceiling() {
        for (int kib : CEILING_KIB) {
            double before = processorSeconds();
            double rate = DriveProbe.rate(file, kib << 10, depth, Math.min(bytes, 2L << 30));
            ceiling.merge(kib, rate, Math::max);
            System.out.printf(
                    Locale.ROOT,
                    "| drive alone, %d readers | | %.2f | | | %.1f | | | %.2f |%n",
                    depth,
                    rate / 1e9,
                    kib / 1024.0,
                    (processorSeconds() - before) * 1e9 / Math.min(bytes, 2L << 30));
        }
    }

    /** What the process took of the processors; load of others does not show in it. */
    private static double processorSeconds() {
        return ProcessHandle.current()
                        .info()
                        .totalCpuDuration()
                        .orElse(java.time.Duration.ZERO)
                        .toMillis()
                / 1e3;
    }

    private void write() throws IOException {
        ByteBuffer block = ByteBuffer.allocateDirect(8 << 20);
        SplittableRandom random = new SplittableRandom(1);
        while (block.remaining() >= 8) {
            block.putLong(random.nextLong());
        }
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            for (long done = 0; done < bytes; done += block.limit()) {
                block.clear();
                // Blocks differ, so that no drive keeps one copy for all.
                block.putLong(0, done);
                block.limit((int) Math.min(block.limit(), bytes - done));
                while (block.hasRemaining()) {
                    channel.write(block);
                }
            }
            channel.force(true);
        }
    }

    /** @param passes of a prompt: a mapped file is cold only in the first, so all others are told by that one */
    private void prompt(
            String name, boolean unbuffered, int batch, double inRam, boolean view, List<BlobSlices> slices, int passes)
            throws IOException {
        stream(name, unbuffered, batch, inRam, view, slices, passes, 0);
    }

    private void stream(
            String name,
            boolean unbuffered,
            int batch,
            double inRam,
            boolean view,
            List<BlobSlices> slices,
            int passes,
            int answer)
            throws IOException {
        OperatingSystem.current().forget(file);
        try (Arena arena = Arena.ofShared();
                FileChannel channel = FileChannel.open(file)) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, view ? bytes : 1, arena);
            if (view) {
                mapped.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0);
            }
            FileExpertSource direct = FileExpertSource.open(List.of(file), slices, true, depth);
            ExpertSource rest = unbuffered ? direct : new Mapped(mapped);
            ArenaLayout layout = ArenaLayout.of(rest);
            ExpertProfile profile = ExpertProfile.even(layout);
            TieredExpertSource source = inRam > 0
                    ? TieredExpertSource.budget(
                            rest, profile.ranking(), (long) (inRam * layout.dataBytes()), 8, LoadProgress.NONE)
                    : TieredExpertSource.file(rest);
            passes(name, source, layout, profile, direct.counters(), batch, passes, answer);
            source.close();
            if (!unbuffered) {
                direct.close();
            }
        }
    }

    private void passes(
            String name,
            TieredExpertSource source,
            ArenaLayout layout,
            ExpertProfile profile,
            ReadCounters counters,
            int batch,
            int passes,
            int answer) {
        StagerSizing.Overrides overrides = new StagerSizing.Overrides(
                StagerSizing.StageResident.BY_SOURCE,
                StagerSizing.Named.DEFAULT,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.of(batch));
        PlacementSettings settings = new PlacementSettings(
                128, 1 << 20, 1024, true, false, overrides, true, false, SlotAdaptation.DEFAULTS, 0, null, 8);
        PinnedRanges none = PinnedRanges.none(
                source.arena() == null ? layout : source.arena().arenaLayout());
        try (FakeDevice device = FakeDevice.threaded(1L << 30).withoutCalls().withoutLargeCopies();
                DevicePlacement placement = ExpertTiers.place(device, source, none, profile, settings);
                Stream stream = device.newStream("products")) {
            NoProducts streams = new NoProducts(stream, ROWS);
            if (answer == 0) {
                if (source.rest() instanceof FileReads) {
                    // The first pass touches the read buffers, which a server does once.
                    pass(placement, layout, streams);
                }
                ReadCounters.Snapshot before = counters.snapshot();
                double processor = processorSeconds();
                long start = System.nanoTime();
                for (int pass = 0; pass < passes; pass++) {
                    if (pass + 1 < passes) {
                        placement.promptGoesOn();
                    }
                    pass(placement, layout, streams);
                }
                double seconds = (System.nanoTime() - start) / 1e9;
                row(
                        name,
                        name.contains("32K") ? PASSES * ROWS / seconds : passes * ROWS / seconds,
                        seconds,
                        processorSeconds() - processor,
                        counters.snapshot().since(before),
                        passes * fileBytes(placement, source, layout));
            } else {
                answers(name, device, placement, layout, answer, counters);
            }
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
            String name,
            FakeDevice device,
            DevicePlacement placement,
            ArenaLayout layout,
            int tokens,
            ReadCounters counters) {
        double[] bound = new double[EXPERTS];
        double sum = 0;
        for (int i = 0; i < EXPERTS; i++) {
            sum += 1.0 / (i + 1);
            bound[i] = sum;
        }
        double whole = sum;
        SplittableRandom random = new SplittableRandom(4);
        try (FakeSteps steps = new FakeSteps(device, placement, layout.layers(), USED, () -> {
            int expert = Arrays.binarySearch(bound, random.nextDouble() * whole);
            return Math.min(EXPERTS - 1, expert < 0 ? -expert - 1 : expert);
        })) {
            for (int answer = 1; answer <= 3; answer++) {
                ReadCounters.Snapshot before = counters.snapshot();
                double processor = processorSeconds();
                long start = System.nanoTime();
                int token = 0;
                while (token < tokens && System.nanoTime() - start < ANSWER_NANOS) {
                    steps.step();
                    token++;
                }
                double seconds = (System.nanoTime() - start) / 1e9;
                ReadCounters.Snapshot read = counters.snapshot().since(before);
                row(
                        String.format(Locale.ROOT, "%s, answer %d of %d tokens", name, answer, token),
                        token / seconds,
                        seconds,
                        processorSeconds() - processor,
                        read,
                        read.usefulBytes());
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

    private void row(
            String name, double tokens, double seconds, double processor, ReadCounters.Snapshot read, long unique) {
        if (read.requests() == 0) {
            // Nothing counts what answers read of a mapped file.
            String rate = unique == 0 ? "" : String.format(Locale.ROOT, "%.2f", unique / 1e9 / seconds);
            String cost = unique == 0 ? "" : String.format(Locale.ROOT, "%.2f", processor * 1e9 / unique);
            System.out.printf(Locale.ROOT, "| %s | %.1f | %s | | | | | 0 %% | %s |%n", name, tokens, rate, cost);
            return;
        }
        double mean = read.bytes() / (double) read.requests();
        double rate = read.bytes() / seconds;
        double alone = 0;
        double distance = Double.MAX_VALUE;
        for (Map.Entry<Integer, Double> one : ceiling.entrySet()) {
            double away = Math.abs(Math.log(mean / 1024 / one.getKey()));
            if (away < distance) {
                distance = away;
                alone = one.getValue();
            }
        }
        System.out.printf(
                Locale.ROOT,
                "| %s | %.1f | %.2f | %.0f %% | %d | %.1f | %.3f | %.0f %% | %.2f |%n",
                name,
                tokens,
                rate / 1e9,
                100 * rate / alone,
                read.requests(),
                mean / (1 << 20),
                read.bytes() / (double) unique,
                100.0 * read.directBytes() / read.bytes(),
                processor * 1e9 / read.bytes());
    }

    /** Blobs copied out of a mapping. */
    private final class Mapped implements ExpertSource {
        private final MemorySegment mapped;

        Mapped(MemorySegment mapped) {
            this.mapped = mapped;
        }

        @Override
        public int layers() {
            return stacked.size();
        }

        @Override
        public ExpertLayout layout(int layer) {
            return stacked.get(layer).layout();
        }

        @Override
        public @Nullable ExpertView view(int layer, int expert) {
            return null;
        }

        @Override
        public void copyBlob(int layer, int expert, MemorySegment target) {
            long at = 0;
            for (FileSlice slice : stacked.get(layer).slices().get(expert)) {
                MemorySegment.copy(mapped, slice.offset(), target, at, slice.bytes());
                at += slice.bytes();
            }
        }

        @Override
        public void close() {}
    }
}
