package dev.strata.cuda;

import dev.strata.device.HyperWeights;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import org.jspecify.annotations.Nullable;

/** Launches the kernels of row_hyper.cu: a gated residual module of few rows. */
final class RowHyper {
    private static final int MOST_STREAMS = 4;
    private static final int MOST_RANK = 1024;

    /** Columns of a stream that a block keeps, and warps of a block of the first kernel. */
    private static final int MOST_COLUMNS = 8192;

    private static final int WARPS = 16;

    private final Launcher launcher;
    private final Scratch scratch;
    private final RowDecode row;
    private final DecodeForms forms;
    private final int sharedBytes;

    /** @param sharedBytes the most that a block may ask for */
    RowHyper(Launcher launcher, Scratch scratch, RowDecode row, DecodeForms forms, int sharedBytes) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.row = row;
        this.forms = forms;
        this.sharedBytes = sharedBytes;
    }

    /** A block's shared memory: one row of activations, then stored rows, {@code slot} bytes apart. */
    private record Layout(ActivationRoom room, int slot, int bytes) {
        static Layout of(Weight weight, int columns, long bytesOfRow, int tiles) {
            ActivationRoom room = ActivationRoom.of(0, 1, columns, DecodeShapes.hasOffset(weight.type()));
            return new Layout(
                    room, DecodeShapes.slot(bytesOfRow), room.end() + tiles * DecodeShapes.tileBytes(bytesOfRow));
        }
    }

    private static Layout first(Weight weight, int streams) {
        return Layout.of(weight, weight.inputs() / streams, weight.rowBytes() / streams, 1);
    }

    private static Layout second(Weight up, int streams) {
        return Layout.of(up, up.inputs(), up.rowBytes(), streams);
    }

    /** Whether every stream's part of a stored row is a number of whole blocks. */
    private boolean reads(Weight weight, int streams) {
        int columns = weight.inputs() / streams;
        return weight.inputs() % (32 * streams) == 0
                && columns <= MOST_COLUMNS
                && columns % weight.type().blockElements() == 0
                && first(weight, streams).bytes() <= sharedBytes;
    }

    /** Whether {@link #mix} can take the module. */
    boolean suits(HyperWeights weights, int rows) {
        int streams = weights.streams();
        Weight up = weights.up();
        Weight inject = weights.inject();
        return forms.fused(rows)
                && (streams == 1 || streams == 2 || streams == MOST_STREAMS)
                && reads(weights.down(), streams)
                && (inject == null || reads(inject, streams))
                && up.inputs() % 32 == 0
                && up.inputs() <= MOST_RANK
                && second(up, streams).bytes() <= sharedBytes;
    }

    /**
     * out [rows, hidden] = what the module reads from the streams.
     *
     * @param injections [rows, streams], how strongly every stream takes the block's output
     */
    void mix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor injections) {
        int rows = residual.rows();
        int streams = weights.streams();
        Weight down = weights.down();
        Weight inject = injections == null ? null : weights.inject();
        // Sums of four values are read at once, so what comes behind the low-rank values begins at a multiple of four.
        int outputs = down.outputs() + MOST_STREAMS;
        long low = scratch.address("sums of streams", 4L * rows * streams * outputs);
        long factors = scratch.address("norms of streams", 4L * rows * streams);
        Weight[] matrices = inject == null ? new Weight[] {down} : new Weight[] {down, inject};
        if (inject != null && inject.type() != down.type()) {
            sums(weights, residual, new Weight[] {down}, low, outputs, factors);
            sums(weights, residual, new Weight[] {inject}, low + 4L * down.outputs(), outputs, factors);
        } else {
            sums(weights, residual, matrices, low, outputs, factors);
        }
        Weight up = weights.up();
        Layout layout = second(up, streams);
        launcher.begin()
                .address(up.address())
                .integer((int) up.rowBytes())
                .real(up.scale())
                .integer(layout.slot())
                .integer(up.inputs())
                .integer(outputs)
                .integer(down.outputs())
                .integer(layout.room().sumsAt())
                .integer(layout.room().end())
                .address(low)
                .address(factors)
                .tensor(residual)
                .tensor(weights.norm())
                .integer(streams)
                .integer(out.columns())
                .tensor(out)
                .tensor(inject == null ? null : injections)
                .launch(
                        row.hyper(up.type()),
                        Math.ceilDiv(out.columns(), DecodeShapes.OUTPUTS),
                        rows,
                        1,
                        256,
                        layout.bytes());
    }

    /** Products of every stream with matrices of one type, one behind the other from {@code low} on. */
    private void sums(HyperWeights weights, Tensor residual, Weight[] matrices, long low, int outputs, long factors) {
        int streams = weights.streams();
        Weight first = matrices[0];
        Layout layout = first(first, streams);
        launcher.begin();
        int tiles = 0;
        for (int i = 0; i < 2; i++) {
            Weight matrix = matrices[Math.min(i, matrices.length - 1)];
            RowDecode.matrix(
                    launcher,
                    matrix,
                    low + (i == 0 ? 0 : 4L * first.outputs()),
                    tiles,
                    ProductMode.STORE,
                    matrix.scale() / streams);
            tiles += i < matrices.length ? Math.ceilDiv(matrix.outputs(), DecodeShapes.OUTPUTS) : 0;
        }
        launcher.integer(matrices.length)
                .tensor(residual)
                .tensor(weights.norm())
                .real(weights.epsilon())
                .integer(first.inputs() / streams)
                .integer(layout.slot())
                .integer(layout.room().sumsAt())
                .integer(layout.room().end())
                .integer((int) (first.rowBytes() / streams))
                .integer(outputs)
                .address(factors)
                .launch(row.streams(first.type()), tiles, residual.rows(), streams, 32 * WARPS, layout.bytes());
    }
}
