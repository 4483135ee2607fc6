package dev.strata.cuda;

import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.MissShare;
import dev.strata.device.NormedRows;
import dev.strata.device.Residual;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Which kernels choose and compute the experts of a layer, and in which runs where its placement has more than one. */
final class LayerExperts {
    private final CudaStream stream;
    private final Scratch scratch;
    private final Activations activations;
    private final ExpertKernels kernels;
    private final ExpertPromptKernels prompts;
    private final DecodeExperts fused;
    private final MissKernels misses;
    private final Map<Integer, Weight> routersBehind = new HashMap<>();

    /** @param fused the kernels for few rows */
    LayerExperts(
            CudaStream stream,
            Scratch scratch,
            Activations activations,
            ExpertKernels kernels,
            ExpertPromptKernels prompts,
            DecodeExperts fused,
            MissKernels misses) {
        this.stream = stream;
        this.scratch = scratch;
        this.activations = activations;
        this.kernels = kernels;
        this.prompts = prompts;
        this.fused = fused;
        this.misses = misses;
    }

    /** {@link dev.strata.device.Ops#route(RouterShape, Tensor, Routing)}. */
    void route(RouterShape shape, Tensor logits, Routing routing) {
        kernels.route(shape, logits, routing);
    }

    /** Norm, router product and choice by one kernel; false where none does them for this shape. The normed rows are in {@code in}'s scratch. */
    boolean route(RouterShape shape, Weight router, NormedRows in, Tensor logits, Routing routing) {
        if (!fused.routes(shape, in.rows().rows())) {
            return false;
        }
        fused.route(shape, router, in, logits, routing);
        activations.written(logits);
        activations.written(in.scratch());
        return true;
    }

    /** The router of the layer with experts behind this one. */
    void followedBy(ExpertLayer layer, Weight router) {
        routersBehind.put(((CudaExpertLayer) layer).layer(), router);
    }

    private List<Weight> nextRouters(int layer) {
        List<Weight> next = new ArrayList<>(MissShare.GUESSED_LAYERS);
        Weight router = routersBehind.get(layer);
        while (router != null && next.size() < MissShare.GUESSED_LAYERS) {
            next.add(router);
            router = routersBehind.get(layer + next.size());
        }
        return next;
    }

    /** {@link dev.strata.device.Ops#expect}. */
    void expect(ExpertLayer layer, Routing guess, int rows) {
        CudaExpertLayer own = (CudaExpertLayer) layer;
        ExpertPlacement placement = own.placement();
        if (placement != null) {
            placement.expect(own.layer(), guess, rows);
        }
    }

    /**
     * Adds the experts' and the shared expert's sum to the residual in few kernels; false where none do that for these rows, or the layer
     * comes in several runs.
     */
    boolean all(
            ExpertLayer layer,
            @Nullable SharedExpert shared,
            Tensor in,
            Routing routing,
            Residual into,
            boolean capturing) {
        CudaExpertLayer own = (CudaExpertLayer) layer;
        ExpertLayout layout = own.layout();
        ExpertPlacement placement = own.placement();
        int rows = in.rows();
        if ((placement != null && !placement.whole(own.layer()))
                || !fused.gates(layout, shared, rows)
                || !fused.sums(layout, shared, routing.used(), rows)) {
            return false;
        }
        compute(
                own,
                new FusedExpertGroups(
                        fused,
                        misses,
                        scratch,
                        stream,
                        own,
                        shared,
                        in,
                        routing,
                        into,
                        nextRouters(own.layer()),
                        capturing));
        activations.written(into.rows());
        return true;
    }

    /** {@link dev.strata.device.Ops#experts}. */
    void sum(ExpertLayer layer, Tensor in, Routing routing, Tensor out, boolean capturing) {
        CudaExpertLayer own = (CudaExpertLayer) layer;
        CudaExpertGroups groups =
                new CudaExpertGroups(kernels, prompts, misses, activations, stream, own, in, routing, out, capturing);
        compute(own, groups);
        groups.finish();
        activations.written(out);
    }

    private static void compute(CudaExpertLayer layer, LayerGroups groups) {
        ExpertPlacement placement = layer.placement();
        if (placement == null) {
            groups.run(0, layer.layout().experts());
        } else {
            placement.products(layer.layer(), groups);
        }
    }

    /** {@link dev.strata.device.Ops#sharedExpert}. */
    void shared(SharedExpert expert, Tensor in, Tensor into) {
        kernels.shared(expert, in, into);
    }
}
