package dev.strata.prefill;

/**
 * Cuts pieces out of one range, each rounded up to 256 bytes with a guard of 256 behind it. Counting and laying out are the same
 * calls, so that a plan and its layout cannot disagree.
 */
public final class Carve {
    private static final long UNIT = 256;

    private long end;

    /** Takes the next {@code bytes} and returns where they start. */
    public long take(long bytes) {
        long offset = end;
        end = offset + Math.ceilDiv(bytes, UNIT) * UNIT + UNIT;
        return offset;
    }

    /** Bytes taken so far, guards included. */
    public long bytes() {
        return end;
    }
}
