package dev.strata.expert;

import dev.strata.memory.Bytes;
import org.jspecify.annotations.Nullable;

/** How much of the arena may be registered: {@code STRATA_ARENA_PIN_GIB}. */
public sealed interface PinSetting {
    /** Name of the variable. */
    String VARIABLE = "STRATA_ARENA_PIN_GIB";

    /** Most bytes to register. */
    long mostBytes();

    /** Unset: as much as the system grants. */
    record Automatic() implements PinSetting {
        @Override
        public long mostBytes() {
            return Long.MAX_VALUE;
        }
    }

    /** {@code 0}: the whole arena. */
    record Whole() implements PinSetting {
        @Override
        public long mostBytes() {
            return Long.MAX_VALUE;
        }
    }

    /** A number of GiB, here in bytes. */
    record AtMost(long mostBytes) implements PinSetting {}

    /** {@code none}: a cap of one byte, so that no slice fits. */
    record Nothing() implements PinSetting {
        @Override
        public long mostBytes() {
            return 1;
        }
    }

    /**
     * The setting for a value of the variable; null is unset.
     *
     * @throws IllegalArgumentException naming the variable and what it accepts
     */
    static PinSetting parse(@Nullable String text) {
        if (text == null) {
            return new Automatic();
        }
        if (text.equals("none")) {
            return new Nothing();
        }
        try {
            long gib = Long.parseLong(text);
            if (gib >= 0 && gib <= 1 << 20) {
                return gib == 0 ? new Whole() : new AtMost(gib * Bytes.GIB);
            }
        } catch (NumberFormatException notANumber) {
            // reported below with the accepted values
        }
        throw new IllegalArgumentException(
                VARIABLE + "=" + text + " cannot be used: it accepts a number of GiB, 0 for the whole arena, or none");
    }
}
