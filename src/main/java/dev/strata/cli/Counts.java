package dev.strata.cli;

import dev.strata.config.ConfigurationException;

/** Checks numbers given to flags. */
final class Counts {
    private Counts() {}

    /** @throws ConfigurationException naming the flag when {@code value} is below {@code least} */
    static void require(String flag, long value, long least) {
        if (value < least) {
            throw new ConfigurationException(
                    flag + " " + value + " cannot be used: it accepts a number from " + least + " on");
        }
    }

    /** @throws ConfigurationException naming the flag when {@code value} is outside the bounds */
    static void requireBetween(String flag, double value, double least, double most) {
        if (!(value >= least && value <= most)) {
            throw new ConfigurationException(flag + " " + plain(value) + " cannot be used: it accepts a number from "
                    + plain(least) + " to " + plain(most));
        }
    }

    private static String plain(double value) {
        return value == Math.rint(value) ? String.valueOf((long) value) : String.valueOf(value);
    }
}
