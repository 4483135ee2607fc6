package dev.strata.cuda;

import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.MissShare;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import java.util.List;

/** What the products of one layer's experts read in one pass. */
abstract sealed class LayerGroups implements ExpertGroups permits CudaExpertGroups, FusedExpertGroups {
    final MissKernels misses;
    final ExpertLayout layout;

    /** Address of the table of the experts' blobs. */
    final long table;

    final Tensor input;
    final Routing routing;
    private final CudaStream stream;
    private final boolean capturing;

    LayerGroups(
            MissKernels misses,
            CudaStream stream,
            CudaExpertLayer layer,
            Tensor input,
            Routing routing,
            boolean capturing) {
        this.misses = misses;
        this.stream = stream;
        this.layout = layer.layout();
        this.table = layer.table();
        this.input = input;
        this.routing = routing;
        this.capturing = capturing;
    }

    @Override
    public final int rows() {
        return input.rows();
    }

    @Override
    public final Routing routing() {
        return routing;
    }

    @Override
    public final Tensor input() {
        return input;
    }

    @Override
    public final Stream stream() {
        return stream;
    }

    @Override
    public final boolean capturing() {
        return capturing;
    }

    @Override
    public void share(MissShare share) {
        misses.share(share, routing, input, false, List.of());
    }
}
