package dev.strata.cuda;

import dev.strata.device.MissShare;
import dev.strata.device.Residual;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Launches the kernels of misses.cu: missed experts of a decode step are shared between card and processor. */
final class MissKernels {
    /** Enough reads on their way to fill the link, which no few multiprocessors have room for; most layers have nothing to pull and wait for these blocks only. */
    private static final int PULLING_BLOCKS = 64;

    /** Types of routers that {@code share_row} reads. */
    private static final List<QuantType> ROUTERS =
            List.of(QuantType.F32, QuantType.F16, QuantType.BF16, QuantType.Q8_0);

    /** Of a block of {@code share_row} or {@code pull_blobs}. */
    private static final int WARPS = 16;

    /** Experts of a row that {@code share_row} plans for. */
    private static final int MOST_USED = 32;

    /** Columns that a warp of {@code share_row} takes at most. */
    private static final int COLUMNS_OF_A_WARP = 768;

    private final Launcher launcher;
    private final Kernel share;
    private final Kernel pull;
    private final Map<QuantType, Kernel> row = new EnumMap<>(QuantType.class);
    private final Kernel await;
    private final Kernel sum;
    private final Kernel add;

    MissKernels(Launcher launcher, Kernels kernels) {
        this.launcher = launcher;
        share = kernels.chained("share_misses", 0);
        pull = kernels.chained("pull_blobs", 0);
        for (QuantType type : ROUTERS) {
            row.put(type, kernels.chained("share_row_" + type.name().toLowerCase(Locale.ROOT), 0));
        }
        await = kernels.chained("await_answer", 0);
        sum = kernels.chained("sum_with_answer", 0);
        add = kernels.chained("add_answer", 0);
    }

    /**
     * Splits the routed experts, asks the host for its part and brings the card's missed blobs into spare slots.
     *
     * @param grouped whether rows have been grouped by the router's choice, which has to stay as it is then
     * @param routers those of the next layers, which may be applied to guess what they will need
     */
    void share(MissShare share, Routing routing, Tensor input, boolean grouped, List<Weight> routers) {
        int pairs = input.rows() * routing.used();
        if (pairs > MissShare.MOST_PAIRS || share.layout().experts() > MissShare.MOST_EXPERTS) {
            throw new IllegalArgumentException(
                    pairs + " pairs of " + share.layout().experts()
                            + " experts are too many to share: at most " + MissShare.MOST_PAIRS + " of "
                            + MissShare.MOST_EXPERTS);
        }
        if (input.rows() == 1 && !grouped && share.tailSkip() == 0 && share.spares() > 0 && pairs <= MOST_USED) {
            shareRow(share, routing, input, routers);
            return;
        }
        MissShare.Meeting meeting = share.meeting();
        launcher.begin()
                .address(share.table().address())
                .address(routing.ids().address())
                .address(pairs <= share.mostNotes() ? share.notes() : 0)
                .tensor(routing.weights())
                .integer(grouped ? 0 : share.tailSkip())
                .integer(pairs)
                .integer(routing.used())
                .address(share.cacheAddress())
                .address(share.cacheBytes())
                .address(meeting == null ? 0 : meeting.shares().address())
                .integer(meeting == null ? 0 : meeting.mostMisses())
                .address(share.spareAddress())
                .address(share.spareStride())
                .integer(share.spares())
                .integer(share.layout().experts())
                .integer(share.layer())
                .address(share.planned().address())
                .address(share.pulls().address())
                .address(share.state().address())
                .address(meeting == null ? 0 : meeting.question().address())
                .tensor(input)
                .integer(input.columns())
                .launch(this.share, 1, 256);
        if (share.spares() > 0) {
            launcher.begin()
                    .address(share.pulls().address())
                    .address(blobBytes(share))
                    .launch(pull, PULLING_BLOCKS, 32 * WARPS);
        }
    }

    private static long blobBytes(MissShare share) {
        return (share.layout().blobBytes() + 15) & -16;
    }

    /** How many of the next layers can be guessed from a row: all by routers of one kind. */
    private int guessed(MissShare.@Nullable Guess guess, List<Weight> routers) {
        int most = guess == null ? 0 : Math.min(guess.layers(), routers.size());
        int count = 0;
        while (count < most
                && row.containsKey(routers.get(count).type())
                && routers.get(count).type() == routers.getFirst().type()
                && routers.get(count).inputs() % 32 == 0
                && routers.get(count).inputs() <= WARPS * COLUMNS_OF_A_WARP) {
            count++;
        }
        return count;
    }

    /** All of it for one row, which may guess what the next layers need. */
    private void shareRow(MissShare share, Routing routing, Tensor input, List<Weight> routers) {
        MissShare.Meeting meeting = share.meeting();
        MissShare.Guess guess = share.guess();
        int guessed = guessed(guess, routers);
        int experts = 0;
        for (Weight router : routers.subList(0, guessed)) {
            experts = Math.max(experts, router.outputs());
        }
        int parts = 1;
        while (parts < WARPS
                && (experts * parts < WARPS * PULLING_BLOCKS || input.columns() > parts * COLUMNS_OF_A_WARP)) {
            parts *= 2;
        }
        int blocks = Math.max(PULLING_BLOCKS, Math.ceilDiv(experts * parts, WARPS));
        launcher.begin()
                .address(share.table().address())
                .address(routing.ids().address())
                .address(routing.used() <= share.mostNotes() ? share.notes() : 0)
                .address(share.cacheAddress())
                .address(share.cacheBytes())
                .address(meeting == null ? 0 : meeting.shares().address())
                .address(share.spareAddress())
                .address(share.spareStride())
                .address(blobBytes(share))
                .address(share.planned().address())
                .address(share.state().address())
                .address(meeting == null ? 0 : meeting.question().address())
                .tensor(input)
                .address(guess == null ? 0 : guess.comingAddress())
                .address(guess == null ? 0 : guess.arrived().address());
        for (int i = 0; i < MissShare.GUESSED_LAYERS; i++) {
            launcher.address(i < guessed ? routers.get(i).address() : 0);
        }
        launcher.address(guessed > 0 ? routers.getFirst().rowBytes() : 0);
        for (int i = 0; i < MissShare.GUESSED_LAYERS; i++) {
            launcher.address(guess == null ? 0 : guess.products(i));
        }
        launcher.integer(routing.used())
                .integer(meeting == null ? 0 : meeting.mostMisses())
                .integer(share.spares())
                .integer(share.layer())
                .integer(input.columns())
                .integer(guessed > 0 ? share.layer() + 1 : 0);
        for (int i = 0; i < MissShare.GUESSED_LAYERS; i++) {
            launcher.integer(i < guessed ? routers.get(i).outputs() : 0);
        }
        launcher.integer(parts)
                .integer(blocks)
                .launch(
                        Objects.requireNonNull(
                                row.get(guessed > 0 ? routers.getFirst().type() : QuantType.F32)),
                        guessed > 1 ? 2 * blocks : blocks,
                        32 * WARPS);
    }

    /** Takes over what the host computed. */
    void await(MissShare share, MissShare.Meeting meeting, Routing routing, Tensor results) {
        answer(share, meeting, routing)
                .integer(results.columns())
                .tensor(results)
                .launch(await, results.rows(), 256);
    }

    /** The weighted sum over every row's experts, with what the host computed when it was asked. */
    void sum(MissShare share, MissShare.Meeting meeting, Routing routing, long results, Tensor out) {
        answer(share, meeting, routing)
                .address(results)
                .tensor(routing.weights())
                .integer(routing.used())
                .integer(out.columns())
                .tensor(out)
                .launch(sum, out.rows(), Math.ceilDiv(out.columns(), 256), 1, 256, 0);
    }

    /** Adds the weighted sum of what the host computed to a residual that has the sum of the other experts. */
    void add(MissShare share, MissShare.Meeting meeting, Routing routing, Residual into) {
        Tensor inject = into.inject();
        int rows = into.rows().rows();
        int columns = share.layout().hidden();
        answer(share, meeting, routing)
                .tensor(routing.weights())
                .integer(routing.used())
                .integer(columns)
                .tensor(inject)
                .integer(inject == null ? 1 : inject.columns())
                .tensor(into.rows())
                .launch(add, rows, Math.ceilDiv(columns, 256), 1, 256, 0);
    }

    /** Starts the arguments of a kernel that reads what the host answered. */
    private Launcher answer(MissShare share, MissShare.Meeting meeting, Routing routing) {
        return launcher.begin()
                .address(routing.ids().address())
                .address(share.planned().address())
                .address(share.state().address())
                .address(meeting.question().address())
                .address(meeting.answer().address());
    }
}
