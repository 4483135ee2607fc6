package dev.strata.model.ngram;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.expert.FakeFile;
import dev.strata.format.QuantType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows of the n-gram table read from files, whatever the files look like and whatever goes wrong with them. */
class FileNgramTableTest {
    private static final int ELEMENTS = 24;
    private static final RowFormat FORMAT = RowFormat.of(QuantType.F32, ELEMENTS);
    private static final int SHARD_ROWS = 3000;

    private final List<FakeFile> files = new ArrayList<>();
    private final List<byte[]> contents = new ArrayList<>();
    private final List<FileNgramTable.Part> parts = new ArrayList<>();
    private final List<Path> paths = new ArrayList<>();

    /** Two shards in each file, the last one short, from odd offsets on. */
    private FileNgramTable table(int alignment) {
        for (int file = 0; file < 2; file++) {
            paths.add(Path.of("table" + file + ".bin"));
            int second = file == 0 ? SHARD_ROWS : 1234;
            int start = 77 + 13 * file;
            byte[] bytes = new byte[start + (SHARD_ROWS + second) * FORMAT.bytes()];
            MemorySegment memory = MemorySegment.ofArray(bytes);
            for (int row = 0; row < SHARD_ROWS + second; row++) {
                for (int i = 0; i < ELEMENTS; i++) {
                    memory.set(
                            JAVA_FLOAT_UNALIGNED,
                            start + (long) row * FORMAT.bytes() + 4L * i,
                            value(2L * SHARD_ROWS * file + row, i));
                }
            }
            parts.add(new FileNgramTable.Part(paths.get(file), start, (long) SHARD_ROWS * FORMAT.bytes()));
            parts.add(new FileNgramTable.Part(
                    paths.get(file), start + (long) SHARD_ROWS * FORMAT.bytes(), (long) second * FORMAT.bytes()));
            contents.add(bytes);
            files.add(new FakeFile(bytes, alignment));
        }
        try {
            return FileNgramTable.over(paths, List.copyOf(files), parts, FORMAT);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    private static float value(long row, int element) {
        return row * 100 + element;
    }

    private static void check(NgramTable table, long[] rows, Arena arena) {
        MemorySegment target = arena.allocate(4L * ELEMENTS * rows.length, 64);
        table.read(rows, rows.length, target);
        float[] expected = new float[ELEMENTS * rows.length];
        for (int i = 0; i < expected.length; i++) {
            expected[i] = value(rows[i / ELEMENTS], i % ELEMENTS);
        }
        assertArrayEquals(expected, target.toArray(JAVA_FLOAT));
    }

    @Test
    void anyRowsOfAnyFilesAreThere() {
        SplittableRandom random = new SplittableRandom(5);
        for (int alignment : new int[] {1, 512, 4096}) {
            files.clear();
            paths.clear();
            parts.clear();
            contents.clear();
            try (FileNgramTable table = table(alignment);
                    Arena shared = Arena.ofShared();
                    Arena own = Arena.ofConfined()) {
                assertEquals(3L * SHARD_ROWS + 1234, table.rows());
                for (int count : new int[] {1, 16, 300, 5000}) {
                    check(table, random.longs(count, 0, table.rows()).toArray(), shared);
                    check(table, random.longs(count, 0, table.rows()).toArray(), own);
                }
                check(table, new long[] {table.rows() - 1, 0, 0, SHARD_ROWS, SHARD_ROWS - 1}, shared);
                assertThrows(IllegalArgumentException.class, () -> check(table, new long[] {table.rows()}, shared));
            }
        }
    }

    @Test
    void rowsOfOneBlockAreOneRequestAndTheCacheKeepsThem() {
        try (FileNgramTable table = table(4096);
                Arena arena = Arena.ofShared()) {
            check(table, new long[] {5, 6, 9, 5}, arena);
            assertEquals(1L, table.figures().get("file_requests"));
            check(table, new long[] {9, 6, 5}, arena);
            assertEquals(1L, table.figures().get("file_requests"));
            assertEquals(3L, table.figures().get("rows_in_cache"));
            assertEquals(table.figures().get("file_bytes_read"), table.figures().get("file_bytes_unbuffered"));
            double waited = (double) Objects.requireNonNull(table.figures().get("waited_seconds"));
            assertTrue(waited > 0);
            table.readAhead(new long[] {77}, 1, arena.allocate(4L * table.rowElements()));
            assertEquals(waited, table.figures().get("waited_seconds"), "nobody waits for what is read ahead");
        }
    }

    @Test
    void manyReadsRunAtTheSameTime() {
        try (FileNgramTable table = table(1);
                Arena arena = Arena.ofShared()) {
            long[] rows = new long[40];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = i * 70L;
            }
            files.getFirst().meet(40);
            check(table, rows, arena);
            assertEquals(40, table.figures().get("file_queue_depth"));
        }
    }

    @Test
    void rowsOfAPromptAreFetchedAhead() {
        try (FileNgramTable table = table(4096);
                Arena arena = Arena.ofShared()) {
            long[] rows = new SplittableRandom(1).longs(4000, 0, table.rows()).toArray();
            table.expect(rows, rows.length);
            table.awaitAhead();
            long requests = (long) Objects.requireNonNull(table.figures().get("file_requests"));
            check(table, rows, arena);
            // The cache may have dropped a few of a full set.
            assertTrue(
                    (long) Objects.requireNonNull(table.figures().get("rows_in_cache")) > 3900,
                    table.figures().toString());
            assertTrue(requests > 0);
        }
    }

    @Test
    void aShortOrFailedReadIsTriedAgain() {
        try (FileNgramTable table = table(1);
                Arena arena = Arena.ofShared()) {
            files.getFirst().failing(0, 1);
            check(table, new long[] {1, 2, 3}, arena);
            files.getFirst().shortening(count -> count / 2);
            check(table, new long[] {500, 501, 502, 2000}, arena);
        }
    }

    @Test
    void aBrokenOrChangedFileIsReportedAndMayRecover() {
        try (FileNgramTable table = table(4096);
                Arena arena = Arena.ofShared()) {
            files.getFirst().failing(0, 1000);
            UncheckedIOException broken =
                    assertThrows(UncheckedIOException.class, () -> check(table, new long[] {1, 2000}, arena));
            String message = String.valueOf(broken.getMessage());
            assertTrue(message.contains("table0.bin") && message.contains("offset"), message);
            files.getFirst().failing(1000, 0);
            check(table, new long[] {1, 2000}, arena);
            files.getFirst().truncate(100);
            UncheckedIOException changed =
                    assertThrows(UncheckedIOException.class, () -> check(table, new long[] {2900}, arena));
            assertTrue(String.valueOf(changed.getMessage()).contains("changed while it was served"));
        }
    }

    @Test
    void realFilesAndTheProbeOfTheirDrive(@TempDir Path folder) throws IOException {
        table(1).close();
        for (int i = 0; i < paths.size(); i++) {
            Path file = Files.write(folder.resolve(paths.get(i)), contents.get(i));
            for (int part = 2 * i; part < 2 * i + 2; part++) {
                parts.set(
                        part,
                        new FileNgramTable.Part(
                                file, parts.get(part).offset(), parts.get(part).bytes()));
            }
        }
        try (FileNgramTable table = FileNgramTable.open(parts, FORMAT);
                Arena arena = Arena.ofShared()) {
            check(table, new SplittableRandom(2).longs(2000, 0, table.rows()).toArray(), arena);
        }
        RowDrive drive = RowDrive.measure(parts.getFirst().file(), 0, 200_000);
        assertTrue(drive.readsPerSecond() > 0);
        assertTrue(new RowDrive(Path.of("m.gguf"), 120, true).line(16).contains("rotational drive, 1000 tokens"));
        assertTrue(new RowDrive(Path.of("m.gguf"), 120, false).isSlow());
        assertTrue(RowDrive.isDoubtful(Optional.of(true), 1L << 30));
        assertFalse(RowDrive.isDoubtful(Optional.of(true), 1 << 20));
        assertFalse(RowDrive.isDoubtful(Optional.of(false), 1L << 30));
        assertFalse(RowDrive.isDoubtful(Optional.empty(), 1L << 30));
        assertEquals("n-gram table in m.gguf: 90000 reads/s", new RowDrive(Path.of("m.gguf"), 90_000, false).line(16));
    }
}
