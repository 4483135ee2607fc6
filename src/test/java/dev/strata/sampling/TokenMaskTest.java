package dev.strata.sampling;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TokenMaskTest {
    @Test
    void forbiddenTokensAndOnlyTheyAreLost() {
        Random random = new Random(4);
        for (int round = 0; round < 300; round++) {
            int tokens = random.nextInt(1, 5000);
            long[] allowed = new long[random.nextInt(0, 80)];
            for (int word = 0; word < allowed.length; word++) {
                allowed[word] = random.nextInt(3) == 0 ? random.nextLong() : random.nextBoolean() ? -1 : 0;
            }
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment logits = arena.allocate(ValueLayout.JAVA_FLOAT, tokens);
                for (int token = 0; token < tokens; token++) {
                    logits.setAtIndex(ValueLayout.JAVA_FLOAT, token, token);
                }
                TokenMask.apply(allowed, logits);
                for (int token = 0; token < tokens; token++) {
                    boolean kept = token >> 6 < allowed.length && (allowed[token >> 6] >>> token & 1) != 0;
                    assertEquals(
                            kept ? token : Float.NEGATIVE_INFINITY, logits.getAtIndex(ValueLayout.JAVA_FLOAT, token));
                }
            }
        }
    }
}
