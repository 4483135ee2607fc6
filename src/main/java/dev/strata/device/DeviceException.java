package dev.strata.device;

/** A device call failed. The message names the call, its sizes and the device's own name for the error. */
public class DeviceException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What went wrong, as far as callers treat it differently. */
    public enum Kind {
        OUT_OF_MEMORY,
        REGISTRATION_REFUSED,
        UNAVAILABLE,
        UNSUPPORTED,
        FAILED
    }

    private final Kind kind;

    public DeviceException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }
}
