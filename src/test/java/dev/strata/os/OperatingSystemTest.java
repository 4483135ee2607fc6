package dev.strata.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of every system, native or portable, and what the native one adds. */
class OperatingSystemTest {
    static Stream<OperatingSystem> systems() {
        return Stream.of(OperatingSystem.current(), new PortableSystem("asked for by a test"));
    }

    @ParameterizedTest
    @MethodSource("systems")
    void mapsZeroedMemoryOfTheExactSize(OperatingSystem system) {
        for (long bytes : List.of(1L, 4096L, 5_000_001L)) {
            try (HostPages pages = system.map(bytes, "test")) {
                assertEquals(bytes, pages.bytes());
                assertEquals(0, pages.address() % HostPages.SMALL_PAGE);
                assertEquals(-1, pages.memory().mismatch(MemorySegment.ofArray(new byte[(int) bytes])));
                pages.memory().set(JAVA_BYTE, bytes - 1, (byte) 7);
                assertEquals(7, pages.memory().get(JAVA_BYTE, bytes - 1));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("systems")
    void aSecondDescriptorNamesTheSame(OperatingSystem system) throws IOException {
        OptionalInt second = system.duplicate(1);
        assertEquals(system.isAvailable(), second.isPresent());
        if (second.isPresent()) {
            Path opened = Path.of("/proc/self/fd/" + second.getAsInt());
            assertEquals(Files.readSymbolicLink(Path.of("/proc/self/fd/1")), Files.readSymbolicLink(opened));
            assertTrue(system.duplicate(1 << 20).isEmpty());
            assertEquals(0, new LibC().close(second.getAsInt()));
            assertFalse(Files.exists(opened, LinkOption.NOFOLLOW_LINKS));
        }
    }

    @ParameterizedTest
    @MethodSource("systems")
    void closedMemoryCannotBeTouched(OperatingSystem system) {
        HostPages pages = system.map(8192, "test");
        pages.close();
        pages.close();
        assertThrows(IllegalStateException.class, () -> pages.memory().get(JAVA_BYTE, 0));
    }

    @ParameterizedTest
    @MethodSource("systems")
    void refusalsSayWhy(OperatingSystem system) {
        if (system.isAvailable()) {
            assertEquals("", system.reason());
            assertEquals(system, system.require());
        } else {
            assertFalse(system.reason().isEmpty());
            assertThrows(UnsupportedOperationException.class, system::require);
            try (HostPages pages = system.map(4096, "test")) {
                assertFalse(system.lock(pages.memory()).done());
                assertEquals(system.reason(), system.bindThread(0).reason());
            }
        }
    }

    @Test
    void hugeMemoryIsAlignedAndCanBeLockedAndAdvised() {
        OperatingSystem system = OperatingSystem.current();
        assumeTrue(system.isAvailable(), system.reason());
        try (HostPages pages = system.map(8 << 20, "test")) {
            assertEquals(0, pages.address() % HostPages.HUGE_PAGE);
            pages.memory().fill((byte) 1);
            assertEquals(Outcome.DONE, system.advise(pages.memory().asSlice(100, 4 << 20), Advice.DONT_NEED));
            assertEquals(1, pages.memory().get(JAVA_BYTE, 99));
            assertEquals(0, pages.memory().get(JAVA_BYTE, 1 << 20));
            assertEquals(Outcome.DONE, system.advise(pages.memory().asSlice(1, 10), Advice.DONT_NEED));
            Outcome lock = system.lock(pages.memory().asSlice(0, 64 << 10));
            assertTrue(lock.done() || lock.reason().contains("mlock"), lock.reason());
        }
    }

    @Test
    void anImpossibleMappingNamesItsPurpose() {
        OperatingSystem system = OperatingSystem.current();
        assumeTrue(system.isAvailable(), system.reason());
        OutOfMemoryError error = assertThrows(OutOfMemoryError.class, () -> system.map(1L << 60, "expert arena"));
        String message = String.valueOf(error.getMessage());
        assertTrue(message.contains("expert arena") && message.contains("ENOMEM"), message);
    }

    @Test
    void threadsMayAskForShortTurns() throws InterruptedException {
        OperatingSystem system = OperatingSystem.current();
        Outcome[] outcomes = new Outcome[2];
        Thread platform = Thread.ofPlatform().start(() -> outcomes[0] = system.shortTurns());
        Thread virtual = Thread.ofVirtual().start(() -> outcomes[1] = system.shortTurns());
        platform.join();
        virtual.join();
        // Old kernels take the call and ignore it; a sandbox may refuse it and then says why.
        assertTrue(outcomes[0].done() || !outcomes[0].reason().isBlank());
        assertFalse(outcomes[1].done());
    }

    @Test
    void theCachedPagesOfAFileCanBeDropped(@TempDir Path folder) throws IOException {
        OperatingSystem system = OperatingSystem.current();
        Path file = Files.write(folder.resolve("read-from-the-drive"), new byte[100_000]);
        Outcome outcome = system.forget(file);
        assertTrue(outcome.done() == system.isAvailable(), outcome.reason());
        Outcome missing = system.forget(folder.resolve("missing"));
        assertFalse(missing.done());
        assertFalse(missing.reason().isBlank());
        assertEquals(100_000, Files.readAllBytes(file).length);
    }

    @Test
    void threadsCanBeBound() throws InterruptedException {
        OperatingSystem system = OperatingSystem.current();
        assumeTrue(system.isAvailable(), system.reason());
        int cpu = system.affinity().nextSetBit(0);
        BitSet[] seen = new BitSet[1];
        Thread thread = Thread.ofPlatform().start(() -> {
            if (system.bindThread(cpu).done()) {
                seen[0] = system.affinity();
            }
        });
        thread.join();
        assertEquals(1, seen[0].cardinality());
        assertTrue(seen[0].get(cpu));
        assertFalse(system.bindThread(new BitSet()).done());
    }

    @Test
    void transparentPagesAreReadFromTheKernelsSwitch(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("enabled");
        assertFalse(LinuxSystem.transparentPages(file));
        Files.writeString(file, "always madvise [never]\n");
        assertFalse(LinuxSystem.transparentPages(file));
        Files.writeString(file, "always [madvise] never\n");
        assertTrue(LinuxSystem.transparentPages(file));
    }

    @Test
    void anUnknownSystemFallsBack() {
        OperatingSystem system = SystemChoice.choose("Plan 9");
        assertFalse(system.isAvailable());
        assertTrue(system.reason().contains("Plan 9"));
    }
}
