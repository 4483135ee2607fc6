package dev.strata.device;

/**
 * The expert products of one layer in one pass, split by expert so that they can start while blobs of others are still on their
 * way. Rows are already grouped by expert. The weighted sum over a row's experts is taken after all groups, in the order of
 * the routing, so that a result never depends on how the experts were split.
 */
public interface ExpertGroups {
    /** Rows of the pass. */
    int rows();

    /** What the router chose, in device memory. */
    Routing routing();

    /** The rows that the experts read, [rows, hidden]. */
    Tensor input();

    /** The stream of the products: make it wait for copies, and record events on it behind the products that read a blob. */
    Stream stream();

    /** Whether the pass is being recorded for replays. */
    boolean capturing();

    /**
     * Queues the products of all rows routed to the experts {@code first .. first + count - 1}, read from
     * {@link ExpertPlacement#addresses}. Experts whose entry is 0 are left out.
     */
    void run(int first, int count);

    /**
     * Before any {@link #run}: where the unweighted results of experts are that something else computes, float32 [rows * used, hidden]; the
     * product of row r with its j-th expert is row {@code r * used + j}. The sum over a row's experts takes those without an entry in
     * {@link ExpertPlacement#addresses} from there. They have to be there when the placement returns, and stay until the stream has passed.
     *
     * @param results pinned memory
     * @param offset where they start in it, in bytes
     */
    void others(Buffer results, long offset);

    /** Behind a {@link #run} of experts that lie nowhere yet, which only gave memory its size: the sum is 0. */
    void nothing();

    /**
     * Shares out the missed experts of this pass: fills {@code share}'s plan, pulls blobs over the link and, when the processor has a
     * part, asks the host. Before the products, which then have to read the plan.
     *
     * @throws UnsupportedOperationException where misses are not shared
     */
    default void share(MissShare share) {
        throw new UnsupportedOperationException("missed experts are not shared here");
    }

    /** Waits on the device for the host's part of {@link #share}, behind the products. */
    default void answer(MissShare share) {
        throw new UnsupportedOperationException("missed experts are not shared here");
    }
}
