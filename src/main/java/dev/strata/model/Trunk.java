package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A family's layers, from token ids to what the output head reads. */
interface Trunk {
    /** Host work that the pass depends on, such as table look-ups. */
    void prepare(Batch batch);

    /** Starts host work for positions {@code from} to {@code to} of a text that will be read soon. */
    default void expect(int[] tokens, int from, int to) {}

    /** As {@link Model#request}. */
    default void request(int[] tokens, int count) {}

    /** Ends host work that was started ahead. */
    default void close() {}

    /**
     * Issues the operations of the pass.
     *
     * @param tokens int32 ids [rows, 1] on the backend that take the place of the batch's; null unless {@link #foresees}
     * @param betweenLayers is called when all that the pass needs of what was computed so far is in {@link #residual}
     */
    void forward(Batch batch, @Nullable Tensor tokens, Runnable betweenLayers);

    /** What layers hand on, [maxRows, columns]. */
    Tensor residual();

    /** Whether a pass can be issued before the host knows its tokens. */
    boolean foresees();

    /** What the output head reads, [maxRows, hidden]; the rows of the last pass come first. */
    Tensor hidden();

    /** What all layers keep between passes. */
    List<LayerState> states();
}
