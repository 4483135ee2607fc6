package dev.strata.prefill;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.prefill.StagerSizing.Case;
import dev.strata.prefill.StagerSizing.Named;
import dev.strata.prefill.StagerSizing.Overrides;
import dev.strata.prefill.StagerSizing.Source;
import dev.strata.prefill.StagerSizing.StageResident;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of sizes, row by row. */
class StagerSizingTest {
    private static final long BLOB = 2_764_816;

    @ParameterizedTest
    @CsvSource({
        // unpinned, in RAM, source, cpus, ring, threads, buffers, batch
        "0,    1, RESIDENT,        16, 384,  0,  0,   1",
        "0.10, 1, RESIDENT,        64, 384,  4,  16,  1",
        "0.05, 0, FILE_UNBUFFERED, 64, 384,  4,  16,  8",
        "0.11, 0, FILE,            64, 96,   4,  16,  8",
        "0.11, 1, RESIDENT,        8,  384,  4,  64,  1",
        "1,    1, RESIDENT,        16, 384,  4,  64,  1",
        "1,    1, RESIDENT,        24, 384,  6,  64,  1",
        "1,    1, RESIDENT,        32, 384,  8,  64,  1",
        "1,    0, FILE_UNBUFFERED, 16, 96,   32, 128, 8",
        "1,  0.91, FILE_UNBUFFERED, 32, 384,  8,  64,  8",
        "1,  0.90, FILE_UNBUFFERED, 32, 96,   32, 128, 8",
        "1,  0.91, FILE,            32, 384,  8,  64,  8",
    })
    void reference(
            double unpinned, double inRam, Source source, int cpus, int ring, int threads, int buffers, int batch) {
        StagerSizing sizing = StagerSizing.of(
                new Case(unpinned, inRam, source, cpus, BLOB, 0), with(StageResident.BY_SOURCE, Named.REFERENCE));
        assertEquals(ring, sizing.ringSlots());
        assertEquals(threads, sizing.threads());
        assertEquals(buffers, sizing.buffers());
        assertEquals(batch, sizing.batch());
        assertEquals(threads == 0 ? 0 : BLOB, sizing.bufferBytes());
    }

    @ParameterizedTest
    @CsvSource({"8, 4", "16, 12", "6, 2", "2, 1", "128, 12"})
    void piecesTakeTheFreeCores(int cpus, int threads) {
        StagerSizing sizing = StagerSizing.of(arena(1, cpus), Overrides.NONE);
        assertEquals(threads, sizing.threads());
        assertEquals(48, sizing.buffers());
        assertEquals(1 << 20, sizing.bufferBytes());
        assertEquals(384, sizing.ringSlots());
    }

    @Test
    void filesAreNeverCutIntoPieces() {
        Case file = new Case(1, 0, Source.FILE_UNBUFFERED, 16, BLOB, 0);
        assertEquals(BLOB, StagerSizing.of(file, Overrides.NONE).bufferBytes());
        assertEquals(
                BLOB,
                StagerSizing.of(file, with(StageResident.BY_SOURCE, Named.PIECES))
                        .bufferBytes());
    }

    @Test
    void stageResidentOffGivesTheArenaTheFilesSizing() {
        StagerSizing sizing = StagerSizing.of(arena(1, 32), with(StageResident.OFF, Named.DEFAULT));
        assertEquals(96, sizing.ringSlots());
        assertEquals(4, sizing.threads());
        assertEquals(16, sizing.buffers());
        assertEquals(BLOB, sizing.bufferBytes());
    }

    @Test
    void stageResidentForcedGivesAFileTheResidentSizing() {
        Case file = new Case(1, 0, Source.FILE_UNBUFFERED, 32, BLOB, 0);
        StagerSizing sizing = StagerSizing.of(file, with(StageResident.FORCED, Named.DEFAULT));
        assertEquals(384, sizing.ringSlots());
        assertEquals(8, sizing.threads());
        assertEquals(64, sizing.buffers());
    }

    @Test
    void numbersGivenByHandWin() {
        Overrides hand = new Overrides(
                StageResident.OFF,
                Named.REFERENCE,
                OptionalInt.of(3),
                OptionalInt.of(5),
                OptionalInt.of(77),
                OptionalInt.of(9));
        StagerSizing sizing = StagerSizing.of(arena(1, 32), hand);
        assertEquals(77, sizing.ringSlots());
        assertEquals(3, sizing.threads());
        assertEquals(5, sizing.buffers());
        assertEquals(5, sizing.batch(), "a claim never needs more buffers than there are");
        assertEquals(77, StagerSizing.of(arena(0, 32), hand).ringSlots());
    }

    @Test
    void linesOfTheLog() {
        assertEquals(
                "prefill: 100% of the expert bytes are not pinned: the stager copies them from resident RAM with 8 threads into 64"
                        + " pinned buffers (169 MiB) and the streamed ring keeps its pinned size (384 slots)",
                StagerSizing.of(arena(1, 32), with(StageResident.BY_SOURCE, Named.REFERENCE))
                        .line());
        assertEquals(
                "prefill: 87% of the expert bytes are not pinned: the stager copies them from resident RAM with 12 threads into 48"
                        + " pinned pieces of 1024 KiB (48 MiB) and the streamed ring keeps its pinned size (384 slots)",
                StagerSizing.of(arena(0.87, 16), Overrides.NONE).line());
        assertEquals(
                "prefill: 100% of the expert bytes are not pinned: the stager reads them from the file (unbuffered) with 32 threads"
                        + " into 128 pinned buffers (338 MiB) in claims of 8 and the streamed ring has 96 slots instead of 384",
                StagerSizing.of(new Case(1, 0, Source.FILE_UNBUFFERED, 16, BLOB, 0), Overrides.NONE)
                        .line());
    }

    private static Case arena(double unpinned, int cpus) {
        return new Case(unpinned, 1, Source.RESIDENT, cpus, BLOB, 0);
    }

    private static Overrides with(StageResident resident, Named sizing) {
        return new Overrides(
                resident, sizing, OptionalInt.empty(), OptionalInt.empty(), OptionalInt.empty(), OptionalInt.empty());
    }

    @Test
    void aLargeCacheLendsARingOfTwoLayers() {
        for (double unpinned : new double[] {0, 1}) {
            Case large = new Case(unpinned, 1, Source.RESIDENT, 16, BLOB, 7000);
            assertEquals(768, StagerSizing.of(large, Overrides.NONE).ringSlots());
            assertEquals(
                    384,
                    StagerSizing.of(large, with(StageResident.BY_SOURCE, Named.REFERENCE))
                            .ringSlots());
            assertEquals(
                    unpinned > 0 ? 96 : 384,
                    StagerSizing.of(large, with(StageResident.OFF, Named.DEFAULT))
                            .ringSlots());
            Case small = new Case(unpinned, 1, Source.RESIDENT, 16, BLOB, 6143);
            assertEquals(384, StagerSizing.of(small, Overrides.NONE).ringSlots());
        }
        Case file = new Case(1, 0, Source.FILE_UNBUFFERED, 16, BLOB, 7000);
        assertEquals(96, StagerSizing.of(file, Overrides.NONE).ringSlots());
    }
}
