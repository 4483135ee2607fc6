package dev.strata.device;

/** A mark in a stream. Never recorded counts as already happened. */
public interface Event extends AutoCloseable {
    /** Places the mark behind everything queued on {@code stream} so far. */
    void record(Stream stream);

    /** Whether the mark has been reached; never blocks. */
    boolean isDone();

    /** Blocks until the mark has been reached. */
    void synchronize();

    /** Milliseconds on the device's clock between {@code earlier} and this mark; both must have happened. */
    float millisSince(Event earlier);

    @Override
    void close();
}
