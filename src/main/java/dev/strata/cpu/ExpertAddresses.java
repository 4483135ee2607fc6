package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.BlobParts;
import dev.strata.device.ExpertLayout;
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

    /** Enters an expert whose blob lies at an address. */
    void putBlob(int expert, ExpertLayout layout, long blob) {
        put(expert, blob, blob + layout.upOffset(), blob + layout.downOffset());
        putTail(expert, layout, blob + layout.tailOffset());
    }

    /** Enters an expert whose blob lies in parts behind an address. */
    void putParts(int expert, ExpertLayout layout, long memory, BlobParts parts) {
        put(
                expert,
                memory + parts.find(0),
                memory + parts.find(layout.upOffset()),
                memory + parts.find(layout.downOffset()));
        putTail(expert, layout, layout.scaled() ? memory + parts.find(layout.tailOffset()) : 0);
    }

    private void putTail(int expert, ExpertLayout layout, long address) {
        if (layout.scaled()) {
            MemorySegment tail = MemorySegment.ofAddress(address).reinterpret(ExpertLayout.TAIL);
            factors(
                    expert,
                    tail.get(JAVA_FLOAT_UNALIGNED, 0),
                    tail.get(JAVA_FLOAT_UNALIGNED, 4),
                    tail.get(JAVA_FLOAT_UNALIGNED, 8));
        } else {
            factors(expert, 1, 1, 1);
        }
    }

    /**
     * Computes the unweighted results of all pairs of a pass whose expert is here; rows of other pairs stay as they are.
     *
     * @param gate how the kernels are to read the gate matrices of all experts that are here: {@link MatrixForm#kind}, or the id of the type
     *     of stored ones
     * @param up the same of the up matrices
     * @param down the same of the down matrices
     * @param ids address of int32 [rows, used]: the experts that the router chose
     * @param in address of float32 [rows, hidden]
     * @param results address of float32 [rows * used, hidden]
     */
    void products(
            CpuContext context,
            ExpertLayout layout,
            int gate,
            int up,
            int down,
            long ids,
            int rows,
            int used,
            long in,
            long results) {
        CpuKernels.strata_cpu_expert_results(
                context.address(),
                layout.experts(),
                layout.hidden(),
                layout.intermediate(),
                gate,
                up,
                down,
                address(),
                ids,
                rows,
                used,
                in,
                results);
    }

    void remove(int expert) {
        entries.asSlice((long) ENTRY * expert, ENTRY).fill((byte) 0);
    }
}
