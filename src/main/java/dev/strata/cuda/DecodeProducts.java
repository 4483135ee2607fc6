package dev.strata.cuda;

import dev.strata.device.NormedRows;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;

/** Launches decode_products: several matrices with the same few rows. */
final class DecodeProducts {
    /** Matrices of one launch. */
    private static final int MOST = 6;

    private final Launcher launcher;
    private final StoredTypes types;
    private final CudaOptions options;
    private final int sharedBytes;
    private final Kernel products;

    /** @param sharedBytes the most that a block may ask for */
    DecodeProducts(Launcher launcher, Kernels kernels, StoredTypes types, CudaOptions options, int sharedBytes) {
        this.launcher = launcher;
        this.types = types;
        this.options = options;
        this.sharedBytes = sharedBytes;
        this.products = kernels.get("decode_products", sharedBytes);
    }

    /** Whether passes of so many rows use the kernels of decode.cu. */
    boolean suits(int rows) {
        return options.fused()
                && rows > 0
                && rows <= DecodeShapes.ROWS
                && options.precision() == Precision.MIXED
                && !options.deterministic();
    }

    /** Whether the matrices fit one launch with {@code rows} rows. */
    boolean fits(int rows, Weight... weights) {
        return suits(rows) && weights.length <= MOST && layout(rows, weights).bytes() <= sharedBytes;
    }

    /** Offsets in shared memory: sums of groups (0: none), stored rows. */
    private record Layout(int stride, int sumsAt, int tileAt, int bytes) {}

    private static Layout layout(int rows, Weight... weights) {
        int columns = weights[0].inputs();
        int stride = DecodeShapes.stride(columns);
        int end = 2 * rows * stride;
        boolean sums = false;
        int tile = 0;
        for (Weight weight : weights) {
            sums |= DecodeShapes.hasOffset(weight.type());
            tile = Math.max(tile, DecodeShapes.tileBytes(DecodeShapes.pieceBytes(weight)));
        }
        int tileAt = DecodeShapes.aligned(end + (sums ? 4 * rows * DecodeShapes.groups(columns) : 0));
        return new Layout(stride, sums ? end : 0, tileAt, tileAt + tile);
    }

    /** outs[i] = weights[i] in, for matrices that {@link #fits} said yes to. */
    void multiply(Weight[] weights, NormedRows in, Tensor[] outs) {
        Layout layout = begin(weights, in.rows().rows());
        int block = 0;
        for (int i = 0; i < MOST; i++) {
            int at = Math.min(i, weights.length - 1);
            matrix(weights[at], outs[at], block, ProductMode.STORE, weights[at].scale());
            block += i < weights.length ? blocks(weights[i]) : 0;
        }
        launch(layout, weights.length, in, 0, block);
    }

    /** out = mode(scale * W in). */
    void multiply(Weight weight, Tensor in, Tensor out, ProductMode mode, float scale, long factors) {
        Layout layout = begin(new Weight[] {weight}, in.rows());
        for (int i = 0; i < MOST; i++) {
            matrix(weight, out, 0, mode, scale);
        }
        launch(layout, 1, NormedRows.plain(in), factors, blocks(weight));
    }

    private Layout begin(Weight[] weights, int rows) {
        launcher.begin();
        return layout(rows, weights);
    }

    private static int blocks(Weight weight) {
        return Math.ceilDiv(weight.outputs(), DecodeShapes.OUTPUTS);
    }

    private void matrix(Weight weight, Tensor out, int firstBlock, ProductMode mode, float scale) {
        long pieceBytes = DecodeShapes.pieceBytes(weight);
        launcher.address(weight.address())
                .tensor(out)
                .address(weight.rowBytes())
                .integer(weight.outputs())
                .integer(firstBlock)
                .integer(types.code(weight.type()))
                .integer(mode.code())
                .real(scale)
                .integer((int) pieceBytes)
                .integer(DecodeShapes.pieceColumns(weight))
                .integer(DecodeShapes.slot(pieceBytes));
    }

    private void launch(Layout layout, int count, NormedRows in, long factors, int blocks) {
        Tensor rows = in.rows();
        launcher.integer(count)
                .tensor(rows)
                .tensor(in.weight())
                .real(in.epsilon())
                .integer(rows.rows())
                .integer(rows.columns())
                .integer(layout.stride())
                .integer(layout.sumsAt())
                .integer(layout.tileAt())
                .address(factors)
                .launch(products, blocks, 1, 1, 256, layout.bytes());
    }
}
