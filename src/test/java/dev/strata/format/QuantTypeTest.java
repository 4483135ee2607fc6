package dev.strata.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class QuantTypeTest {
    @Test
    void idsLeadBackToTheirTypes() {
        for (QuantType type : QuantType.values()) {
            assertEquals(type, QuantType.byId(type.id()).orElseThrow());
        }
    }

    @Test
    void removedAndUnknownIdsHaveNoType() {
        for (int id : new int[] {-1, 4, 5, 9, 15, 31, 32, 33, 36, 37, 38, 43, 1000, Integer.MIN_VALUE}) {
            assertTrue(QuantType.byId(id).isEmpty(), "id " + id);
        }
    }

    @Test
    void rowsAreWholeBlocks() {
        assertEquals(2 * 144, QuantType.Q4_K.bytes(512));
        assertThrows(IllegalArgumentException.class, () -> QuantType.Q4_K.bytes(640));
    }
}
