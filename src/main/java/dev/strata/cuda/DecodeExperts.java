package dev.strata.cuda;

import dev.strata.device.ExpertLayout;
import dev.strata.device.NormedRows;
import dev.strata.device.Residual;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import org.jspecify.annotations.Nullable;

/** Launches the kernels of decode.cu that choose experts and multiply with them. */
final class DecodeExperts {
    private static final int MOST_CHOSEN = 32;
    private static final int MOST_EXPERTS = 512;
    private static final int MOST_WARPS = 32;

    private final Launcher launcher;
    private final Scratch scratch;
    private final StoredTypes types;
    private final DecodeForms forms;
    private final int sharedBytes;
    private final RowDecode row;
    private final Kernel route;
    private final Kernel gateUp;
    private final Kernel down;

    DecodeExperts(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StoredTypes types,
            DecodeForms forms,
            RowDecode row,
            int sharedBytes) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.types = types;
        this.forms = forms;
        this.sharedBytes = sharedBytes;
        this.row = row;
        this.route = kernels.chained("decode_route", 0);
        this.gateUp = kernels.chained("decode_gate_up", sharedBytes);
        this.down = kernels.chained("decode_down", sharedBytes);
    }

    boolean routes(RouterShape shape, int rows) {
        return forms.fused(rows) && shape.used() <= MOST_CHOSEN && shape.experts() <= MOST_EXPERTS;
    }

    /** Norm, router product and choice; {@code in.scratch()} gets the normed rows where there is a norm. */
    void route(RouterShape shape, Weight router, NormedRows in, Tensor logits, Routing routing) {
        Tensor rows = in.rows();
        long arrivals = scratch.zeroed("arrivals at routers", 4L * DecodeShapes.MOST_ROWS);
        launcher.begin()
                .address(router.address())
                .address(router.rowBytes())
                .integer(types.code(router.type()))
                .real(router.scale())
                .tensor(rows)
                .tensor(in.weight())
                .real(in.epsilon())
                .integer(rows.columns())
                .integer(shape.experts())
                .integer(shape.used())
                .flag(shape.renormalise())
                .real(shape.scale())
                .address(arrivals)
                .tensor(logits)
                .tensor(in.scratch())
                .address(routing.ids().address())
                .tensor(routing.weights())
                .launch(
                        row.routes(shape, router) ? row.route(router.type()) : route,
                        shape.experts(),
                        rows.rows(),
                        1,
                        256,
                        0);
    }

    /** Shared memory of one expert's gate and up tiles behind the activations. */
    private static int gateUpBytes(int tileAt, QuantType gate, QuantType up, int columns) {
        return tileAt + DecodeShapes.tileBytes(gate.bytes(columns)) + DecodeShapes.tileBytes(up.bytes(columns));
    }

    private static boolean sums(QuantType gate, QuantType up) {
        return DecodeShapes.hasOffset(gate) || DecodeShapes.hasOffset(up);
    }

    /** Whether both products want the activations in the same form. */
    private static boolean oneForm(QuantType gate, QuantType up) {
        return DecodeShapes.exact(gate) == DecodeShapes.exact(up);
    }

    /** Whether {@link #gateUp} can take the layer. */
    boolean gates(ExpertLayout layout, @Nullable SharedExpert shared, int rows) {
        int columns = layout.hidden();
        int tileAt = ActivationRoom.of(0, 1, columns, true).end();
        return forms.fused(rows)
                && oneForm(layout.gateType(), layout.upType())
                && (shared == null || oneForm(shared.gate().type(), shared.up().type()))
                && gateUpBytes(tileAt, layout.gateType(), layout.upType(), columns) <= sharedBytes
                && (shared == null
                        || gateUpBytes(tileAt, shared.gate().type(), shared.up().type(), columns) <= sharedBytes);
    }

    /** Whether {@link #down} can take the layer. */
    boolean sums(ExpertLayout layout, @Nullable SharedExpert shared, int used, int rows) {
        int experts = used + (shared == null ? 0 : 1);
        return forms.fused(rows) && experts <= MOST_WARPS && downBytes(layout, shared, used) <= sharedBytes;
    }

    /** silu(gate x) * (up x) of every pair of the experts in the range, float32 [pairs, intermediate], and of the shared expert. */
    void gateUp(
            ExpertLayout layout,
            long table,
            @Nullable SharedExpert shared,
            Tensor in,
            Routing routing,
            int first,
            int number,
            long values) {
        int rows = in.rows();
        int pairs = rows * routing.used();
        int columns = layout.hidden();
        boolean sums = sums(layout.gateType(), layout.upType())
                || (shared != null && sums(shared.gate().type(), shared.up().type()));
        ActivationRoom where = ActivationRoom.of(0, 1, columns, sums);
        boolean plain = first == 0 && number == layout.experts() && RowDecode.gates(layout, shared);
        boolean halves = plain && shared != null && shared.gate().type() != layout.gateType();
        int bytes = gateUpBytes(where.end(), layout.gateType(), layout.upType(), columns);
        int widest = layout.intermediate();
        if (shared != null) {
            int common =
                    gateUpBytes(where.end(), shared.gate().type(), shared.up().type(), columns);
            // Half of the rows at a time.
            bytes = Math.max(bytes, halves ? (common + where.end()) / 2 : common);
            widest = Math.max(widest, shared.gate().outputs());
        }
        launcher.begin()
                .address(table)
                .address(routing.ids().address())
                .integer(pairs)
                .integer(routing.used())
                .integer(first)
                .integer(number);
        routed(layout, columns);
        if (shared == null) {
            routed(layout, columns);
        } else {
            common(shared);
        }
        launcher.tensor(in)
                .integer(columns)
                .integer(where.sumsAt())
                .integer(where.end())
                .address(values)
                .address(shared == null ? 0 : sharedValues(rows, shared))
                .tensor(shared == null ? null : shared.scalarGate())
                .address(shared == null ? 0 : sharedFactors())
                .launch(
                        plain
                                ? row.gateUp(
                                        layout.gateType(),
                                        shared == null ? null : shared.gate().type())
                                : gateUp,
                        Math.ceilDiv(widest, DecodeShapes.OUTPUTS),
                        pairs + (shared == null ? 0 : halves ? 2 * rows : rows),
                        1,
                        256,
                        bytes);
    }

    private void routed(ExpertLayout layout, int columns) {
        launcher.address(0)
                .address(layout.upOffset())
                .address(layout.scaled() ? layout.tailOffset() : 0)
                .address(layout.gateType().bytes(columns))
                .address(layout.upType().bytes(columns))
                .real(1)
                .real(1)
                .integer(types.code(layout.gateType()))
                .integer(types.code(layout.upType()))
                .integer(DecodeShapes.slot(layout.gateType().bytes(columns)))
                .integer(DecodeShapes.slot(layout.upType().bytes(columns)))
                .integer(layout.intermediate())
                .integer(0);
    }

    private void common(SharedExpert shared) {
        launcher.address(shared.gate().address())
                .address(shared.up().address())
                .address(0)
                .address(shared.gate().rowBytes())
                .address(shared.up().rowBytes())
                .real(shared.gate().scale())
                .real(shared.up().scale())
                .integer(types.code(shared.gate().type()))
                .integer(types.code(shared.up().type()))
                .integer(DecodeShapes.slot(shared.gate().rowBytes()))
                .integer(DecodeShapes.slot(shared.up().rowBytes()))
                .integer(shared.gate().outputs())
                .integer(0);
    }

    private long sharedValues(int rows, SharedExpert shared) {
        return scratch.address(
                "shared expert values of few rows", 4L * rows * shared.gate().outputs());
    }

    private long sharedFactors() {
        return scratch.address("shared expert factors of few rows", 4L * DecodeShapes.MOST_ROWS);
    }

    /** An expert's part of shared memory: its stored rows, from {@code xAt} on its activations. */
    private record DownLayout(int xAt, ActivationRoom room) {}

    private static DownLayout downLayout(QuantType type, int columns) {
        int tile = DecodeShapes.tileBytes(type.bytes(columns));
        return new DownLayout(tile, ActivationRoom.of(tile, 1, columns, DecodeShapes.hasOffset(type)));
    }

    private static DownLayout downLayout(ExpertLayout layout) {
        return downLayout(layout.downType(), layout.intermediate());
    }

    private static DownLayout downLayout(SharedExpert shared) {
        return downLayout(shared.down().type(), shared.down().inputs());
    }

    private static int downBytes(ExpertLayout layout, @Nullable SharedExpert shared, int used) {
        return used * downLayout(layout).room().end()
                + (shared == null ? 0 : downLayout(shared).room().end());
    }

    /** The weighted sum of the down products over every row's experts and the shared one, added to a residual; comes right behind {@link #gateUp}. */
    void down(
            ExpertLayout layout,
            long table,
            @Nullable SharedExpert shared,
            Routing routing,
            int rows,
            long values,
            Residual into) {
        down(
                layout,
                table,
                shared,
                routing,
                rows,
                values,
                into.inject() == null ? ProductMode.ADD : ProductMode.INJECT,
                into.rows(),
                into.inject(),
                true);
    }

    /** The weighted sum of the down products over every row's experts; those without a blob in the table add nothing. */
    void downRows(ExpertLayout layout, long table, Routing routing, int rows, long values, Tensor out) {
        down(layout, table, null, routing, rows, values, ProductMode.STORE, out, null, false);
    }

    private void down(
            ExpertLayout layout,
            long table,
            @Nullable SharedExpert shared,
            Routing routing,
            int rows,
            long values,
            ProductMode mode,
            Tensor target,
            @Nullable Tensor inject,
            boolean early) {
        DownLayout where = downLayout(layout);
        DownLayout common = shared == null ? where : downLayout(shared);
        int experts = routing.used() + (shared == null ? 0 : 1);
        boolean plain = early && RowDecode.sums(layout, shared, experts);
        // Of row_experts.cu, beside a shared expert of another type: a warp an expert, so that two blocks fit a
        // multiprocessor.
        boolean mixed = plain && shared != null && shared.down().type() != layout.downType();
        int each = mixed ? 1 : Math.clamp(MOST_WARPS / experts, 1, 2);
        int columns = layout.intermediate();
        launcher.begin()
                .address(table)
                .address(routing.ids().address())
                .tensor(routing.weights())
                .integer(routing.used())
                .integer(shared == null ? 0 : 1)
                .integer(each)
                .flag(early);
        for (int i = 0; i < 2; i++) {
            if (i == 1 && shared != null) {
                downMatrix(
                        shared.down().address(),
                        0,
                        shared.down().type(),
                        shared.down().inputs(),
                        shared.down().scale());
            } else {
                downMatrix(
                        layout.downOffset(),
                        layout.scaled() ? layout.tailOffset() + 8 : 0,
                        layout.downType(),
                        columns,
                        1);
            }
        }
        launcher.address(values)
                .address(shared == null ? 0 : sharedValues(rows, shared))
                .address(shared == null ? 0 : sharedFactors())
                .integer(layout.hidden())
                .integer(mode.code())
                .tensor(inject)
                .integer(inject == null ? 0 : inject.columns())
                .integer(where.room().end())
                .integer(where.xAt())
                .integer(where.room().sumsAt())
                .integer(common.xAt())
                .integer(common.room().sumsAt())
                .tensor(target)
                .launch(
                        plain
                                ? row.down(
                                        layout.downType(),
                                        shared == null ? null : shared.down().type())
                                : down,
                        Math.ceilDiv(layout.hidden(), DecodeShapes.OUTPUTS),
                        rows,
                        1,
                        32 * experts * each,
                        downBytes(layout, shared, routing.used()));
    }

    private void downMatrix(long offset, long tail, QuantType type, int columns, float scale) {
        long rowBytes = type.bytes(columns);
        launcher.address(offset)
                .address(tail)
                .address(rowBytes)
                .real(scale)
                .integer(types.code(type))
                .integer(DecodeShapes.slot(rowBytes))
                .integer(columns);
    }
}
