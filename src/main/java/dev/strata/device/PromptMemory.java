package dev.strata.device;

/**
 * Memory of a backend that only passes of many rows need: activations and workspaces. It is measured while the device is still empty, and
 * then lies in memory that {@link ExpertPlacement} lends for the length of a prompt, so that answers have it for experts. One thread
 * uses it.
 */
public interface PromptMemory {
    /**
     * From now on activations have memory of their own for {@code smallRows} rows only. Before a model is loaded.
     *
     * @param mostRows rows that the model is laid out for
     */
    void separate(int smallRows, int mostRows);

    /**
     * Passes of up to {@code rows} rows get memory from the device until {@link #measured}, and what they use is written down. The first
     * call has fewer rows than later ones, of which the last counts.
     */
    void measure(int rows);

    /** Gives back what passes used since {@link #measure}. */
    void measured();

    /** Bytes that passes of {@code rows} rows need, by what was measured at fewer and at more rows; a multiple of 256. */
    long bytes(int rows);

    /** Passes of up to {@code rows} rows find their memory in {@link #bytes} bytes that are lent. */
    void layOut(int rows);
}
