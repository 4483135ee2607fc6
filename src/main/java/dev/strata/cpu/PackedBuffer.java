package dev.strata.cpu;

import dev.strata.device.Buffer;
import dev.strata.device.HostBuffer;
import dev.strata.device.Weight;
import java.lang.foreign.MemorySegment;

/** Memory of a matrix in the form that the kernels pack matrices into ({@code native/cpu/src/packed.h}). */
record PackedBuffer(HostBuffer memory) implements Buffer {
    /** What is added to the id of the stored type of a packed matrix. */
    static final int PACKED = 64;

    /** How the kernels are to read a weight: the id of its type, or that of its packed form. */
    static int kind(Weight weight) {
        return weight.type().id() + (weight.buffer() instanceof PackedBuffer ? PACKED : 0);
    }

    @Override
    public long bytes() {
        return memory.bytes();
    }

    @Override
    public long address() {
        return memory.address();
    }

    @Override
    public MemorySegment host() {
        return memory.host();
    }

    @Override
    public boolean hostVisible() {
        return true;
    }

    @Override
    public void close() {
        memory.close();
    }
}
