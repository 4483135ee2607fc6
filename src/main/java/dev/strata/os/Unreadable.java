package dev.strata.os;

import java.io.IOException;
import java.io.UncheckedIOException;

/** Makes the errors of reads that failed for good, whose message people see. */
public final class Unreadable {
    private Unreadable() {}

    /** An error with this message and nothing before it. */
    public static UncheckedIOException because(String message) {
        return new UncheckedIOException(message, new IOException(message));
    }
}
