package dev.strata.engine;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How prompts and answers shared the model in the last ten seconds, counted while both had work. Written by the step loop, read by anyone.
 */
final class SharingWindow {
    private static final int SECONDS = 10;

    /** What happened within one second. */
    private static final class Second {
        long number = Long.MIN_VALUE;
        long readNanos;
        long decodeNanos;
        long longestChunk;
        long longestGap;
    }

    private final Second[] seconds = new Second[SECONDS];

    SharingWindow() {
        for (int i = 0; i < SECONDS; i++) {
            seconds[i] = new Second();
        }
    }

    private Second at(long now) {
        long number = Math.floorDiv(now, 1_000_000_000L);
        Second second = seconds[(int) Math.floorMod(number, (long) SECONDS)];
        if (second.number != number) {
            second.number = number;
            second.readNanos = 0;
            second.decodeNanos = 0;
            second.longestChunk = 0;
            second.longestGap = 0;
        }
        return second;
    }

    /** A chunk of prompts was read while answers waited. */
    synchronized void read(long now, long nanos) {
        Second second = at(now);
        second.readNanos += nanos;
        second.longestChunk = Math.max(second.longestChunk, nanos);
    }

    /** A decode step ran while prompts waited. */
    synchronized void decode(long now, long nanos) {
        at(now).decodeNanos += nanos;
    }

    /** Between the ends of two decode steps. */
    synchronized void gap(long now, long nanos) {
        Second second = at(now);
        second.longestGap = Math.max(second.longestGap, nanos);
    }

    /** Figures by name. */
    synchronized Map<String, Object> figures(long now) {
        long oldest = Math.floorDiv(now, 1_000_000_000L) - SECONDS;
        long read = 0;
        long decode = 0;
        long chunk = 0;
        long gap = 0;
        for (Second second : seconds) {
            if (second.number > oldest) {
                read += second.readNanos;
                decode += second.decodeNanos;
                chunk = Math.max(chunk, second.longestChunk);
                gap = Math.max(gap, second.longestGap);
            }
        }
        Map<String, Object> figures = new LinkedHashMap<>();
        figures.put("longest_gap_ms", gap / 1e6);
        figures.put("longest_chunk_ms", chunk / 1e6);
        if (read + decode > 0) {
            figures.put("decode_share", (double) decode / (read + decode));
        }
        return figures;
    }
}
