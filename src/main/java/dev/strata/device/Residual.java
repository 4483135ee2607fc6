package dev.strata.device;

import org.jspecify.annotations.Nullable;

/**
 * Where a block's output y [rows, hidden] goes: added to plain rows, or to every residual stream as strongly as it takes it (see
 * {@link Ops#hyperInject}).
 *
 * @param rows [rows, hidden], or [rows, streams * hidden] with {@code inject}
 * @param inject [rows, streams]
 */
public record Residual(Tensor rows, @Nullable Tensor inject) {
    public static Residual plain(Tensor rows) {
        return new Residual(rows, null);
    }

    /** Adds what an operation of its own has computed. */
    public void add(Ops ops, Tensor y) {
        if (inject == null) {
            ops.add(y, rows);
        } else {
            ops.hyperInject(y, inject, rows);
        }
    }
}
