package dev.strata.sampling;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PhiloxTest {
    /** The known answers that the authors publish for philox4x32 with ten rounds. */
    @Test
    void givesThePublishedAnswers() {
        assertEquals(0x6627e8d5e169c58dL, Philox.first64(0, 0, 0, 0, 0, 0));
        assertEquals(0x408f276d41c83b0eL, Philox.first64(-1, -1, -1, -1, -1, -1));
        assertEquals(
                0xd16cfe0994fdccebL,
                Philox.first64(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0));
    }

    @Test
    void numbersAreSpreadEvenly() {
        int[] bins = new int[10];
        for (int position = 0; position < 100_000; position++) {
            bins[(int) (Philox.uniform(42, position, 0) * 10)]++;
        }
        for (int bin : bins) {
            assertEquals(10_000, bin, 400);
        }
    }

    @Test
    void seedPositionAndDrawAllMatter() {
        Set<Double> seen = new HashSet<>();
        for (long seed : new long[] {0, 1, 1L << 40}) {
            for (long position : new long[] {0, 1, 1L << 33}) {
                for (int draw = 0; draw < 2; draw++) {
                    assertTrue(seen.add(Philox.uniform(seed, position, draw)));
                }
            }
        }
    }
}
