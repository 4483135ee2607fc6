package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Tensor;
import java.util.List;

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

    /** Issues the operations of the pass. */
    void forward(Batch batch);

    /** What the output head reads, [maxRows, hidden]; the rows of the last pass come first. */
    Tensor hidden();

    /** What all layers keep between passes. */
    List<LayerState> states();
}
