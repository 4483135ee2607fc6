package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A family's draft (MTP) layer: fuses a state with the token that follows it and predicts the token after. */
interface DraftLayer {
    /** Rows of one draft pass: longer calls are cut, so that the layer's own buffers stay small beside those of the trunk. */
    int MAX_ROWS = 256;

    /** Rows that the layer's buffers have. */
    static int rows(Workspace workspace) {
        return Math.min(MAX_ROWS, workspace.maxRows());
    }

    /**
     * Issues the operations.
     *
     * @param tokens int32 ids [rows, 1] on the backend that take the place of the batch's, which are not known to the host then
     * @param source [rows, state columns], the states to fuse; may be {@link #state}
     */
    void forward(Batch batch, @Nullable Tensor tokens, Tensor source);

    /** What further drafts fuse, of the rows of the last pass. */
    Tensor state();

    /** What the output head reads of such states, [rows, state columns]; issues the operations that this takes. */
    Tensor hidden(Tensor states);

    List<LayerState> states();
}
