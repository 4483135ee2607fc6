package dev.strata.device;

import java.util.BitSet;

/** Threads of the host's processor that compute experts where their blobs lie. One thread calls. */
public interface ExpertWorkers extends AutoCloseable {
    /** Threads that compute, the caller's included. */
    int threads();

    /** One line for people. */
    String description();

    /**
     * Logical CPUs that none of the threads is bound to; empty when none is bound. A thread that works beside them does so best on one of
     * these: where two share a processor, the system lets them take turns of milliseconds.
     */
    default BitSet spared() {
        return new BitSet();
    }

    /**
     * Computes the unweighted results of all pairs of a pass whose expert is among the first {@code count} of {@code experts}; rows of
     * other pairs stay as they are. Allocates nothing.
     *
     * @param blobs host addresses of their blobs, in the same order
     * @param ids address of int32 [rows, used]: the experts that the router chose
     * @param in address of float32 [rows, hidden]
     * @param results address of float32 [rows * used, hidden]
     */
    void compute(
            ExpertLayout layout,
            int[] experts,
            long[] blobs,
            int count,
            long ids,
            int rows,
            int used,
            long in,
            long results);

    @Override
    void close();
}
