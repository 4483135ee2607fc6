package dev.strata.device.fake;

/** One call that a {@link FakeDevice} saw, in the order of the calls. */
public record FakeCall(Kind kind, String stream, long bytes) {
    /** What was asked for. */
    public enum Kind {
        ALLOCATE,
        ALLOCATE_PINNED,
        REGISTER,
        NEW_STREAM,
        NEW_EVENT,
        COPY_TO_DEVICE,
        COPY_TO_HOST,
        COPY_ON_DEVICE,
        FILL,
        LAUNCH,
        RECORD,
        WAIT
    }
}
