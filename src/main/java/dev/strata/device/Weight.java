package dev.strata.device;

import dev.strata.format.QuantType;

/**
 * A stored matrix on a backend: {@code outputs x inputs}, each output row a whole number of blocks of {@code type}. Products are
 * multiplied by {@code scale} (1 except for types with a per-tensor factor, such as NVFP4).
 */
public record Weight(String name, QuantType type, int outputs, int inputs, Buffer buffer, long offset, float scale) {
    public Weight {
        long end = offset + Math.multiplyExact((long) outputs, type.bytes(inputs));
        if (offset < 0 || end > buffer.bytes()) {
            throw new IllegalArgumentException(
                    name + " ends at " + end + " in a buffer of " + buffer.bytes() + " bytes");
        }
    }

    public long rowBytes() {
        return type.bytes(inputs);
    }

    public long address() {
        return buffer.address() + offset;
    }
}
