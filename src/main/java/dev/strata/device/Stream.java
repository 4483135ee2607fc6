package dev.strata.device;

/** An ordered queue of device work. Work of two streams is ordered only by events. */
public interface Stream extends AutoCloseable {
    /** Makes later work of this stream wait until {@code event}, as last recorded, has happened. */
    void waitFor(Event event);

    /** Blocks the caller until everything queued so far is done. */
    void synchronize();

    @Override
    void close();
}
