package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.MissShare;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The products of one layer's experts in one pass. */
final class CudaExpertGroups extends LayerGroups {
    private static final String PAIR_RESULTS = "expert results, float32";

    private final ExpertKernels kernels;
    private final ExpertPromptKernels prompts;
    private final Activations activations;
    private final Tensor out;
    private final int pairs;
    private final ExpertPromptKernels.@Nullable Grouping grouping;
    private long others;
    private @Nullable MissShare answered;
    private boolean summed;
    private boolean empty;
    /** Whether the processor computes some of the pairs. */
    private boolean meets;

    CudaExpertGroups(
            ExpertKernels kernels,
            ExpertPromptKernels prompts,
            MissKernels misses,
            Activations activations,
            CudaStream stream,
            CudaExpertLayer layer,
            Tensor input,
            Routing routing,
            Tensor out,
            boolean capturing) {
        super(misses, stream, layer, input, routing, capturing);
        this.kernels = kernels;
        this.prompts = prompts;
        this.activations = activations;
        this.out = out;
        this.pairs = input.rows() * routing.used();
        this.grouping = prompts.grouped(layout, input.rows(), routing.used(), layer.split())
                ? prompts.group(routing, input.rows(), layout.experts())
                : null;
    }

    @Override
    public void run(int first, int count) {
        if (count <= 0) {
            return;
        }
        if (grouping != null) {
            prompts.multiplyGroups(layout, table, grouping, activations.rounded(input), first, count, groupedResults());
            return;
        }
        long values = kernels.scratch().address("expert values, float32", 4L * pairs * layout.intermediate());
        kernels.gateUp(layout, table, input, routing, first, count, values);
        if (first == 0 && count == layout.experts() && others == 0 && !meets) {
            kernels.downRows(layout, table, routing, input.rows(), values, out);
            summed = true;
        } else {
            kernels.downPairs(layout, table, routing, pairs, first, count, values, pairResults());
        }
    }

    private long groupedResults() {
        return kernels.scratch().address("expert results", 2L * pairs * layout.hidden());
    }

    private long pairResults() {
        return kernels.scratch().address(PAIR_RESULTS, 4L * pairs * layout.hidden());
    }

    @Override
    public void others(Buffer results, long offset) {
        others = results.address() + offset;
    }

    @Override
    public void nothing() {
        empty = true;
        // Passes of few rows have their pairs here, and are captured, when nothing can be allocated.
        int most = grouping == null ? pairs : Math.min(pairs, ExpertPromptKernels.ROWS_BY_PAIR * routing.used());
        kernels.scratch().address(PAIR_RESULTS, 4L * most * layout.hidden());
    }

    @Override
    public void share(MissShare share) {
        meets = share.meeting() != null;
        misses.share(share, routing, input, grouping != null, List.of());
    }

    @Override
    public void answer(MissShare share) {
        MissShare.Meeting meeting = share.meeting();
        if (meeting == null) {
            return;
        }
        if (grouping == null) {
            answered = share;
        } else {
            Tensor results = kernels.scratch().tensor(PAIR_RESULTS, pairs, layout.hidden());
            others = results.address();
            misses.await(share, meeting, routing, results);
        }
    }

    /** Sums up, after all groups. */
    void finish() {
        if (empty) {
            prompts.clear(out);
        }
        if (empty || summed) {
            return;
        }
        MissShare share = answered;
        if (share != null && share.meeting() != null) {
            misses.sum(share, share.meeting(), routing, pairResults(), out);
            return;
        }
        if (grouping != null) {
            prompts.combine(groupedResults(), true, grouping.places(), routing, others, table, out);
        } else {
            prompts.combine(pairResults(), false, 0, routing, others, table, out);
        }
    }
}
