package dev.strata.decode;

import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaLoader;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.DriveComparison;
import dev.strata.expert.DriveProbe;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.LayerGate;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.ReadCounters;
import dev.strata.os.HostPages;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Fills an arena from a drive, past the page cache, from experts as they lie in GGUF files, in safetensors (plain and NVFP4, which is
 * rearranged) and in packs. Every load stands between two times in which the drive alone is read as far, to as many readers. The first
 * fill of an arena also takes its pages from the system, which a virtual machine may have to take from its host: how fast they come is
 * told, and what the loads are that follow, to pages that are there.
 *
 * <p>Arguments: folder for the file, GiB of experts, reads that run at the same time, loads of each.
 */
final class ArenaLoadBench {
    private static final int REQUEST = 8 << 20;
    private static final int THREADS = Integer.getInteger("threads", 32);

    private final Path file;
    private final int depth;
    private final int loads;

    private ArenaLoadBench(Path file, int depth, int loads) {
        this.file = file;
        this.depth = depth;
        this.loads = loads;
    }

    public static void main(String[] arguments) throws IOException {
        ArenaLoadBench bench = new ArenaLoadBench(
                Path.of(arguments[0]).resolve("experts.bin"),
                Integer.parseInt(arguments[2]),
                Integer.parseInt(arguments[3]));
        ExpertFile layout = ExpertFile.of(Double.parseDouble(arguments[1]), 96, 2560, 640);
        System.out.printf(Locale.ROOT, "fresh memory: %.2f GB/s to %d threads%n", freshMemory(layout.bytes()), THREADS);
        try {
            layout.write(bench.file);
            System.out.println(
                    "| experts in | GiB/s | GB/s | of the drive | no request | fewer than wanted | mean MiB | processor s/GB |");
            System.out.println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
            bench.load("GGUF", layout.stacked());
            bench.load("safetensors", layout.separate());
            bench.load("safetensors, NVFP4", layout.nvfp4());
            bench.load("a pack", layout.packed());
        } finally {
            Files.deleteIfExists(bench.file);
        }
    }

    private void load(String name, List<BlobSlices> slices) {
        try (FileExpertSource source = FileExpertSource.open(List.of(file), slices, true, depth);
                ExpertArena arena = ExpertArena.allocate(ArenaLayout.of(source))) {
            long bytes = arena.arenaLayout().dataBytes();
            DriveComparison first = DriveComparison.start(() -> alone(bytes));
            row(name + ", first touch", bytes, fill(source, arena, first, 1), first);
            DriveComparison again = DriveComparison.start(() -> alone(bytes));
            row(name, bytes * loads, fill(source, arena, again, loads), again);
        }
    }

    private double alone(long bytes) {
        return DriveProbe.rate(file, REQUEST, depth, bytes);
    }

    private static Measured fill(FileExpertSource source, ExpertArena arena, DriveComparison comparison, int loads) {
        Measured all = new Measured();
        for (int i = 0; i < loads; i++) {
            ReadCounters.Snapshot read = all.add(
                    source.counters(),
                    () -> ArenaLoader.fill(source, arena, THREADS, LoadProgress.NONE, LayerGate.OPEN));
            comparison.add(read.bytes() * 1e9 / read.nanos());
        }
        return all;
    }

    private static void row(String name, long bytes, Measured all, DriveComparison comparison) {
        ReadCounters.Snapshot read = all.read();
        System.out.printf(
                Locale.ROOT,
                "| %s | %.2f | %.2f | %s | %.1f %% | %.1f %% | %.1f | %.2f |%n",
                name,
                bytes / all.seconds() / (1 << 30),
                read.bytes() / all.seconds() / 1e9,
                Measured.text(comparison),
                100 * read.idleShare(),
                100 * read.shallowShare(),
                read.bytes() / (double) read.requests() / (1 << 20),
                all.processor() * 1e9 / read.bytes());
    }

    /** How fast memory comes that the process did not have yet, in GB/s. */
    private static double freshMemory(long bytes) {
        try (HostPages pages = HostPages.allocate(bytes, "touched")) {
            long start = System.nanoTime();
            try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
                for (int i = 0; i < THREADS; i++) {
                    MemorySegment part = pages.memory().asSlice(bytes / THREADS * i, bytes / THREADS);
                    threads.execute(() -> part.fill((byte) 1));
                }
            }
            return bytes / (double) (System.nanoTime() - start);
        }
    }
}
