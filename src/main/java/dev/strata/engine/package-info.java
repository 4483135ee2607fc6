/**
 * The engine: one step loop that owns the model, admission, scheduling, prefix reuse and cancellation.
 */
@NullMarked
package dev.strata.engine;

import org.jspecify.annotations.NullMarked;
