package dev.strata.cuda;

import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.MissShare;
import dev.strata.device.Residual;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** The products of one layer's experts for few rows, all in one run that adds their sum and the shared expert's to the residual. */
final class FusedExpertGroups implements ExpertGroups {
    private final DecodeExperts kernels;
    private final MissKernels misses;
    private final Scratch scratch;
    private final CudaStream stream;
    private final ExpertLayout layout;
    private final long table;
    private final @Nullable SharedExpert shared;
    private final Tensor input;
    private final Routing routing;
    private final Residual into;
    private final boolean capturing;

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
            boolean capturing) {
        this.kernels = kernels;
        this.misses = misses;
        this.scratch = scratch;
        this.stream = stream;
        this.layout = layer.layout();
        this.table = layer.table();
        this.shared = shared;
        this.input = input;
        this.routing = routing;
        this.into = into;
        this.capturing = capturing;
    }

    @Override
    public int rows() {
        return input.rows();
    }

    @Override
    public Routing routing() {
        return routing;
    }

    @Override
    public Tensor input() {
        return input;
    }

    @Override
    public Stream stream() {
        return stream;
    }

    @Override
    public boolean capturing() {
        return capturing;
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
    public Tensor results() {
        throw new IllegalStateException("results are summed up as they come");
    }

    @Override
    public void share(MissShare share) {
        misses.share(share, routing, input);
    }

    @Override
    public void answer(MissShare share) {
        MissShare.Meeting meeting = share.meeting();
        if (meeting != null) {
            misses.add(share, meeting, routing, into);
        }
    }
}
