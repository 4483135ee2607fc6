package dev.strata.device;

import org.jspecify.annotations.Nullable;

/**
 * Rows that an operation reads through an RMS norm over all their columns, or as they are.
 *
 * @param rows [rows, columns]
 * @param weight [1, columns], null for rows that are read as they are
 * @param scratch room for the normed rows, same shape; what it holds after an operation is not said
 */
public record NormedRows(Tensor rows, @Nullable Tensor weight, float epsilon, Tensor scratch) {
    /** Rows that need no norm. */
    public static NormedRows plain(Tensor rows) {
        return new NormedRows(rows, null, 0, rows);
    }

    /** The rows to read, normed by an operation of their own when they need it. */
    public Tensor apply(Ops ops) {
        if (weight == null) {
            return rows;
        }
        ops.rmsNorm(rows, weight, rows.columns(), epsilon, scratch);
        return scratch;
    }
}
