package dev.strata.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is known of drives, and what happens on file systems that refuse unbuffered reads. */
class DriveFactsTest {
    @TempDir
    Path folder;

    @Test
    void theQueueOfADiskOrOfThePartitionsDiskTells() throws IOException {
        Path disk = Files.createDirectories(folder.resolve("sda"));
        Files.createDirectories(disk.resolve("queue"));
        Files.writeString(disk.resolve("queue/rotational"), "1\n");
        Path partition = Files.createDirectories(disk.resolve("sda1"));
        assertEquals(Optional.of(true), Drives.rotational(disk));
        assertEquals(Optional.of(true), Drives.rotational(partition));
        assertEquals(Optional.empty(), Drives.rotational(folder.resolve("none")));
        Files.writeString(disk.resolve("queue/rotational"), "0\n");
        assertEquals(Optional.of(false), Drives.rotational(partition));
        assertEquals(259, Drives.major(259L << 8 | 7));
        assertEquals(7, Drives.minor(259L << 8 | 7));
    }

    @Test
    void readsOfTheProcessAreCounted() throws IOException {
        Path io = Files.writeString(folder.resolve("io"), "rchar: 1\nread_bytes: 4096\nwrite_bytes: 9\n");
        assertEquals(4096, DiskActivity.readBytes(io));
        Path stat = Files.writeString(folder.resolve("stat"), "77 (a name) x) S 1 2 3 4 5 6 7 8 42 10 11\n");
        assertEquals(42, DiskActivity.faults(stat));
        assertEquals(0, DiskActivity.faults(folder.resolve("none")));
        Path file = Files.write(folder.resolve("data"), new byte[8192]);
        long before = DiskActivity.figure();
        try (BlockFile opened = BlockFiles.buffered(file);
                Arena arena = Arena.ofConfined()) {
            assertEquals(8192, opened.read(arena.allocate(8192), 0));
        }
        assertTrue(DiskActivity.figure() >= before + 8192);
        assertTrue(OperatingSystem.current().forget(file).done());
        assertFalse(OperatingSystem.current().forget(folder.resolve("none")).done());
    }

    @Test
    void aFileSystemThatRefusesIsReadThroughTheCache() throws IOException {
        Path file = Path.of("/proc/cpuinfo");
        assumeTrue(Files.exists(file), "only Linux has /proc, which refuses unbuffered reads");
        try (BlockFile opened = BlockFiles.unbuffered(file);
                Arena arena = Arena.ofConfined()) {
            assertFalse(opened.isDirect());
            assertEquals(1, opened.alignment());
            MemorySegment bytes = arena.allocate(1000);
            assertTrue(opened.read(bytes.asSlice(1, 999), 3) > 0);
        }
    }
}
