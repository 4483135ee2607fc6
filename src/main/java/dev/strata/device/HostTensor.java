package dev.strata.device;

import dev.strata.format.QuantType;
import java.lang.foreign.MemorySegment;

/** A matrix as it lies in a model file or in RAM, ready to be given to a backend: {@code outputs} rows of {@code inputs} elements. */
public record HostTensor(String name, QuantType type, int outputs, int inputs, MemorySegment data, float scale) {
    public HostTensor {
        long expected = Math.multiplyExact((long) outputs, type.bytes(inputs));
        if (data.byteSize() != expected) {
            throw new IllegalArgumentException(
                    name + " has " + data.byteSize() + " bytes where " + expected + " were expected");
        }
    }
}
