package dev.strata.cpu;

import dev.strata.os.OperatingSystem;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How the CPU backend runs.
 *
 * @param threads threads that compute, the caller's included
 * @param cap highest instruction set to use, or null for the processor's best
 * @param pin whether each worker thread is bound to one of the process's processors
 * @param hugeWeights whether weights are copied into huge pages where RAM has room
 * @param packedWeights whether such copies are packed for fewer instructions a weight, where the kernels have a form for their type
 * @param tailSkip rank from which on a step leaves out experts that are not in RAM; 0: none are
 */
public record CpuSettings(
        int threads, @Nullable CpuIsa cap, boolean pin, boolean hugeWeights, boolean packedWeights, int tailSkip) {
    /** With copies packed and no expert left out. */
    public CpuSettings(int threads, @Nullable CpuIsa cap, boolean pin, boolean hugeWeights) {
        this(threads, cap, pin, hugeWeights, true, 0);
    }

    public CpuSettings {
        if (threads < 1 || threads > 1024) {
            throw new IllegalArgumentException("threads is " + threads + "; give 1 to 1024");
        }
    }

    /** One thread for every processor that the process may use; weights packed in huge pages. */
    public static CpuSettings standard() {
        return new CpuSettings(processors().size(), null, true, true);
    }

    public CpuSettings withThreads(int count) {
        return new CpuSettings(count, cap, pin, hugeWeights, packedWeights, tailSkip);
    }

    public CpuSettings withCap(@Nullable CpuIsa isa) {
        return new CpuSettings(threads, isa, pin, hugeWeights, packedWeights, tailSkip);
    }

    public CpuSettings withHugeWeights(boolean copied) {
        return new CpuSettings(threads, cap, pin, copied, packedWeights, tailSkip);
    }

    public CpuSettings withPackedWeights(boolean packed) {
        return new CpuSettings(threads, cap, pin, hugeWeights, packed, tailSkip);
    }

    public CpuSettings withTailSkip(int rank) {
        return new CpuSettings(threads, cap, pin, hugeWeights, packedWeights, rank);
    }

    /** Numbers of the processors that the process may use. */
    static List<Integer> processors() {
        BitSet allowed = OperatingSystem.current().affinity();
        return allowed.stream().boxed().toList();
    }
}
