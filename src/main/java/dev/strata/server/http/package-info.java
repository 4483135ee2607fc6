/**
 * HTTP machinery that knows no dialect: connections, limits, authentication, routing, JSON fields, server-sent events with back-pressure, cancellation.
 * Event loops never block; endpoints run on virtual threads.
 */
@NullMarked
package dev.strata.server.http;

import org.jspecify.annotations.NullMarked;
