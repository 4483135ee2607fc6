package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Tensor;
import java.util.List;

/** A family's draft (MTP) layer: fuses a state with the token that follows it and predicts the token after. */
interface DraftLayer {
    /** Rows of one draft pass: longer calls are cut, so that the layer's own buffers stay small beside those of the trunk. */
    int MAX_ROWS = 256;

    /** Rows that the layer's buffers have. */
    static int rows(Workspace workspace) {
        return Math.min(MAX_ROWS, workspace.maxRows());
    }

    /** Issues the operations; {@code source} [rows, state columns] holds the states to fuse. */
    void forward(Batch batch, Tensor source);

    /** What further drafts fuse, of the rows of the last pass. */
    Tensor state();

    /** What the output head reads, of the rows of the last pass. */
    Tensor hidden();

    List<LayerState> states();
}
