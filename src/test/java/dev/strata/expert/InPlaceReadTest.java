package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.BlobParts;
import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Blobs whose parts are read from a file straight to their places, wherever the file has them. */
class InPlaceReadTest {
    /** Matrices of 71 to 139 KB, not whole blocks; the second layer has factors that lie in no file. */
    private static final ArenaLayout MODEL = new ArenaLayout(List.of(
            new ExpertLayout(0, 10, 512, 250, QuantType.Q8_0, QuantType.Q8_0, QuantType.F16, false),
            new ExpertLayout(1, 10, 512, 256, QuantType.Q8_0, QuantType.Q4_0, QuantType.Q8_0, true)));

    private static final SplittableRandom LAYOUTS = new SplittableRandom(11);
    private static final FileSources.Laid STACKED = FileSources.lay(MODEL, LAYOUTS, true, InPlaceReadTest::factors);
    private static final FileSources.Laid APART = FileSources.lay(MODEL, LAYOUTS, false, InPlaceReadTest::factors);

    /** Every blob as it is used. */
    private static final MemorySegment[][] BLOBS = new MemorySegment[MODEL.layers()][MODEL.experts(0)];

    static {
        for (int layer = 0; layer < BLOBS.length; layer++) {
            ExpertLayout layout = MODEL.layout(layer);
            for (int expert = 0; expert < layout.experts(); expert++) {
                MemorySegment blob = MemorySegment.ofArray(new byte[(int) MODEL.stride(layer)]);
                new PatternSource(MODEL).copyBlob(layer, expert, blob);
                if (layout.scaled()) {
                    List<float[]> factors = factors(layer);
                    BlobViews.writeTail(
                            layout, blob, factors.get(0)[expert], factors.get(1)[expert], factors.get(2)[expert]);
                }
                BLOBS[layer][expert] = blob;
            }
        }
    }

    private static List<float[]> factors(int layer) {
        List<float[]> factors = new ArrayList<>();
        for (int part = 0; part < 3; part++) {
            float[] one = new float[MODEL.experts(layer)];
            for (int expert = 0; expert < one.length; expert++) {
                one[expert] = 1 + layer + expert * 8f + part * 0.25f;
            }
            factors.add(one);
        }
        return factors;
    }

    /** Reads some experts in parts, puts them together and compares them with what a whole copy gives. */
    private static void check(FileExpertSource source, int layer, int[] experts, Arena arena) {
        int count = experts.length;
        MemorySegment[] targets = new MemorySegment[count];
        BlobParts[] parts = new BlobParts[count];
        for (int i = 0; i < count; i++) {
            targets[i] = arena.allocate(source.partsBytes(layer), 32);
            parts[i] = new BlobParts();
        }
        source.copyInParts(layer, experts, count, targets, parts, 0);
        ExpertLayout layout = MODEL.layout(layer);
        for (int i = 0; i < count; i++) {
            MemorySegment expected = BLOBS[layer][experts[i]];
            long at = 0;
            for (int part = 0; part < parts[i].count(); part++) {
                long place = parts[i].place(part);
                long bytes = parts[i].bytes(part);
                assertEquals(-1, MemorySegment.mismatch(expected, at, at + bytes, targets[i], place, place + bytes));
                assertEquals(place, parts[i].find(at));
                at += bytes;
            }
            assertEquals(layout.blobBytes(), at);
        }
    }

    @Test
    void anyLayoutBatchAndTroubleGivesTheParts() throws IOException {
        SplittableRandom random = new SplittableRandom(12);
        for (int round = 0; round < 12; round++) {
            FileSources.Laid laid = random.nextBoolean() ? STACKED : APART;
            FakeFile file = new FakeFile(laid.contents(), new int[] {4096, 512, 1}[round % 3]);
            int trouble = round % 4;
            int[] calls = {0};
            file.shortening(count -> trouble == 1 && calls[0]++ % 5 == 0 ? count - count / 3 : count);
            try (FileExpertSource source = laid.open(file, 3);
                    Arena arena = Arena.ofShared()) {
                for (int batch = 0; batch < 3; batch++) {
                    file.failing(random.nextInt(4), trouble == 2 ? 1 : 0);
                    int[] experts = random.ints(0, 10)
                            .distinct()
                            .limit(random.nextInt(1, 10))
                            .sorted()
                            .toArray();
                    check(source, (round + batch) % 2, experts, arena);
                }
                assertEquals(trouble % 3 == 0, source.counters().retries() == 0);
            }
        }
    }

    @Test
    void blocksMayBeLargerThanMatrices() throws IOException {
        try (FileExpertSource source = APART.open(new FakeFile(APART.contents(), 1 << 20), 3);
                Arena arena = Arena.ofShared()) {
            check(source, 0, new int[] {0, 1, 5, 9}, arena);
            check(source, 1, new int[] {2, 3}, arena);
        }
    }

    @Test
    void neighboursAreOneRequestForEachTensorAndNothingIsReadTwice() throws IOException {
        try (FileExpertSource source = STACKED.open(new FakeFile(STACKED.contents(), 4096), 3);
                Arena arena = Arena.ofShared()) {
            check(source, 0, new int[] {0, 1, 2, 3, 4, 5, 6, 7}, arena);
            assertEquals(3, source.counters().requests());
            assertTrue(source.counters().bytes() <= source.counters().usefulBytes() + 3 * 2 * 4096);
            // An expert that is not wanted between two that are is not read.
            long before = source.counters().bytes();
            check(source, 0, new int[] {2, 4}, arena);
            assertEquals(9, source.counters().requests());
            assertTrue(source.counters().bytes() - before <= 2 * MODEL.layout(0).blobBytes() + 6 * 2 * 4096);
        }
    }

    @Test
    void aBrokenDriveIsReportedWithFileAndOffset() throws IOException {
        FakeFile file = new FakeFile(STACKED.contents(), 4096);
        try (FileExpertSource source = STACKED.open(file, 3);
                Arena arena = Arena.ofShared()) {
            file.failing(0, Integer.MAX_VALUE);
            UncheckedIOException failure =
                    assertThrows(UncheckedIOException.class, () -> check(source, 0, new int[] {1, 2}, arena));
            String message = String.valueOf(failure.getMessage());
            assertTrue(
                    message.contains("model.gguf") && message.contains("offset") && message.contains("EIO"), message);
            file.failing(0, 0);
            check(source, 0, new int[] {1, 2}, arena);
        }
    }

    @Test
    void realFilesPastThePageCache(@TempDir Path folder) throws IOException {
        Path path = Files.write(folder.resolve("model.gguf"), STACKED.contents());
        for (boolean unbuffered : new boolean[] {true, false}) {
            try (FileExpertSource source = FileExpertSource.open(List.of(path), STACKED.slices(), unbuffered, 2);
                    Arena arena = Arena.ofShared()) {
                check(source, 0, new int[] {0, 1, 2, 3, 9}, arena);
                check(source, 1, new int[] {4, 5, 6, 9}, arena);
                assertEquals(0, source.counters().retries());
            }
        }
    }
}
