package dev.strata.server.http;

/** Turns the pieces of an answer into the events of one dialect. */
public interface EventWriter {
    /** Events that come before any piece. */
    void begin();

    void write(GenerationCall.Piece piece);

    /** Nothing was sent for a while: something that clients skip. */
    void keepAlive();

    /** All answers ended, or the request failed. */
    boolean isDone();

    /** Events after the last piece. */
    void end();
}
