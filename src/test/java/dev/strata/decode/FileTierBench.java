package dev.strata.decode;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.FileSlice;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.QuantType;
import dev.strata.os.BlockFile;
import dev.strata.os.BlockFiles;
import dev.strata.os.HostPages;
import dev.strata.prefill.StagerSizing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Experts streamed from a real drive through stager and ring into a device in host memory that computes nothing, against what the drive
 * gives by itself. The file has the tensors of a GGUF model: gate, up and down matrices of all experts of a layer, stacked.
 *
 * <p>Arguments: folder for the file, GiB of experts, and reads that run at the same time.
 */
final class FileTierBench {
    private static final int EXPERTS = 96;
    private static final int ROWS = 8192;

    private final Path file;
    private final List<BlobSlices> slices = new ArrayList<>();
    private final long bytes;
    private final int depth;

    private FileTierBench(Path folder, double gib, int depth) {
        this.depth = depth;
        file = folder.resolve("experts.bin");
        ExpertLayout shape =
                new ExpertLayout(0, EXPERTS, 2560, 640, QuantType.NVFP4, QuantType.NVFP4, QuantType.NVFP4, false);
        int layers = (int) Math.max(1, gib * (1L << 30) / shape.blobBytes() / EXPERTS);
        long end = 1344;
        for (int layer = 0; layer < layers; layer++) {
            List<List<FileSlice>> blobs = new ArrayList<>();
            for (int expert = 0; expert < EXPERTS; expert++) {
                blobs.add(new ArrayList<>());
            }
            for (long size : new long[] {shape.gateBytes(), shape.upBytes(), shape.downBytes()}) {
                for (int expert = 0; expert < EXPERTS; expert++) {
                    blobs.get(expert).add(new FileSlice(0, end, size));
                    end += size;
                }
            }
            slices.add(new BlobSlices(
                    new ExpertLayout(
                            layer, EXPERTS, 2560, 640, QuantType.NVFP4, QuantType.NVFP4, QuantType.NVFP4, false),
                    blobs,
                    List.of()));
        }
        bytes = end;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        FileTierBench bench = new FileTierBench(
                Path.of(arguments[0]),
                Double.parseDouble(arguments[1]),
                arguments.length > 2 ? Integer.parseInt(arguments[2]) : FileExpertSource.DEPTH);
        bench.write();
        System.out.println("| what | GB/s | requests | mean MiB | read / unique |");
        System.out.println("| --- | ---: | ---: | ---: | ---: |");
        for (int threads : arguments.length < 4 ? new int[] {1, 4, 8, 32} : new int[] {}) {
            for (int mib : new int[] {2, 8, 32}) {
                bench.ceiling(mib, threads);
            }
        }
        bench.stream("mapped file, cold", false, 8, 0, true);
        for (int batch : new int[] {1, 4, 8, 16}) {
            bench.stream("unbuffered, batch " + batch, true, batch, 0, false);
        }
        bench.stream("unbuffered, batch 8, view kept", true, 8, 0, true);
        bench.stream("half in RAM, batch 8", true, 8, 0.5, false);
        if (arguments.length < 4) {
            Files.delete(bench.file);
        }
    }

    private void write() throws IOException {
        if (Files.exists(file) && Files.size(file) == bytes) {
            return;
        }
        ByteBuffer block = ByteBuffer.allocateDirect(8 << 20);
        SplittableRandom random = new SplittableRandom(1);
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            for (long done = 0; done < bytes; done += block.limit()) {
                block.clear();
                while (block.remaining() >= 8) {
                    block.putLong(random.nextLong());
                }
                block.flip();
                block.limit((int) Math.min(block.limit(), bytes - done));
                while (block.hasRemaining()) {
                    channel.write(block);
                }
            }
            channel.force(true);
        }
    }

    /** What the drive gives to {@code threads} readers of random aligned pieces. */
    private void ceiling(int mib, int threads) throws IOException, InterruptedException {
        int size = mib << 20;
        long budget = Math.min(bytes, 3L << 30);
        AtomicLong left = new AtomicLong(budget / size);
        long pieces = bytes / size;
        List<Thread> readers = new ArrayList<>();
        long start = System.nanoTime();
        try (BlockFile opened = BlockFiles.unbuffered(file)) {
            for (int t = 0; t < threads; t++) {
                SplittableRandom random = new SplittableRandom(t);
                readers.add(Thread.ofPlatform().start(() -> {
                    try (HostPages buffer = HostPages.allocate(size, "probe")) {
                        while (left.getAndDecrement() > 0) {
                            opened.read(buffer.memory(), random.nextLong(pieces) * size);
                        }
                    } catch (IOException failed) {
                        throw new UncheckedIOException(failed);
                    }
                }));
            }
            for (Thread reader : readers) {
                reader.join();
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        row("drive alone, " + mib + " MiB, " + threads + " readers", budget / 1e9 / seconds, budget / size, mib, 1);
    }

    private void stream(String name, boolean unbuffered, int batch, double inRam, boolean view)
            throws IOException, InterruptedException {
        dropCache();
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
            dropCache();
            pass(name, source, layout, profile, direct.counters(), unbuffered, batch);
            source.close();
            if (!unbuffered) {
                direct.close();
            }
        }
    }

    private static void pass(
            String name,
            TieredExpertSource source,
            ArenaLayout layout,
            ExpertProfile profile,
            ReadCounters counters,
            boolean unbuffered,
            int batch) {
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
        try (FakeDevice device = FakeDevice.threaded(1L << 30).withoutCalls();
                DevicePlacement placement = ExpertTiers.place(device, source, none, profile, settings);
                FakeStreams streams = new FakeStreams(device)) {
            long requests = counters.requests();
            long read = counters.bytes();
            long useful = counters.usefulBytes();
            long before = placement.scheduler().linkBytes();
            long start = System.nanoTime();
            placement.enter(ROWS, streams.stream());
            placement.beginPass(ROWS, streams.stream());
            for (int layer = 0; layer < layout.layers(); layer++) {
                placement.products(layer, streams);
            }
            placement.endPass(streams.stream());
            streams.stream().synchronize();
            double seconds = (System.nanoTime() - start) / 1e9;
            long streamed = placement.scheduler().linkBytes() - before;
            long count = counters.requests() - requests;
            row(
                    name,
                    streamed / 1e9 / seconds,
                    count,
                    count == 0 ? 0 : (counters.bytes() - read) / (double) count / (1 << 20),
                    unbuffered ? (counters.bytes() - read) / (double) Math.max(1, counters.usefulBytes() - useful) : 1);
        }
    }

    private static void row(String name, double rate, long requests, double mib, double ratio) {
        System.out.printf(Locale.ROOT, "| %s | %.2f | %d | %.1f | %.3f |%n", name, rate, requests, mib, ratio);
    }

    /** Lets the system forget the file's cached pages. */
    private void dropCache() throws IOException, InterruptedException {
        new ProcessBuilder("dd", "of=" + file, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none")
                .inheritIO()
                .start()
                .waitFor();
    }

    /** Blobs copied out of a mapping. */
    private final class Mapped implements ExpertSource {
        private final MemorySegment mapped;

        Mapped(MemorySegment mapped) {
            this.mapped = mapped;
        }

        @Override
        public int layers() {
            return slices.size();
        }

        @Override
        public ExpertLayout layout(int layer) {
            return slices.get(layer).layout();
        }

        @Override
        public @Nullable ExpertView view(int layer, int expert) {
            return null;
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
