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
    private final DecodeForms forms;
    private final int sharedBytes;
    private final RowDecode row;
    private final Kernel products;

    /** @param sharedBytes the most that a block may ask for */
    DecodeProducts(
            Launcher launcher, Kernels kernels, StoredTypes types, DecodeForms forms, RowDecode row, int sharedBytes) {
        this.launcher = launcher;
        this.types = types;
        this.forms = forms;
        this.sharedBytes = sharedBytes;
        this.row = row;
        this.products = kernels.chained("decode_products", sharedBytes);
    }

    /** Whether the matrices fit one launch with {@code rows} rows. */
    boolean fits(int rows, Weight... weights) {
        return forms.fused(rows)
                && weights.length <= MOST
                && layout(rows, weights).bytes() <= sharedBytes;
    }

    /** A block's shared memory: activations, then the largest tile of stored rows. */
    private record Layout(ActivationRoom room, int tileBytes) {
        int bytes() {
            return room.end() + tileBytes;
        }
    }

    private static Layout layout(int allRows, Weight... weights) {
        int rows = Math.min(allRows, DecodeShapes.ROWS);
        int columns = weights[0].inputs();
        boolean sums = false;
        int tile = 0;
        for (Weight weight : weights) {
            sums |= DecodeShapes.hasOffset(weight.type());
            tile = Math.max(tile, DecodeShapes.tileBytes(DecodeShapes.pieceBytes(weight)));
        }
        return new Layout(ActivationRoom.of(0, rows, columns, sums), tile);
    }

    /** residual streams += inject * W in. */
    void inject(Weight weight, Tensor in, Tensor injections, Tensor residual) {
        if (row.fits(in.rows(), weight)) {
            one(weight, in, residual, ProductMode.INJECT, weight.scale(), injections.address(), injections.columns());
            return;
        }
        Layout layout = begin(new Weight[] {weight}, in.rows());
        for (int i = 0; i < MOST; i++) {
            matrix(weight, residual, 0, ProductMode.INJECT, weight.scale());
        }
        launch(layout, 1, NormedRows.plain(in), injections.address(), injections.columns(), blocks(weight));
    }

    /** outs[i] = weights[i] in, for matrices that {@link #fits} said yes to. */
    void multiply(Weight[] weights, NormedRows in, Tensor[] outs) {
        if (row.fits(in.rows().rows(), weights)) {
            float[] scales = new float[weights.length];
            for (int i = 0; i < weights.length; i++) {
                scales[i] = weights[i].scale();
            }
            row.multiply(weights, in, outs, ProductMode.STORE, scales, 0, 0);
            return;
        }
        Layout layout = begin(weights, in.rows().rows());
        int block = 0;
        for (int i = 0; i < MOST; i++) {
            int at = Math.min(i, weights.length - 1);
            matrix(weights[at], outs[at], block, ProductMode.STORE, weights[at].scale());
            block += i < weights.length ? blocks(weights[i]) : 0;
        }
        launch(layout, weights.length, in, 0, 0, block);
    }

    /** out = mode(scale * W in). */
    void multiply(Weight weight, Tensor in, Tensor out, ProductMode mode, float scale, long factors) {
        if (row.fits(in.rows(), weight)) {
            one(weight, in, out, mode, scale, factors, 0);
            return;
        }
        Layout layout = begin(new Weight[] {weight}, in.rows());
        for (int i = 0; i < MOST; i++) {
            matrix(weight, out, 0, mode, scale);
        }
        launch(layout, 1, NormedRows.plain(in), factors, 0, blocks(weight));
    }

    private void one(Weight weight, Tensor in, Tensor out, ProductMode mode, float scale, long factors, int streams) {
        row.multiply(
                new Weight[] {weight},
                NormedRows.plain(in),
                new Tensor[] {out},
                mode,
                new float[] {scale},
                factors,
                streams);
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

    private void launch(Layout layout, int count, NormedRows in, long factors, int streams, int blocks) {
        Tensor rows = in.rows();
        launcher.integer(count)
                .tensor(rows)
                .tensor(in.weight())
                .real(in.epsilon())
                .integer(rows.rows())
                .integer(rows.columns())
                .integer(DecodeShapes.stride(rows.columns()))
                .integer(layout.room().sumsAt())
                .integer(layout.room().end())
                .address(factors)
                .integer(streams)
                .integer(0)
                .launch(products, blocks, Math.ceilDiv(rows.rows(), DecodeShapes.ROWS), 1, 256, layout.bytes());
    }
}
