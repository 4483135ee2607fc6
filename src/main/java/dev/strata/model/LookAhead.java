package dev.strata.model;

import dev.strata.device.ExpertLayer;
import dev.strata.device.Ops;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;

/** Guesses the next layer's experts by applying its router to this layer's input, so that they are read while this layer computes. */
final class LookAhead {
    /** Most rows of a pass that is worth guessing for; a prompt's passes need nearly every expert anyway. */
    static final int MOST_ROWS = 8;

    private final Ops ops;
    private final RouterShape shape;
    private final Weight router;
    private final ExpertLayer layer;
    private final Routing guess;
    private final Tensor logits;

    private LookAhead(Workspace workspace, RouterShape shape, Weight router, ExpertLayer layer, Routing guess) {
        this.ops = workspace.backend().ops();
        this.shape = shape;
        this.router = router;
        this.layer = layer;
        this.guess = guess;
        this.logits = workspace.tensor("guessed router logits", MOST_ROWS, shape.experts());
    }

    /**
     * Looks from a layer to the next one.
     *
     * @param router of the next layer
     * @param layer the next layer's experts
     * @param used experts that a row uses
     */
    static LookAhead to(Workspace workspace, RouterShape shape, Weight router, ExpertLayer layer, int used) {
        return new LookAhead(
                workspace, shape, router, layer, workspace.backend().routing(MOST_ROWS, used));
    }

    /** Tells the next layer's experts what they will probably be asked for; {@code x} is what this layer's router reads. */
    void guess(Tensor x) {
        if (x.rows() <= MOST_ROWS) {
            ops.matmul(router, x, logits.rows(x.rows()));
            ops.route(shape, logits.rows(x.rows()), guess);
            ops.expect(layer, guess, x.rows());
        }
    }
}
