package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.ExpertLayout;
import dev.strata.os.BlockFile;
import dev.strata.os.BlockFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Experts read from files, whatever the files look like and whatever goes wrong with them. */
class FileExpertSourceTest {
    private static final ArenaLayout MODEL = Layouts.mixed(12);

    @Test
    void anyLayoutAndAnyBatchGivesTheBlobs() {
        SplittableRandom random = new SplittableRandom(9);
        for (int round = 0; round < 60; round++) {
            int alignment = random.nextBoolean() ? 4096 : 1;
            Written written = new Written(random, alignment);
            written.files.forEach(
                    file -> file.shortening(count -> count > 9000 && random(round()) ? count - 4097 : count));
            try (FileExpertSource source = written.open(4);
                    Arena arena = Arena.ofShared()) {
                for (int batch = 0; batch < 8; batch++) {
                    int layer = random.nextInt(3);
                    int count = random.nextInt(1, 13);
                    int[] experts =
                            random.ints(0, 12).distinct().limit(count).sorted().toArray();
                    MemorySegment[] targets = new MemorySegment[count];
                    for (int i = 0; i < count; i++) {
                        targets[i] = arena.allocate(MODEL.stride(layer) + 8, 8);
                    }
                    source.copyBlobs(layer, experts, count, targets);
                    for (int i = 0; i < count; i++) {
                        assertTrue(PatternSource.holds(MODEL.layout(layer), layer, experts[i], targets[i]));
                    }
                }
                assertTrue(source.counters().bytes() >= source.counters().usefulBytes());
            }
        }
    }

    private int calls;

    private int round() {
        return calls++;
    }

    private static boolean random(int call) {
        return call % 3 == 0;
    }

    @Test
    void neighboursAreOneRequest() {
        Written written = Written.stacked(4096);
        try (FileExpertSource source = written.open(4);
                Arena arena = Arena.ofShared()) {
            read(source, 0, 8, arena);
            assertEquals(1, source.counters().requests(), "gate, up and down of eight neighbours lie close together");
            assertEquals(8 * MODEL.layout(0).blobBytes(), source.counters().usefulBytes());
            assertTrue(source.isUnbuffered());
            assertEquals(source.counters().bytes(), source.counters().directBytes());
        }
    }

    @Test
    void requestsStayBelowTheLargestAndFarPartsApart() {
        List<ReadPlan.Wanted> wanted = new ArrayList<>();
        MemorySegment none = MemorySegment.ofArray(new byte[0]);
        for (int i = 0; i < 40; i++) {
            wanted.add(new ReadPlan.Wanted(new FileSlice(0, i * 2_000_001L, 1_900_000), none, 0));
        }
        wanted.add(new ReadPlan.Wanted(new FileSlice(0, 200_000_000, 10), none, 0));
        wanted.add(new ReadPlan.Wanted(new FileSlice(1, 5, 10), none, 0));
        List<ReadPlan.Request> requests = ReadPlan.merge(wanted, new int[] {4096, 512});
        assertEquals(
                42,
                requests.stream().mapToInt(request -> request.parts().size()).sum());
        for (ReadPlan.Request request : requests) {
            assertTrue(request.bytes() <= ReadPlan.MOST_REQUEST + 2 * 4096);
            assertEquals(0, request.offset() % (request.file() == 0 ? 4096 : 512));
        }
        assertEquals(5, requests.size());
        assertEquals(512, requests.getLast().bytes());
    }

    @Test
    void requestsWaitInTheOrderOfTheirBatches() {
        PriorityQueue<QueuedRead> queue = new PriorityQueue<>();
        Queue<QueuedRead> ended = new ArrayDeque<>();
        List<String> served = new ArrayList<>();
        // Batches that begin at the same time put their requests into the queue one by one.
        for (String request : List.of("gate", "down")) {
            queue.add(new QueuedRead(16, 3, () -> () -> served.add("later " + request), ended));
            queue.add(new QueuedRead(8, 4, () -> () -> served.add("sooner " + request), ended));
            queue.add(new QueuedRead(0, 6, () -> () -> served.add("step " + request), ended));
            queue.add(new QueuedRead(0, 5, () -> () -> served.add("arena " + request), ended));
        }
        while (!queue.isEmpty()) {
            queue.remove().run();
        }
        ended.forEach(read -> read.resultNow().run());
        List<String> batches = served.stream()
                .map(name -> name.substring(0, name.indexOf(' ')))
                .toList();
        assertEquals(List.of("arena", "arena", "step", "step", "sooner", "sooner", "later", "later"), batches);
    }

    @Test
    void wholeBlocksGoStraightToWhereTheyBelong() throws IOException {
        byte[] bytes = new byte[4 << 20];
        new SplittableRandom(3).nextBytes(bytes);
        FakeFile file = new FakeFile(bytes, 4096);
        try (Arena arena = Arena.ofShared();
                BlockReader reader = BlockReader.of(List.of(Path.of("model.gguf")), List.of(file), 4)) {
            MemorySegment target = arena.allocate(3 << 20, 4096);
            int big = 300 << 10;
            reader.read(
                    List.of(
                            new ReadPlan.Wanted(new FileSlice(0, 8192, big), target, 4096),
                            new ReadPlan.Wanted(new FileSlice(0, 1 << 20, big), target, (1 << 20) + 100),
                            new ReadPlan.Wanted(new FileSlice(0, (2 << 20) + 4096, 4096), target, 2 << 20)),
                    0);
            assertEquals(2, reader.counters().requests(), "the others are near each other");
            MemorySegment all = MemorySegment.ofArray(bytes);
            assertEquals(-1, MemorySegment.mismatch(all, 8192, 8192 + big, target, 4096, 4096 + big));
            assertEquals(
                    -1,
                    MemorySegment.mismatch(
                            all, 1 << 20, (1 << 20) + big, target, (1 << 20) + 100, (1 << 20) + 100 + big));
            assertEquals(
                    -1,
                    MemorySegment.mismatch(all, (2 << 20) + 4096, (2 << 20) + 8192, target, 2 << 20, (2 << 20) + 4096));
            file.shortening(count -> Math.min(count, 5000));
            reader.read(List.of(new ReadPlan.Wanted(new FileSlice(0, 4096, big), target, 0)), 0);
            assertEquals(-1, MemorySegment.mismatch(all, 4096, 4096 + big, target, 0, big));
            ReadPlan.Request straight = ReadPlan.merge(
                            List.of(new ReadPlan.Wanted(new FileSlice(0, 4096, big), target, 0)), new int[] {4096})
                    .getFirst();
            assertTrue(straight.inPlace());
        }
    }

    @Test
    void aBatchIsOnItsWayBeforeAnyWait() {
        Written written = Written.scattered();
        try (FileExpertSource source = written.open(8);
                Arena arena = Arena.ofShared()) {
            written.files.getFirst().meet(6);
            read(source, 2, 6, arena);
            assertEquals(6, source.counters().requests());
            assertTrue(source.counters().queueDepth() >= 6);
        }
    }

    @Test
    void anInterruptedReaderWaitsForWhatWritesToItsMemory() {
        Written written = Written.scattered();
        try (FileExpertSource source = written.open(8);
                Arena arena = Arena.ofShared()) {
            Thread reader = Thread.currentThread();
            // No request ends before the interrupt was noticed, which is when it waits for the first one.
            written.files.forEach(file -> file.shortening(count -> {
                while (reader.isInterrupted()) {
                    Thread.onSpinWait();
                }
                return count;
            }));
            reader.interrupt();
            UncheckedIOException failure = assertThrows(UncheckedIOException.class, () -> read(source, 2, 6, arena));
            assertTrue(Thread.interrupted(), "the interrupt is passed on");
            assertTrue(String.valueOf(failure.getMessage()).contains("interrupted"));
            assertEquals(6, source.counters().requests(), "all requests have ended");
        }
    }

    @Test
    void memoryOfOneThreadIsFilledByThatThread() {
        try (FileExpertSource source = Written.scattered().open(2);
                Arena arena = Arena.ofConfined()) {
            read(source, 2, 6, arena);
        }
    }

    @Test
    void oneFailedReadIsTriedAgain() {
        Written written = Written.stacked(4096);
        try (FileExpertSource source = written.open(2);
                Arena arena = Arena.ofShared()) {
            written.files.getFirst().failing(0, 1);
            read(source, 1, 5, arena);
            assertEquals(1, source.counters().retries());
        }
    }

    @Test
    void aBrokenDriveIsReportedWithFileAndOffsetAndMayRecover() {
        Written written = Written.stacked(4096);
        try (FileExpertSource source = written.open(2);
                Arena arena = Arena.ofShared()) {
            written.files.getFirst().failing(0, 1000);
            UncheckedIOException failure = assertThrows(UncheckedIOException.class, () -> read(source, 1, 5, arena));
            String message = String.valueOf(failure.getMessage());
            assertTrue(
                    message.contains("part0.gguf") && message.contains("offset") && message.contains("EIO"), message);
            written.files.getFirst().failing(1000, 0);
            read(source, 1, 5, arena);
        }
    }

    @Test
    void aFileThatChangedOrShrankIsNeverServed() {
        Written written = Written.stacked(4096);
        try (FileExpertSource source = written.open(2);
                Arena arena = Arena.ofShared()) {
            read(source, 0, 2, arena);
            written.files.getFirst().touch();
            UncheckedIOException changed = assertThrows(UncheckedIOException.class, () -> read(source, 0, 2, arena));
            assertTrue(String.valueOf(changed.getMessage()).contains("changed while it was served"));
            written.files.getFirst().truncate(5000);
            assertThrows(UncheckedIOException.class, () -> read(source, 2, 2, arena));
        }
    }

    @Test
    void realFilesUnbufferedAndBuffered(@TempDir Path folder) throws IOException {
        Written written = new Written(new SplittableRandom(4), 1);
        List<Path> paths = written.write(folder);
        for (boolean unbuffered : new boolean[] {true, false}) {
            try (FileExpertSource source = FileExpertSource.open(paths, written.slices, unbuffered, 4);
                    Arena arena = Arena.ofShared()) {
                for (int layer = 0; layer < 3; layer++) {
                    read(source, layer, 12, arena);
                }
            }
        }
        UncheckedIOException missing = assertThrows(
                UncheckedIOException.class,
                () -> FileExpertSource.open(List.of(folder.resolve("none.gguf")), written.slices, false, 4));
        assertTrue(String.valueOf(missing.getMessage()).contains("none.gguf"));
    }

    @Test
    void aShrinkingFileIsNoticed(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("model.gguf");
        Files.write(file, new byte[20_000]);
        try (BlockFile opened = BlockFiles.unbuffered(file)) {
            Object before = opened.stamp();
            assertEquals(20_000, opened.size());
            Files.write(file, new byte[10_000]);
            assertTrue(!before.equals(opened.stamp()));
        }
    }

    /** Reads the first experts of a layer and checks them. */
    private static void read(FileExpertSource source, int layer, int count, Arena arena) {
        MemorySegment[] targets = new MemorySegment[count];
        for (int i = 0; i < count; i++) {
            targets[i] = arena.allocate(MODEL.stride(layer), 8);
        }
        source.copyBlobs(layer, 0, count, targets);
        for (int i = 0; i < count; i++) {
            assertTrue(PatternSource.holds(MODEL.layout(layer), layer, i, targets[i]));
        }
    }

    /** Files that hold the blobs of a model in pieces. */
    private static final class Written {
        private final List<FakeFile> files = new ArrayList<>();
        private final List<byte[]> contents = new ArrayList<>();
        private final List<BlobSlices> slices = new ArrayList<>();

        private Written() {}

        /** Gate, up and down of every expert at random places of two files with gaps. */
        Written(SplittableRandom random, int alignment) {
            byte[][] bytes = {new byte[4 << 20], new byte[4 << 20]};
            long[] end = {random.nextInt(1000), random.nextInt(5000)};
            for (int layer = 0; layer < 3; layer++) {
                List<List<FileSlice>> blobs = new ArrayList<>();
                for (int expert = 0; expert < 12; expert++) {
                    List<FileSlice> parts = new ArrayList<>();
                    long from = 0;
                    for (long size : parts(MODEL.layout(layer))) {
                        int file = random.nextInt(2);
                        put(bytes[file], end[file], layer, expert, from, size);
                        parts.add(new FileSlice(file, end[file], size));
                        end[file] += size + random.nextInt(3) * (long) random.nextInt(9000);
                        from += size;
                    }
                    blobs.add(parts);
                }
                slices.add(new BlobSlices(MODEL.layout(layer), blobs, List.of()));
            }
            for (int file = 0; file < 2; file++) {
                byte[] cut = java.util.Arrays.copyOf(bytes[file], (int) end[file]);
                contents.add(cut);
                files.add(new FakeFile(cut, alignment));
            }
        }

        /** Whole tensors one after the other, as a GGUF file has them. */
        static Written stacked(int alignment) {
            return laid(alignment, false);
        }

        /** Blobs far apart. */
        static Written scattered() {
            return laid(4096, true);
        }

        private static Written laid(int alignment, boolean apart) {
            Written written = new Written();
            byte[] bytes = new byte[apart ? 48 << 20 : 4 << 20];
            long end = 96;
            for (int layer = 0; layer < 3; layer++) {
                ExpertLayout layout = MODEL.layout(layer);
                List<List<FileSlice>> blobs = new ArrayList<>();
                if (apart) {
                    for (int expert = 0; expert < 12; expert++) {
                        end = layer * 16L * (1 << 20) + expert * 1_200_000L + 77;
                        put(bytes, end, layer, expert, 0, layout.blobBytes());
                        blobs.add(List.of(new FileSlice(0, end, layout.blobBytes())));
                    }
                } else {
                    List<Long> parts = parts(layout);
                    for (int expert = 0; expert < 12; expert++) {
                        blobs.add(new ArrayList<>());
                    }
                    long from = 0;
                    for (long size : parts) {
                        for (int expert = 0; expert < 12; expert++) {
                            put(bytes, end, layer, expert, from, size);
                            blobs.get(expert).add(new FileSlice(0, end, size));
                            end += size;
                        }
                        from += size;
                    }
                }
                written.slices.add(new BlobSlices(layout, blobs, List.of()));
            }
            written.contents.add(bytes);
            written.files.add(new FakeFile(bytes, alignment));
            return written;
        }

        private static List<Long> parts(ExpertLayout layout) {
            List<Long> parts = new ArrayList<>(List.of(layout.gateBytes(), layout.upBytes(), layout.downBytes()));
            if (layout.scaled()) {
                parts.add((long) ExpertLayout.TAIL);
            }
            return parts;
        }

        private static void put(byte[] bytes, long at, int layer, int expert, long from, long size) {
            MemorySegment blob = MemorySegment.ofArray(new byte[(int) MODEL.stride(layer)]);
            new PatternSource(MODEL).copyBlob(layer, expert, blob);
            MemorySegment.copy(blob, from, MemorySegment.ofArray(bytes), at, size);
        }

        FileExpertSource open(int depth) {
            List<Path> paths = new ArrayList<>();
            for (int i = 0; i < files.size(); i++) {
                paths.add(Path.of("part" + i + ".gguf"));
            }
            try {
                return FileExpertSource.over(paths, List.copyOf(files), slices, depth);
            } catch (IOException impossible) {
                throw new UncheckedIOException(impossible);
            }
        }

        List<Path> write(Path folder) throws IOException {
            List<Path> paths = new ArrayList<>();
            for (int i = 0; i < contents.size(); i++) {
                paths.add(Files.write(folder.resolve("part" + i + ".gguf"), contents.get(i)));
            }
            return paths;
        }
    }
}
