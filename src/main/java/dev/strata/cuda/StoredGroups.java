package dev.strata.cuda;

import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;

/** Launches the kernels of gemm_stored.cu: products of routed experts with few rows each, weights as stored. */
final class StoredGroups {
    /** Up to this many rows an expert, on average, reading its weights as stored is faster than expanding them first. */
    private static final int MOST_ROWS = 64;

    /** Rows of one tile. */
    static final int ROWS = 64;

    private static final int WARPS = 4;

    /** Of stored rows that a warp has on their way or at work. */
    private static final int PIECES = 3;

    private final Launcher launcher;
    private final StoredTypes types;
    private final CudaOptions options;

    StoredGroups(Launcher launcher, StoredTypes types, CudaOptions options) {
        this.launcher = launcher;
        this.types = types;
        this.options = options;
    }

    /** Whether the experts' matrices are read as stored for {@code pairs} pairs of rows and experts. */
    boolean suits(ExpertLayout layout, long pairs) {
        return options.precision() == Precision.MIXED
                && !options.deterministic()
                && layout.gateType() == layout.upType()
                && types.readByPrompts(layout.gateType())
                && types.readByPrompts(layout.downType())
                && layout.hidden() % 2 == 0
                && pairs <= (long) MOST_ROWS * layout.experts();
    }

    /** The most tiles that so many experts can have of {@code pairs} pairs of {@code rows} rows. */
    static int mostTiles(int pairs, int rows, int experts) {
        long full = (long) experts * Math.ceilDiv(rows, ROWS);
        return (int) Math.min(full, Math.min(pairs, experts) + (long) pairs / ROWS);
    }

    /** Shared memory of a block. */
    static int sharedBytes(StoredPiece piece) {
        return piece.sharedBytes(WARPS, PIECES);
    }

    /**
     * {@link Products#GATED_PART} of silu(gate x) * (up x) of every pair as float16 [pairs, padded(intermediate)], of experts {@code first} ..
     * {@code first + number - 1}.
     *
     * @param x rounded activations of all rows
     */
    void gateUp(
            ExpertLayout layout,
            long table,
            ExpertPromptKernels.Grouping grouping,
            int first,
            int number,
            long x,
            long values) {
        long tail = layout.scaled() ? layout.tailOffset() : 0;
        begin(table, grouping, grouping.sources(), 0, layout.upOffset(), tail);
        launch(
                layout.gateType(),
                grouping,
                first,
                number,
                layout.intermediate(),
                layout.hidden(),
                StoredPiece.OUTPUTS / 2,
                x,
                Activations.padded(layout.intermediate()),
                values);
    }

    /** The down products of every pair's values: float16 [pairs, hidden]. */
    void down(
            ExpertLayout layout,
            long table,
            ExpertPromptKernels.Grouping grouping,
            int first,
            int number,
            long values,
            long results) {
        long tail = layout.scaled() ? layout.tailOffset() + 8 : 0;
        begin(table, grouping, 0, layout.downOffset(), 0, tail);
        launch(
                layout.downType(),
                grouping,
                first,
                number,
                layout.hidden(),
                layout.intermediate(),
                StoredPiece.OUTPUTS,
                values,
                layout.hidden(),
                results);
    }

    private void begin(
            long table, ExpertPromptKernels.Grouping grouping, long sources, long offset, long second, long tail) {
        launcher.begin()
                .address(table)
                .address(grouping.starts())
                .address(grouping.tileStarts())
                .address(grouping.tiles())
                .address(sources)
                .address(offset)
                .address(second)
                .address(tail);
    }

    private void launch(
            QuantType type,
            ExpertPromptKernels.Grouping grouping,
            int first,
            int number,
            int outputs,
            int columns,
            int outputsOfAWarp,
            long x,
            int outColumns,
            long out) {
        StoredPiece piece = StoredPiece.of(type);
        launcher.address(type.bytes(columns))
                .integer(first)
                .integer(number)
                .integer(outputs)
                .integer(columns);
        piece.arguments(launcher)
                .address(x)
                .integer(Activations.padded(columns))
                .integer(outColumns)
                .address(out)
                .launch(
                        types.prompt(type).group(),
                        Math.ceilDiv(outputs, WARPS * outputsOfAWarp),
                        mostTiles(grouping.pairs(), grouping.rows(), number),
                        1,
                        32 * WARPS,
                        sharedBytes(piece));
    }
}
