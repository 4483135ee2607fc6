package dev.strata.server.http;

import java.time.Duration;

/**
 * What one client may cost.
 *
 * @param bodyBytes largest request body; 413 beyond it
 * @param headerBytes all header lines together; 431 beyond it
 * @param headerTime from a request's first byte to the end of its headers
 * @param bodyTime longest silence while a body is received
 * @param idleTime a kept-alive connection without a request
 * @param keepAlive silence of a stream after which a comment is sent
 * @param slowReader time that a client may leave its socket full
 * @param queuedDeltas pieces of an answer waiting for a slow client; the request is cancelled beyond it
 * @param connections open connections; further ones are closed at once
 * @param requestsPerKey requests one API key (or one address, without keys) may have in flight; 429 beyond it
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
        Duration statusTime) {
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
            Duration.ofSeconds(3));

    public Limits withBodyBytes(int bytes) {
        return new Limits(
                bytes,
                headerBytes,
                headerTime,
                bodyTime,
                idleTime,
                keepAlive,
                slowReader,
                queuedDeltas,
                connections,
                requestsPerKey,
                statusTime);
    }

    public Limits withTimes(Duration header, Duration body, Duration idle) {
        return new Limits(
                bodyBytes,
                headerBytes,
                header,
                body,
                idle,
                keepAlive,
                slowReader,
                queuedDeltas,
                connections,
                requestsPerKey,
                statusTime);
    }

    public Limits withKeepAlive(Duration silence) {
        return new Limits(
                bodyBytes,
                headerBytes,
                headerTime,
                bodyTime,
                idleTime,
                silence,
                slowReader,
                queuedDeltas,
                connections,
                requestsPerKey,
                statusTime);
    }

    public Limits withSlowReader(Duration time, int deltas) {
        return new Limits(
                bodyBytes,
                headerBytes,
                headerTime,
                bodyTime,
                idleTime,
                keepAlive,
                time,
                deltas,
                connections,
                requestsPerKey,
                statusTime);
    }

    public Limits withConnections(int most, int perKey) {
        return new Limits(
                bodyBytes,
                headerBytes,
                headerTime,
                bodyTime,
                idleTime,
                keepAlive,
                slowReader,
                queuedDeltas,
                most,
                perKey,
                statusTime);
    }

    public Limits withStatusTime(Duration deadline) {
        return new Limits(
                bodyBytes,
                headerBytes,
                headerTime,
                bodyTime,
                idleTime,
                keepAlive,
                slowReader,
                queuedDeltas,
                connections,
                requestsPerKey,
                deadline);
    }
}
