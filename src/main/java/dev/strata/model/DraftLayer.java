package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Tensor;
import java.util.List;

/** A family's draft (MTP) layer: fuses a state with the token that follows it and predicts the token after. */
interface DraftLayer {
    /** Issues the operations; {@code source} [rows, state columns] holds the states to fuse. */
    void forward(Batch batch, Tensor source);

    /** What the output head reads, [maxRows, hidden]. */
    Tensor hidden();

    List<LayerState> states();
}
