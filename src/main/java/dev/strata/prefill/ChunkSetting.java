package dev.strata.prefill;

import java.util.OptionalInt;

/**
 * {@code --prefill auto|N|auto:N}.
 *
 * @param chunk rows asked for; empty: the largest that fits
 * @param most largest chunk that automatic sizing picks
 */
public record ChunkSetting(OptionalInt chunk, int most) {
    /** Largest chunk of all. */
    public static final int LARGEST = 32_768;

    /** Largest chunk that {@code auto} picks unless {@code STRATA_PREFILL_AUTO_MAX} says otherwise. */
    public static final int AUTO_MOST = 8192;

    /** Smallest chunk. */
    public static final int SMALLEST = 256;

    /**
     * Reads the flag's value.
     *
     * @param autoMost value of {@code STRATA_PREFILL_AUTO_MAX} or {@link #AUTO_MOST}
     * @throws IllegalArgumentException naming the flag and the accepted values
     */
    public static ChunkSetting parse(String text, int autoMost) {
        try {
            if (text.equals("auto")) {
                return new ChunkSetting(OptionalInt.empty(), inRange(autoMost));
            }
            if (text.startsWith("auto:")) {
                return new ChunkSetting(OptionalInt.empty(), inRange(Integer.parseInt(text.substring(5))));
            }
            return new ChunkSetting(OptionalInt.of(inRange(Integer.parseInt(text))), LARGEST);
        } catch (NumberFormatException notANumber) {
            throw refused(text);
        }
    }

    private static int inRange(int rows) {
        if (rows < SMALLEST || rows > LARGEST) {
            throw refused(Integer.toString(rows));
        }
        return rows;
    }

    private static IllegalArgumentException refused(String text) {
        return new IllegalArgumentException(
                "--prefill " + text + " cannot be used: it accepts auto, a chunk of " + SMALLEST + " to " + LARGEST
                        + " tokens, or auto:N with the largest chunk that automatic sizing may pick");
    }
}
