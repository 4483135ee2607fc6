package dev.strata.cuda;

import dev.strata.device.Tensor;
import dev.strata.device.Weight;

/** Launches the kernels of gemm_stored.cu for dense matrices: products with the rows of short prompts, weights as stored. */
final class StoredProducts {
    /** Matrices of one launch. */
    static final int MOST = 6;

    /** Up to this many rows reading the weights as stored is faster than expanding them first. */
    private static final int MOST_ROWS = 128;

    /** Rows of one tile. */
    private static final int ROWS = 32;

    /** Of a block: they share the columns. */
    private static final int WARPS = 8;

    /** Of stored rows that a warp has on their way or at work. */
    private static final int PIECES = 2;

    private final Launcher launcher;
    private final StoredTypes types;
    private final CudaOptions options;

    StoredProducts(Launcher launcher, StoredTypes types, CudaOptions options) {
        this.launcher = launcher;
        this.types = types;
        this.options = options;
    }

    /** Shared memory of a block: that of the ring, which then holds the sums of all warps. */
    static int sharedBytes(StoredPiece piece) {
        return Math.max(piece.sharedBytes(WARPS, PIECES), WARPS * ROWS * (StoredPiece.OUTPUTS + 1) * Float.BYTES);
    }

    /** Whether a product of so many rows reads the weight as stored. */
    boolean suits(Weight weight, int rows) {
        return options.precision() == Precision.MIXED
                && !options.deterministic()
                && rows <= MOST_ROWS
                && types.readByPrompts(weight.type());
    }

    /**
     * out = mode(scale * W x), float32 [rows, outputs].
     *
     * @param x rounded activations
     */
    void multiply(Weight weight, long x, int rows, long out, ProductMode mode, float scale, long factors) {
        launcher.begin();
        for (int i = 0; i < MOST; i++) {
            matrix(weight, 0, out, weight.outputs(), 0, scale, 0);
        }
        launch(weight, 1, blocks(weight), x, rows, mode, factors);
    }

    /**
     * outs[i] = weights[i] x for matrices {@code which} of them, which are of one type.
     *
     * @param which indices of at most {@link #MOST} matrices
     */
    void multiply(Weight[] weights, int[] which, int count, long x, int rows, Tensor[] outs) {
        int block = 0;
        launcher.begin();
        for (int i = 0; i < MOST; i++) {
            Weight weight = weights[which[Math.min(i, count - 1)]];
            Tensor out = outs[which[Math.min(i, count - 1)]];
            matrix(weight, 0, out.address(), weight.outputs(), block, weight.scale(), 0);
            block += i < count ? blocks(weight) : 0;
        }
        launch(weights[which[0]], count, block, x, rows, ProductMode.STORE, 0);
    }

    /** {@link Products#GATED_PART} of silu(gate x) * (up x), float16 [rows, columns], of matrices of one type. */
    void swiglu(Weight gate, Weight up, long x, int rows, long out, int columns) {
        launcher.begin();
        for (int i = 0; i < MOST; i++) {
            matrix(gate, up.address(), out, columns, 0, gate.scale(), up.scale());
        }
        launch(gate, 1, 2 * blocks(gate), x, rows, ProductMode.SWIGLU_F16, 0);
    }

    private static int blocks(Weight weight) {
        return Math.ceilDiv(weight.outputs(), StoredPiece.OUTPUTS);
    }

    private void matrix(Weight weight, long up, long out, int outColumns, int firstBlock, float scale, float upScale) {
        launcher.address(weight.address())
                .address(up)
                .address(out)
                .integer(weight.outputs())
                .integer(outColumns)
                .integer(firstBlock)
                .real(scale)
                .real(upScale);
    }

    /** @param weight one of the matrices, which have type and columns in common */
    private void launch(Weight weight, int count, int blocks, long x, int rows, ProductMode mode, long factors) {
        StoredPiece piece = StoredPiece.of(weight.type());
        launcher.address(weight.rowBytes()).integer(count).integer(weight.inputs());
        piece.arguments(launcher)
                .address(x)
                .integer(rows)
                .integer(Activations.padded(weight.inputs()))
                .integer(mode.code())
                .address(factors)
                .launch(
                        types.prompt(weight.type()).dense(),
                        blocks,
                        Math.ceilDiv(rows, ROWS),
                        1,
                        32 * WARPS,
                        sharedBytes(piece));
    }
}
