package dev.strata.prefill;

import java.util.ArrayList;
import java.util.List;

/**
 * Cuts named pieces out of one range, each rounded up to 256 bytes with a guard of 256 behind it. Counting and laying out are the same
 * calls, so that a plan and its layout cannot disagree.
 */
public final class Carve {
    private static final long UNIT = 256;

    /** One piece. */
    public record Piece(String name, long offset, long bytes) {}

    private final List<Piece> pieces = new ArrayList<>();
    private long end;

    /** Takes the next {@code bytes} and returns where they start. */
    public long take(String name, long bytes) {
        long offset = end;
        pieces.add(new Piece(name, offset, bytes));
        end = offset + Math.ceilDiv(bytes, UNIT) * UNIT + UNIT;
        return offset;
    }

    /** Bytes taken so far, guards included. */
    public long bytes() {
        return end;
    }

    public List<Piece> pieces() {
        return List.copyOf(pieces);
    }
}
