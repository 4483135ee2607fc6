package dev.strata.device;

/**
 * How the experts that a layer will probably choose are pulled over the link before it does: which memory the kernels read and write. What was guessed
 * wrongly costs the link a blob and changes no result.
 *
 * @param share how the layer's misses are shared out once it has chosen; what was pulled ahead is none
 * @param firstSpare first of the spare slots that are only used for this
 * @param spares how many of them, taken in turn over the layers of a pass
 * @param most experts of a layer that are pulled ahead, at most {@code spares}
 * @param pulls scratch memory of 1 + 2 spares int64
 */
public record MissAhead(MissShare share, int firstSpare, int spares, int most, Buffer pulls) {}
