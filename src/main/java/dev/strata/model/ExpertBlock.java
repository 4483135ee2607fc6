package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.ExpertLayer;
import dev.strata.device.NormedRows;
import dev.strata.device.Ops;
import dev.strata.device.Residual;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import org.jspecify.annotations.Nullable;

/** Mixture of experts: router, routed experts and, where the family has one, the shared expert. */
final class ExpertBlock {
    private final Ops ops;
    private final RouterShape shape;
    private final Weight router;
    private final ExpertLayer experts;
    private final @Nullable SharedExpert shared;
    private final Routing routing;
    private final Tensor logits;
    private @Nullable LookAhead ahead;

    private ExpertBlock(
            Workspace workspace,
            RouterShape shape,
            Weight router,
            ExpertLayer experts,
            @Nullable SharedExpert shared,
            Routing routing) {
        this.ops = workspace.backend().ops();
        this.shape = shape;
        this.router = router;
        this.experts = experts;
        this.shared = shared;
        this.routing = routing;
        this.logits = workspace.tensor("router logits", shape.experts());
    }

    static ExpertBlock create(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            ExpertLayer layerExperts,
            Routing routing) {
        Backend backend = workspace.backend();
        Hyperparameters.Experts experts = sizes.experts();
        return new ExpertBlock(
                workspace,
                new RouterShape(experts.count(), experts.used(), experts.renormalise(), experts.scale()),
                backend.weight(weights.matrix(Role.ROUTER, layer, experts.count(), sizes.hidden())),
                layerExperts,
                experts.sharedIntermediate() == 0
                        ? null
                        : shared(backend, weights, layer, sizes.hidden(), experts.sharedIntermediate()),
                routing);
    }

    private static SharedExpert shared(Backend backend, Weights weights, int layer, int hidden, int intermediate) {
        return new SharedExpert(
                backend.weight(weights.matrix(Role.SHARED_GATE, layer, intermediate, hidden)),
                backend.weight(weights.matrix(Role.SHARED_UP, layer, intermediate, hidden)),
                backend.weight(weights.matrix(Role.SHARED_DOWN, layer, hidden, intermediate)),
                backend.parameter(weights.parameter(Role.SHARED_SCALAR, layer, 1, hidden)));
    }

    /** Lets this layer guess what {@code later} will need. */
    void lookAheadTo(ExpertBlock later, Workspace workspace) {
        ops.followedBy(experts, later.router);
        if (later.experts.readsAhead()) {
            ahead = LookAhead.to(workspace, later.shape, later.router, later.experts, routing.used());
        }
    }

    /**
     * Adds the experts' sum for every row of {@code x} to {@code into}.
     *
     * @param room for the sum, [rows, hidden]
     */
    void forward(NormedRows x, Tensor room, Residual into) {
        Tensor read = ops.route(shape, router, x, logits.rows(x.rows().rows()), routing);
        if (ahead != null) {
            ahead.guess(read);
        }
        ops.allExperts(experts, shared, read, routing, room, into);
    }
}
