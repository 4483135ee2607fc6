package dev.strata.sampling;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/** Applies sets of tokens to rows of logits, many tokens at a time: most words of a set are all ones or all zeros. */
final class TokenMask {
    private static final int BLOCK = 1024;
    private static final float[] FORBIDDEN = new float[BLOCK];

    static {
        Arrays.fill(FORBIDDEN, Float.NEGATIVE_INFINITY);
    }

    private TokenMask() {}

    /** Sets the logits of all tokens without a bit in {@code allowed} to minus infinity. */
    static void apply(long[] allowed, MemorySegment logits) {
        long tokens = logits.byteSize() / Float.BYTES;
        int words = (int) Math.min(allowed.length, tokens + 63 >> 6);
        int word = 0;
        while (word < words) {
            long bits = allowed[word];
            if (bits == -1) {
                word++;
            } else if (bits == 0) {
                int end = word + 1;
                while (end < words && allowed[end] == 0) {
                    end++;
                }
                forbid(logits, (long) word << 6, Math.min(tokens, (long) end << 6));
                word = end;
            } else {
                each(logits, bits, (long) word << 6, tokens);
                word++;
            }
        }
        forbid(logits, Math.min(tokens, (long) words << 6), tokens);
    }

    private static void each(MemorySegment logits, long allowed, long first, long tokens) {
        long forbidden = ~allowed;
        while (forbidden != 0) {
            long token = first + Long.numberOfTrailingZeros(forbidden);
            if (token >= tokens) {
                return;
            }
            logits.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, token, Float.NEGATIVE_INFINITY);
            forbidden &= forbidden - 1;
        }
    }

    private static void forbid(MemorySegment logits, long from, long to) {
        for (long at = from; at < to; at += BLOCK) {
            int count = (int) Math.min(BLOCK, to - at);
            MemorySegment.copy(FORBIDDEN, 0, logits, ValueLayout.JAVA_FLOAT_UNALIGNED, at * Float.BYTES, count);
        }
    }
}
