package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.MissShare;
import dev.strata.device.Residual;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The products of one layer's experts for few rows, all in one run that adds their sum and the shared expert's to the residual. */
final class FusedExpertGroups extends LayerGroups {
    private final DecodeExperts kernels;
    private final Scratch scratch;
    private final @Nullable SharedExpert shared;
    private final Residual into;
    private final List<Weight> nextRouters;

    FusedExpertGroups(
            DecodeExperts kernels,
            MissKernels misses,
            Scratch scratch,
            CudaStream stream,
            CudaExpertLayer layer,
            @Nullable SharedExpert shared,
            Tensor input,
            Routing routing,
            Residual into,
            List<Weight> nextRouters,
            boolean capturing) {
        super(misses, stream, layer, input, routing, capturing);
        this.kernels = kernels;
        this.scratch = scratch;
        this.shared = shared;
        this.into = into;
        this.nextRouters = nextRouters;
    }

    @Override
    public void share(MissShare share) {
        misses.share(share, routing, input, false, nextRouters);
    }

    @Override
    public void run(int first, int count) {
        if (first != 0 || count != layout.experts()) {
            throw new IllegalStateException("experts " + first + " to " + (first + count - 1)
                    + " are computed alone in a layer that was to be one run");
        }
        long values = scratch.address("expert values, float32", 4L * rows() * routing.used() * layout.intermediate());
        kernels.gateUp(layout, table, shared, input, routing, 0, count, values);
        kernels.down(layout, table, shared, routing, rows(), values, into);
    }

    @Override
    public void others(Buffer results, long offset) {
        throw new IllegalStateException("results are summed up as they come");
    }

    @Override
    public void nothing() {}

    @Override
    public void answer(MissShare share) {
        MissShare.Meeting meeting = share.meeting();
        if (meeting != null) {
            misses.add(share, meeting, routing, into);
        }
    }
}
