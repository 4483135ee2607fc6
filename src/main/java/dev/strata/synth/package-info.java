/**
 * Models of real shape with random weights: for measuring speed and memory where no real weights are at hand. Blocks come from a
 * counter, so that any part of a model can be made at any time and is always the same.
 */
@NullMarked
package dev.strata.synth;

import org.jspecify.annotations.NullMarked;
