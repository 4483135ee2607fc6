/** Counters for Prometheus: what the server saw, and the engine's facts. */
@NullMarked
package dev.strata.metrics;

import org.jspecify.annotations.NullMarked;
