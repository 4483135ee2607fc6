package dev.strata.device.reference;

import java.util.function.IntConsumer;

/**
 * What one recurrent layer remembers of one segment of a held pass.
 *
 * @param segment index of the segment in the batch
 * @param replay advances the slot's state by as many rows as it is told
 */
record HeldWindow(int segment, IntConsumer replay) {}
