package dev.strata.cuda;

import dev.strata.device.MissAhead;
import dev.strata.device.MissShare;
import dev.strata.device.NormedRows;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import org.jspecify.annotations.Nullable;

/**
 * Pulls what the next layer will probably choose over the link beside the work of this one, on a stream of its own. Captured passes hold both branches.
 * The guess reads rows that a later layer writes again, long after; should it ever be as late, it guesses badly, which changes no result.
 */
final class MissesAhead implements AutoCloseable {
    /** Blocks that pull one blob after the other: enough reads on their way to fill the link, on few multiprocessors. */
    private static final int BLOCKS = 8;

    /** Part of the ranks whose guesses are mostly right; a wrong one takes the link's time from others. */
    private static final double SURE = 0.75;

    private static final int NONE = -1;

    private final CudaStream main;
    private final CudaStream beside;
    private final CudaEvent begun = CudaEvent.create();
    private final CudaEvent pulled = CudaEvent.create();
    private final Launcher launcher;
    private final DecodeExperts experts;
    private final Kernel plan;
    private final Kernel pull;
    private final CudaEvent met = CudaEvent.create();
    private int guessed = NONE;
    private @Nullable MissAhead planned;

    /**
     * @param beside what the guesses are made on; stays its maker's, as does {@code launcher}
     * @param launcher launches on {@code beside}
     * @param experts launches the router with it
     */
    MissesAhead(CudaStream main, CudaStream beside, Launcher launcher, DecodeExperts experts, Kernels kernels) {
        this.main = main;
        this.beside = beside;
        this.launcher = launcher;
        this.experts = experts;
        plan = kernels.get("plan_ahead");
        pull = kernels.get("pull_blobs");
    }

    /** Whether the guess can be made for so many rows. */
    boolean suits(RouterShape shape, Weight router, int rows) {
        return experts.routes(shape, router, rows) && rows * shape.used() <= MissShare.MOST_PAIRS;
    }

    /**
     * Guesses what a later layer chooses, behind what is queued so far, and pulls what it misses: at once, or where the processor is asked for a
     * part of the running layer, behind its answer.
     *
     * @param router of the later layer
     * @param x normed rows of the layer that runs now
     * @param logits room of the guess
     * @param guess receives its choice
     */
    void begin(MissAhead ahead, RouterShape shape, Weight router, Tensor x, Tensor logits, Routing guess) {
        MissShare share = ahead.share();
        begun.record(main);
        beside.waitFor(begun);
        experts.route(shape, router, NormedRows.plain(x), logits, guess);
        launcher.begin()
                .address(share.table().address())
                .address(guess.ids().address())
                .integer(x.rows())
                .integer(shape.used())
                .integer((int) Math.ceil(SURE * shape.used()))
                .integer(ahead.most())
                .address(share.cacheAddress())
                .address(share.cacheBytes())
                .address(share.spareAddress())
                .address(share.spareStride())
                .integer(ahead.firstSpare())
                .integer(ahead.spares())
                .integer(share.layout().experts())
                .address(share.guessed())
                .address(ahead.pulls().address())
                .address(share.state().address())
                .launch(plan, 1, 256);
        guessed = share.layer();
        planned = ahead;
        if (share.meeting() == null) {
            pull(ahead);
        }
    }

    private void pull(MissAhead ahead) {
        launcher.begin()
                .address(ahead.pulls().address())
                .address(MissKernels.pulledBytes(ahead.share().layout()))
                .launch(pull, BLOCKS, 1, 1, 512, 0);
        pulled.record(beside);
        planned = null;
    }

    /** The processor has answered the layer that runs now, so that what was planned meanwhile has link and RAM for itself. */
    void met() {
        MissAhead waiting = planned;
        if (waiting != null) {
            met.record(main);
            beside.waitFor(met);
            pull(waiting);
        }
    }

    /** The layer whose experts were guessed last, negative when none were since this was asked; what is queued from here on finds them. */
    int join() {
        int layer = guessed;
        if (layer != NONE) {
            met();
            guessed = NONE;
            main.waitFor(pulled);
        }
        return layer;
    }

    /** A pass begins: a guess that one before it gave up is nobody's. */
    void forget() {
        guessed = NONE;
        planned = null;
    }

    @Override
    public void close() {
        begun.close();
        met.close();
        pulled.close();
    }
}
