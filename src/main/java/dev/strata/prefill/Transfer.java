package dev.strata.prefill;

/**
 * A contiguous run of bytes on its way into the cache memory.
 *
 * @param layer layer it belongs to
 * @param source where it starts in the layer
 * @param bytes length
 * @param target where it goes: from the group's place in the ring, or in the cache allocation when the group has no place in the ring
 * @param direct whether the device reads it where it lies, else it is staged
 * @param unit bytes that may not be torn when staged: a blob's stride, or 1
 */
public record Transfer(int layer, long source, long bytes, long target, boolean direct, long unit) {}
