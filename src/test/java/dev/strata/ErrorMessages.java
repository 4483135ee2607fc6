package dev.strata;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.function.Executable;

/** Checks of what errors say. */
public final class ErrorMessages {
    private ErrorMessages() {}

    /** The message of the error that {@code action} must throw. */
    public static String messageOf(Class<? extends Throwable> kind, Executable action) {
        return String.valueOf(assertThrows(kind, action).getMessage());
    }
}
