package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.NormedRows;
import dev.strata.device.Tensor;
import java.util.List;

/** The part of a layer that mixes tokens: attention or DeltaNet. */
interface MixerBlock {
    /**
     * Computes the block's output for every row of {@code x} [rows, hidden], normed where it says so.
     *
     * @param out receives the output, or has it added when {@code add}
     */
    void forward(NormedRows x, Batch batch, Tensor out, boolean add);

    /** What the block keeps between passes. */
    List<LayerState> states();
}
