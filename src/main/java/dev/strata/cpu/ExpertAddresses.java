package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * A table that tells the kernels where experts lie: per expert the addresses of gate, up and down, their float32 factors and four unused
 * bytes; all zero for an expert that is not there.
 */
final class ExpertAddresses {
    private static final int ENTRY = 40;
    private static final int FACTORS = 24;

    private final MemorySegment entries;

    ExpertAddresses(int experts, CpuArena arena) {
        this.entries =
                arena.allocate((long) ENTRY * experts, "expert addresses").host();
    }

    long address() {
        return entries.address();
    }

    boolean has(int expert) {
        return entries.get(JAVA_LONG, (long) ENTRY * expert) != 0;
    }

    void put(int expert, long gate, long up, long down) {
        long at = (long) ENTRY * expert;
        entries.set(JAVA_LONG, at, gate);
        entries.set(JAVA_LONG, at + 8, up);
        entries.set(JAVA_LONG, at + 16, down);
    }

    void factors(int expert, float gate, float up, float down) {
        long at = (long) ENTRY * expert + FACTORS;
        entries.set(JAVA_FLOAT, at, gate);
        entries.set(JAVA_FLOAT, at + 4, up);
        entries.set(JAVA_FLOAT, at + 8, down);
    }

    void remove(int expert) {
        entries.asSlice((long) ENTRY * expert, ENTRY).fill((byte) 0);
    }
}
