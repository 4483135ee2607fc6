/**
 * What the server and the engine agree on: requests, deltas, usage and errors, free of HTTP and JSON.
 */
@NullMarked
package dev.strata.api;

import org.jspecify.annotations.NullMarked;
