package dev.strata.device;

/**
 * Where the expert blobs of a model lie while passes run, and in which order products may read them. Implemented by the expert
 * tiers, called by a backend on the thread that issues the pass; layers are numbered as in {@link ExpertSource}.
 */
public interface ExpertPlacement {
    ExpertLayout layout(int layer);

    /**
     * One int64 per expert of the layer: the address by which kernels read its blob (a cache slot, a ring slot or registered memory), 0
     * while no kernel may read it. In device or pinned memory, valid as long as the placement is used. Kernels read an entry when they
     * run, so it changes only in the order of the stream that runs them, or while no launched product covers its expert.
     */
    Buffer addresses(int layer);

    /**
     * Issues the products of one layer: calls {@link ExpertGroups#run} for ranges of experts, which together cover every routed expert
     * exactly once, and orders each behind the copies that bring its blobs. While {@link ExpertGroups#capturing} the calls are recorded
     * for replays, so they must be the same for every pass of that many rows, and nothing may be waited for on the host.
     */
    void products(int layer, ExpertGroups groups);
}
