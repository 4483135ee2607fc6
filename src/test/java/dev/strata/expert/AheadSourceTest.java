package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Blobs read ahead: served from the buffers when the guess was right, never wrong ones. */
class AheadSourceTest {
    private static final ArenaLayout MODEL = Layouts.mixed(12);

    private final FakeFile file = FileSources.patterns(MODEL);

    private AheadSource start() throws IOException {
        return AheadSource.start(FileSources.over(MODEL, file));
    }

    private static void check(AheadSource source, int layer, int[] experts, Arena arena) {
        MemorySegment[] targets = new MemorySegment[experts.length];
        for (int i = 0; i < targets.length; i++) {
            targets[i] = arena.allocate(MODEL.stride(layer), 64);
        }
        source.copyBlobs(layer, experts, experts.length, targets);
        for (int i = 0; i < targets.length; i++) {
            assertTrue(PatternSource.holds(MODEL.layout(layer), layer, experts[i], targets[i]));
        }
    }

    private static void awaitGuessed(AheadSource source, int count) {
        while (source.guessed() < count) {
            Thread.onSpinWait();
        }
    }

    @Test
    void rightGuessesAreReadOnce() throws IOException {
        try (AheadSource source = start();
                Arena arena = Arena.ofShared()) {
            source.expect(1, new int[] {2, 3, 7}, 3);
            awaitGuessed(source, 3);
            long requests = source.counters().requests();
            check(source, 1, new int[] {3, 7}, arena);
            assertEquals(requests, source.counters().requests());
            assertEquals(2, source.used());
            check(source, 1, new int[] {1, 2, 3, 11}, arena);
            assertEquals(4, source.used());
            assertTrue(source.counters().requests() > requests);
        }
    }

    @Test
    void aBlobThatIsBeingReadIsWaitedFor() throws Exception {
        try (AheadSource source = start();
                Arena arena = Arena.ofShared()) {
            file.meet(2);
            source.expect(0, new int[] {5}, 1);
            while (file.reads() == 0) {
                Thread.onSpinWait();
            }
            CountDownLatch done = new CountDownLatch(1);
            Thread reader = Thread.ofPlatform().start(() -> {
                // Expert 9 is the second read, which lets the first one go on.
                check(source, 0, new int[] {5, 9}, arena);
                done.countDown();
            });
            done.await();
            reader.join();
            assertEquals(1, source.used());
        }
    }

    @Test
    void failedGuessesAreReadAgain() throws IOException {
        try (AheadSource source = start();
                Arena arena = Arena.ofShared()) {
            file.failing(0, 2);
            source.expect(2, new int[] {4}, 1);
            while (file.reads() < 2) {
                Thread.onSpinWait();
            }
            check(source, 2, new int[] {4}, arena);
            assertEquals(0, source.used());
            file.failing(0, 1000);
            assertThrows(UncheckedIOException.class, () -> check(source, 2, new int[] {6}, arena));
        }
    }

    /** Steps of four layers that take some time each, half of them with guesses as long as it is not known. */
    private static AheadGate measured(long with, long without) {
        AheadGate gate = AheadGate.measuring();
        long now = 0;
        for (int step = 0; step < 2 * AheadGate.TRIALS * AheadGate.WINDOW + 2; step++) {
            boolean on = gate.passes(1, now);
            gate.passes(3, now);
            // A pause between two answers counts like any other step.
            now += step % 11 == 5 ? 1_000_000 : on ? with : without;
        }
        return gate;
    }

    @Test
    void theGateStaysOpenWhereStepsAreFaster() {
        AheadGate good = measured(80, 100);
        assertEquals(0.8, good.ratio().orElseThrow(), 1e-9);
        assertTrue(good.passes(1, 0));
        AheadGate bad = measured(120, 100);
        assertEquals(1.2, bad.ratio().orElseThrow(), 1e-9);
        assertFalse(bad.passes(1, 0));
        assertTrue(AheadGate.measuring().ratio().isEmpty());
        assertTrue(AheadGate.open().passes(0, 0));
    }

    @Test
    void aClosedGateReadsNothing() throws IOException {
        try (AheadSource source = AheadSource.start(FileSources.over(MODEL, file), measured(120, 100));
                Arena arena = Arena.ofShared()) {
            source.expect(1, new int[] {2, 3}, 2);
            check(source, 1, new int[] {2, 3}, arena);
            assertEquals(0, source.guessed());
            assertEquals(1.2, source.ratio().orElseThrow(), 1e-9);
        }
    }

    @Test
    void anyOrderOfGuessesAndReadsGivesTheBlobs() throws IOException {
        SplittableRandom random = new SplittableRandom(8);
        try (AheadSource source = start();
                Arena arena = Arena.ofShared()) {
            for (int round = 0; round < 400; round++) {
                int[] experts = random.ints(0, 12)
                        .distinct()
                        .limit(random.nextInt(1, 7))
                        .sorted()
                        .toArray();
                if (random.nextBoolean()) {
                    source.expect(random.nextInt(3), experts, experts.length);
                } else {
                    check(source, random.nextInt(3), experts, arena);
                }
            }
        }
    }
}
