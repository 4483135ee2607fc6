package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.NormedRows;
import dev.strata.device.Residual;
import dev.strata.device.Tensor;
import java.util.List;

/** The part of a layer that mixes tokens: attention or DeltaNet. */
interface MixerBlock {
    /**
     * Computes the block's output for every row of {@code x} [rows, hidden], normed where it says so.
     *
     * @param room for the output, [rows, hidden]
     * @param into has the output added
     */
    void forward(NormedRows x, Batch batch, Tensor room, Residual into);

    /** What the block keeps between passes. */
    List<LayerState> states();
}
