package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import org.jspecify.annotations.Nullable;

/**
 * The experts of one layer as kernels reach them: a table of blob addresses, either of blobs that all lie in device memory or kept by
 * a placement.
 */
record CudaExpertLayer(
        int layer,
        ExpertLayout layout,
        @Nullable Buffer resident,
        @Nullable Buffer residentTable,
        @Nullable ExpertPlacement placement)
        implements ExpertLayer {
    @Override
    public boolean readsAhead() {
        return placement != null && placement.readsAhead();
    }

    /** Whether products of this pass may come in several runs. */
    boolean split() {
        return placement != null && !placement.whole(layer);
    }

    /** Address of the int64 table in this pass. */
    long table() {
        if (placement != null) {
            return placement.addresses(layer).address();
        }
        if (residentTable == null) {
            throw new IllegalStateException("experts of layer " + layer + " lie nowhere");
        }
        return residentTable.address();
    }
}
