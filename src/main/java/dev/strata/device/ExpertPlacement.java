package dev.strata.device;

/**
 * Where the expert blobs of a model lie while passes run, and in which order products may read them. Implemented by the expert
 * tiers, called by a backend on the thread that issues the pass; layers are numbered as in {@link ExpertSource}. Once per pass:
 * {@link #beginPass}, {@link #products} for every layer in ascending order, {@link #endPass}.
 */
public interface ExpertPlacement {
    ExpertLayout layout(int layer);

    /**
     * One int64 per expert of the layer: the address by which kernels read its blob (a cache slot, a ring slot or registered memory), 0
     * while no kernel may read it. In device or pinned memory, valid as long as the placement is used. Kernels read an entry when they
     * run, so it changes only in the order of the stream that runs them, or while no launched product covers its expert. Ask for it
     * anew in every pass that is not captured: passes that stream may read another table than small ones, which always get the same.
     */
    Buffer addresses(int layer);

    /**
     * Whether passes of {@code rows} rows need nothing from the host between their first and last kernel, so that they may be captured
     * and replayed. The answer for a number of rows can change between passes, not inside one.
     */
    default boolean capturable(int rows) {
        return true;
    }

    /**
     * Before a forward pass of {@code rows} rows: what it borrows is lent from here on, what earlier ones borrowed may go back. Passes
     * that follow without another call (of a draft layer) belong to it.
     */
    default void enter(int rows, Stream stream) {}

    /** Address of the memory that is lent to the activations of a pass of many rows, 0 while none is. */
    default long lentMemory() {
        return 0;
    }

    /**
     * Before the first work of a pass of {@code rows} rows is issued or replayed: copies of experts may start to run ahead of the router,
     * and what changed in the tables is written in the order of {@code stream}.
     */
    default void beginPass(int rows, Stream stream) {}

    /**
     * Issues the products of one layer: calls {@link ExpertGroups#run} for ranges of experts, which together cover every routed expert
     * exactly once, and orders each behind the copies that bring its blobs. While {@link ExpertGroups#capturing} the calls are recorded
     * for replays, so they must be the same for every pass of that many rows, and nothing may be waited for on the host.
     *
     * @throws java.io.UncheckedIOException when a blob cannot be read; the pass has to be given up
     */
    void products(int layer, ExpertGroups groups);

    /**
     * Whether {@link #products} of the layer will be one run over all its experts in the running pass, perhaps shared with the host, so that
     * a backend may sum them up as it multiplies.
     */
    default boolean whole(int layer) {
        return false;
    }

    /** Behind the last work of a pass, also when it failed or was given up before all layers had their products. */
    default void endPass(Stream stream) {}

    /** Before a pass: another one of the same prompt follows it, so that copies for that one may start when this one's are through. */
    default void promptGoesOn() {}

    /**
     * Changes whenever passes that can be captured have to be issued in another way than before, so that older captures no longer hold.
     */
    default int form() {
        return 0;
    }

    /**
     * Whether the host's processors compute a part of the running pass: whoever waits for the pass leaves its processor to them.
     */
    default boolean sharesProcessor() {
        return false;
    }

    /**
     * The results of all passes so far have been waited for.
     *
     * @throws RuntimeException what went wrong off the device; the results are not to be used
     */
    default void settled() {}

    /** Whether kernels of small passes find every expert in the device's memory. */
    default boolean resident() {
        return false;
    }

    /** Whether {@link #expect} does anything. */
    default boolean readsAhead() {
        return false;
    }

    /**
     * Tells which experts of a later layer the first {@code rows} rows will probably choose, so that they can be read ahead; before the
     * {@link #products} of the layer that runs now. The ids are read no earlier than the work queued on the stream so far is done.
     */
    default void expect(int layer, Routing guess, int rows) {}

    /** No prompt is being read any more: memory lent to prompts goes back before the next pass. */
    default void promptFinished() {}
}
