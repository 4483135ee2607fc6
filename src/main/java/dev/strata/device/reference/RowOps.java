package dev.strata.device.reference;

import dev.strata.device.Batch;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.lang.foreign.MemorySegment;

/** Operations that move or add whole rows. */
final class RowOps {
    private RowOps() {}

    static void embed(Weight table, Batch batch, Tensor out) {
        float[] row = new float[table.inputs()];
        for (int r = 0; r < batch.rows(); r++) {
            int token = batch.tokens()[r];
            if (token < 0 || token >= table.outputs()) {
                throw new IllegalArgumentException("token " + token + " in row " + r + " is outside the vocabulary of "
                        + table.outputs() + " (" + table.name() + ")");
            }
            Products.decodeRow(table, token, row);
            for (int i = 0; i < row.length; i++) {
                row[i] *= table.scale();
            }
            Floats.store(row, 0, row.length, out, r);
        }
    }

    static void add(Tensor addend, Tensor into) {
        float[] left = Floats.load(addend);
        float[] sum = Floats.load(into);
        for (int i = 0; i < sum.length; i++) {
            sum[i] += left[i];
        }
        Floats.store(sum, into);
    }

    static void repeat(Tensor in, int times, Tensor out) {
        for (int r = 0; r < in.rows(); r++) {
            for (int i = 0; i < times; i++) {
                copy(in, r, out, r, (long) i * in.columns());
            }
        }
    }

    static void concatenate(Tensor left, Tensor right, Tensor out) {
        for (int r = 0; r < left.rows(); r++) {
            copy(left, r, out, r, 0);
            copy(right, r, out, r, left.columns());
        }
    }

    static void gather(Tensor in, int[] rows, Tensor out) {
        for (int i = 0; i < rows.length; i++) {
            copy(in, rows[i], out, i, 0);
        }
    }

    private static void copy(Tensor source, int sourceRow, Tensor target, int targetRow, long targetColumn) {
        MemorySegment.copy(
                source.buffer().host(),
                source.offset() + 4L * sourceRow * source.columns(),
                target.buffer().host(),
                target.offset() + 4L * ((long) targetRow * target.columns() + targetColumn),
                4L * source.columns());
    }
}
