package dev.strata.server.http;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * What one client may cost.
 *
 * @param bodyBytes largest request body; 413 beyond it
 * @param headerBytes all header lines together; 431 beyond it
 * @param headerTime from a request's first byte to the end of its headers
 * @param bodyTime longest silence while a body is received
 * @param idleTime a kept-alive connection without a request
 * @param keepAlive silence of a stream after which a comment is sent
 * @param slowReader time for which a client may take nothing of what waits for it
 * @param queuedDeltas pieces of an answer waiting for a slow client; the request is cancelled beyond it
 * @param connections open connections; further ones are closed at once
 * @param requestsPerKey requests one API key (or one address, without keys) may have in flight; 429 beyond it
 * @param directStreams streams of a pass that are sent by the thread which makes the pieces, whose next pass waits for that; the others are for the event loops
 * @param statusTime deadline of the status routes
 */
public record Limits(
        int bodyBytes,
        int headerBytes,
        Duration headerTime,
        Duration bodyTime,
        Duration idleTime,
        Duration keepAlive,
        Duration slowReader,
        int queuedDeltas,
        int connections,
        int requestsPerKey,
        int directStreams,
        Duration statusTime) {
    /** With fewer cores event loops take their time from those that compute, and being woken comes on top. */
    private static final int MANY_CORES = 8;

    public static final Limits DEFAULTS = new Limits(
            32 << 20,
            32 << 10,
            Duration.ofSeconds(15),
            Duration.ofSeconds(30),
            Duration.ofSeconds(120),
            Duration.ofSeconds(5),
            Duration.ofSeconds(30),
            8192,
            4096,
            1024,
            Runtime.getRuntime().availableProcessors() < MANY_CORES ? Integer.MAX_VALUE : 4,
            Duration.ofSeconds(3));

    /** The same with what {@code change} sets. */
    public Limits with(Consumer<Change> change) {
        Change changed = new Change(this);
        change.accept(changed);
        return new Limits(
                changed.bodyBytes,
                changed.headerBytes,
                changed.headerTime,
                changed.bodyTime,
                changed.idleTime,
                changed.keepAlive,
                changed.slowReader,
                changed.queuedDeltas,
                changed.connections,
                changed.requestsPerKey,
                changed.directStreams,
                changed.statusTime);
    }

    /** Limits while they are being changed. */
    public static final class Change {
        public int bodyBytes;
        public int headerBytes;
        public Duration headerTime;
        public Duration bodyTime;
        public Duration idleTime;
        public Duration keepAlive;
        public Duration slowReader;
        public int queuedDeltas;
        public int connections;
        public int requestsPerKey;
        public int directStreams;
        public Duration statusTime;

        private Change(Limits limits) {
            bodyBytes = limits.bodyBytes;
            headerBytes = limits.headerBytes;
            headerTime = limits.headerTime;
            bodyTime = limits.bodyTime;
            idleTime = limits.idleTime;
            keepAlive = limits.keepAlive;
            slowReader = limits.slowReader;
            queuedDeltas = limits.queuedDeltas;
            connections = limits.connections;
            requestsPerKey = limits.requestsPerKey;
            directStreams = limits.directStreams;
            statusTime = limits.statusTime;
        }
    }
}
