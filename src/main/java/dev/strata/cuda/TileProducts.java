package dev.strata.cuda;

import org.jspecify.annotations.Nullable;

/**
 * Products of float16 matrices on tensor cores, dense and grouped by expert: with wgmma where that is wanted (gemm_hopper.cu), else with
 * mma.sync (gemm.cu).
 */
final class TileProducts {
    private static final int WARP_TILE = 128;
    private static final int WARP_SHARED_BYTES = 96 << 10;
    private static final int GROUP_OUTPUTS = 128;
    private static final int GROUP_BOX = 64;
    private static final int GROUP_MOST_TOKENS = 256;
    private static final int GROUP_SHARED_BYTES = (4 * 6 << 13) + 1024 + 64 + 2048;

    /** Time that a tile takes beside its products, in tokens. */
    private static final int TILE_OVERHEAD_TOKENS = 24;

    private final Launcher launcher;
    private final boolean groups;
    private final int multiprocessors;
    private final Kernel dense;
    private final Kernel grouped;
    private final Kernel warpDense;
    private final Kernel warpGrouped;
    private final Kernel gather;
    private final @Nullable Kernel activate;

    /** @param groups whether the card has wgmma */
    TileProducts(Launcher launcher, Kernels kernels, boolean groups, int multiprocessors) {
        this.launcher = launcher;
        this.groups = groups;
        this.multiprocessors = multiprocessors;
        this.warpDense = kernels.get("gemm_dense", WARP_SHARED_BYTES);
        this.dense = groups ? kernels.get("gemm_hopper_dense", GROUP_SHARED_BYTES) : warpDense;
        this.warpGrouped = kernels.get("gemm_grouped", WARP_SHARED_BYTES);
        this.grouped = groups ? kernels.get("gemm_hopper_grouped", GROUP_SHARED_BYTES) : warpGrouped;
        this.gather = kernels.get("gather_halves");
        this.activate = groups ? kernels.get("activate_values") : null;
    }

    int multiprocessors() {
        return multiprocessors;
    }

    /** Whether rows have to be in the order of the pairs for {@link #grouped}. */
    boolean gathers() {
        return groups;
    }

    /**
     * out[rows][columns] = mode(scale * left right^T) in its first {@code used} columns.
     *
     * @param left [rows, depth], float16
     * @param right [outputs, depth], float16
     */
    void dense(
            long left,
            long right,
            int rows,
            int outputs,
            int depth,
            long out,
            int columns,
            int used,
            ProductMode mode,
            float scale,
            long factors) {
        boolean afterwards = mode == ProductMode.SILU || mode == ProductMode.TWICE_SIGMOID;
        Kernel activation = activate;
        if (activation != null && afterwards && outputs == columns && outputs % 2 == 0) {
            dense(left, right, rows, outputs, depth, out, columns, used, ProductMode.STORE, scale, factors);
            long count = (long) rows * outputs;
            launcher.begin()
                    .address(out)
                    .flag(mode == ProductMode.TWICE_SIGMOID)
                    .address(count)
                    .launchOver(activation, count);
            return;
        }
        if (groups && suits(mode, outputs, columns)) {
            int wide = width(rows, outputs);
            launcher.begin(dense)
                    .matrix(right, depth, outputs)
                    .matrix(left, depth, rows)
                    .integer(rows)
                    .integer(outputs)
                    .integer(depth)
                    .integer(wide)
                    .address(out)
                    .integer(columns)
                    .integer(used)
                    .integer(mode.code())
                    .real(scale)
                    .address(factors)
                    .launch(
                            dense,
                            Math.min(multiprocessors, tiles(rows, outputs, wide)),
                            1,
                            1,
                            384,
                            GROUP_SHARED_BYTES);
            return;
        }
        launcher.begin()
                .address(left)
                .address(right)
                .integer(rows)
                .integer(outputs)
                .integer(depth)
                .address(out)
                .integer(columns)
                .integer(used)
                .integer(mode.code())
                .real(scale)
                .address(factors)
                .launch(
                        warpDense,
                        (long) Math.ceilDiv(rows, WARP_TILE) * Math.ceilDiv(outputs, WARP_TILE),
                        1,
                        1,
                        256,
                        WARP_SHARED_BYTES);
    }

    private static boolean suits(ProductMode mode, int outputs, int columns) {
        return outputs % 2 == 0
                && columns % 2 == 0
                && switch (mode) {
                    case STORE, ADD, ADD_SCALED, STORE_F16, SWIGLU_F16 -> true;
                    case SILU, TWICE_SIGMOID, INJECT -> false;
                };
    }

    private static long tiles(int rows, int outputs, int wide) {
        return (long) Math.ceilDiv(rows, wide) * Math.ceilDiv(outputs, GROUP_OUTPUTS);
    }

    /** Tokens of a tile, so that the busiest multiprocessor is done soonest. */
    private int width(int rows, int outputs) {
        int best = GROUP_MOST_TOKENS;
        long least = Long.MAX_VALUE;
        for (int wide = GROUP_MOST_TOKENS; wide >= GROUP_BOX; wide -= GROUP_BOX) {
            long time = Math.ceilDiv(tiles(rows, outputs, wide), multiprocessors) * (wide + TILE_OVERHEAD_TOKENS);
            if (time < least) {
                least = time;
                best = wide;
            }
        }
        return best;
    }

    /** Rows of experts {@code first .. first + number - 1} in the order of the pairs. */
    void gather(long from, ExpertPromptKernels.Grouping grouping, int first, int number, int depth, long out) {
        launcher.begin()
                .address(from)
                .address(grouping.sources())
                .address(grouping.starts())
                .integer(first)
                .integer(number)
                .integer(depth)
                .address(out)
                .launchOver(gather, (long) grouping.pairs() * depth / 8);
    }

    /**
     * The products of every group's rows with the matrix of its expert.
     *
     * @param sources the row of {@code left} of every pair, 0 where rows are in the order of the pairs (see {@link #gathers})
     * @param right matrices of the experts from {@code first} on, [outputs, depth] each
     */
    void grouped(
            long left,
            long sources,
            ExpertPromptKernels.Grouping grouping,
            int first,
            int number,
            long right,
            int outputs,
            int depth,
            long out,
            int columns,
            int used,
            ProductMode mode) {
        if (groups && suits(mode, outputs, columns)) {
            launcher.begin(grouped)
                    .matrix(right, depth, (long) number * outputs)
                    .matrix(left, depth, grouping.pairs())
                    .address(grouping.starts())
                    .integer(first)
                    .integer(number)
                    .integer(outputs)
                    .integer(depth)
                    .address(out)
                    .integer(columns)
                    .integer(used)
                    .integer(mode.code())
                    .launch(grouped, multiprocessors, 1, 1, 384, GROUP_SHARED_BYTES);
            return;
        }
        launcher.begin()
                .address(left)
                .address(sources)
                .address(grouping.starts())
                .integer(first)
                .integer(number)
                .address(right)
                .address((long) outputs * depth)
                .integer(outputs)
                .integer(depth)
                .address(out)
                .integer(columns)
                .integer(used)
                .integer(mode.code())
                .launch(warpGrouped, 2L * multiprocessors, 1, 1, 256, WARP_SHARED_BYTES);
    }
}
