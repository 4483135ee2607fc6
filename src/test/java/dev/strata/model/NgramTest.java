package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.strata.format.safetensors.PackedMatrices;
import dev.strata.model.ngram.MappedNgramTable;
import dev.strata.model.ngram.NgramHash;
import dev.strata.model.ngram.RowFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Look-ups in sharded tables, and the hash of the released model's constants. */
class NgramTest {
    @Test
    void rowsComeFromTheirShards() {
        MemorySegment first = MemorySegment.ofArray(new byte[] {0x38, 0x40, 0x30, (byte) 0xB8});
        MemorySegment second = MemorySegment.ofArray(new byte[] {0x7E, 0x01});
        MappedNgramTable table = new MappedNgramTable(
                List.of(first, second),
                new RowFormat(
                        (source, offset, target, count) -> {
                            for (int i = 0; i < count; i++) {
                                target[i] = PackedMatrices.fp8(source.get(ValueLayout.JAVA_BYTE, offset + i));
                            }
                        },
                        2,
                        2,
                        0.5f),
                () -> {});
        MemorySegment values = MemorySegment.ofArray(new float[6]);
        table.read(new long[] {2, 0, 1}, 3, values);
        float[] expected = {224, 0x1p-10f, 0.5f, 1, 0.25f, -0.5f};
        for (int i = 0; i < 6; i++) {
            assertEquals(expected[i], values.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
        }
        assertThrows(IllegalArgumentException.class, () -> table.read(new long[] {3}, 1, values));
    }

    /** Products stay below 2^63, and an end of text cuts the context of what follows it but not its own. */
    @Test
    void hashIsExactAndCutByTheEndToken() {
        List<Long> multipliers = List.of(23703573157769L, 20109073645365L, 8052911324071L);
        NgramHash hash = new NgramHash(multipliers, List.of(0L, 20000003L), List.of(20000003L, 20000023L), 1, 248044);
        long[] rows = new long[2];
        hash.rows(new int[] {5, 248044, 7}, 2, rows, 0);
        long pair = 7 * multipliers.get(0) ^ 248044 * multipliers.get(1);
        assertEquals(pair % 20000003, rows[0]);
        assertEquals((pair ^ 248044 * multipliers.get(2)) % 20000023 + 20000003, rows[1]);
        hash.rows(new int[] {5, 248044}, 1, rows, 0);
        assertEquals((248044 * multipliers.get(0) ^ 5 * multipliers.get(1)) % 20000003, rows[0]);
    }
}
