/**
 * Prompts longer than the memory of the device: how large chunks and rings are, and the machinery that keeps the link busy while a
 * chunk is computed (issuer, ring, stager).
 */
@NullMarked
package dev.strata.prefill;

import org.jspecify.annotations.NullMarked;
