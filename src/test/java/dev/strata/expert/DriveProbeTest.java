package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The probe of the drive. */
class DriveProbeTest {
    @Test
    void aSmallFileIsNotMeasured(@TempDir Path folder) throws IOException {
        assertEquals(4, DriveProbe.measure(file(folder, 1 << 20), 32).depth());
        assertEquals(2, DriveProbe.measure(file(folder, 1 << 20), 2).depth());
    }

    @Test
    void aLargeFileGivesADepthAndARate(@TempDir Path folder) throws IOException {
        DriveProbe.Result result = DriveProbe.measure(file(folder, 80 << 20), 8);
        assertTrue(result.depth() >= 2 && result.depth() <= 8);
        assertTrue(result.bytesPerSecond() > 0);
        assertTrue(result.line().startsWith("drive of model.bin: "), result.line());
    }

    @Test
    void slowDrivesAreWarnedAbout() {
        assertTrue(
                new DriveProbe.Result(Path.of("m.gguf"), 2, 120e6, false).line().endsWith("will be slow"));
        assertTrue(
                new DriveProbe.Result(Path.of("m.gguf"), 2, 120e6, true).line().contains("rotational"));
        assertFalse(
                new DriveProbe.Result(Path.of("m.gguf"), 2, 3e9, true).line().contains("rotational"));
    }

    @Test
    void aLongQueueCostsNothingWhereNoDiskSpins() {
        assertEquals(16, new DriveProbe.Result(Path.of("m.gguf"), 2, 3e9, false).readers());
        assertEquals(32, new DriveProbe.Result(Path.of("m.gguf"), 32, 3e9, false).readers());
        assertEquals(2, new DriveProbe.Result(Path.of("m.gguf"), 2, 120e6, true).readers());
    }

    @Test
    void workIsComparedWithTheDriveRightBesideIt() {
        Iterator<Double> drive = List.of(2.0, 4.0, 2.0, 6.0).iterator();
        DriveComparison comparison = DriveComparison.start(drive::next);
        comparison.add(3);
        comparison.add(1.5);
        assertEquals(0.75, comparison.share());
        comparison.add(3.6);
        assertEquals(0.9, comparison.share(), 1e-12);
        assertEquals(0.5, comparison.least());
        assertEquals(1, comparison.most());
        assertEquals(3, comparison.alone());
    }

    private static Path file(Path folder, long bytes) throws IOException {
        Path file = folder.resolve("model.bin");
        try (RandomAccessFile sparse = new RandomAccessFile(file.toFile(), "rw")) {
            sparse.setLength(bytes);
        }
        return file;
    }
}
