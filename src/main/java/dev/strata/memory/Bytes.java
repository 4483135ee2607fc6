package dev.strata.memory;

import java.util.Locale;

/** Sizes in the units that people read. */
public final class Bytes {
    public static final long MIB = 1L << 20;
    public static final long GIB = 1L << 30;

    private Bytes() {}

    /** {@code 63.3 GiB}, {@code 169 MiB} or {@code 512 B}. */
    public static String text(long bytes) {
        if (bytes >= 10 * GIB) {
            return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) GIB);
        }
        if (bytes >= GIB) {
            return String.format(Locale.ROOT, "%.2f GiB", bytes / (double) GIB);
        }
        if (bytes >= MIB) {
            return String.format(Locale.ROOT, "%d MiB", Math.round(bytes / (double) MIB));
        }
        return bytes + " B";
    }

    /** Gibibytes with two decimals and no unit. */
    public static String gib(long bytes) {
        return String.format(Locale.ROOT, "%.2f", bytes / (double) GIB);
    }

    /** The next multiple of {@code unit} that is not below {@code value}. */
    public static long roundUp(long value, long unit) {
        return Math.ceilDiv(value, unit) * unit;
    }
}
