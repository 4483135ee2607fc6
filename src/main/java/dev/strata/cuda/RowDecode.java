package dev.strata.cuda;

import dev.strata.device.ExpertLayout;
import dev.strata.device.NormedRows;
import dev.strata.device.RouterShape;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Which kernels of row_*.cu take the work of a pass of few rows, and how products are launched with them. */
final class RowDecode {
    private static final int MOST_MATRICES = 4;
    private static final int MOST_COLUMNS = 4096;
    private static final int MOST_WIDE_COLUMNS = 8192;
    private static final int MOST_TABLE = 512;
    private static final int MOST_PAIRS_OF_WARPS = 12;

    /** Blocks of one multiprocessor that go through many tiles, and the shared memory that they may take. */
    private static final int MOST_BLOCKS = 4;

    private static final int BYTES_OF_BLOCKS = 200 << 10;

    /** Outputs of a block of row_product_eights, and the most such blocks of a multiprocessor. */
    private static final int FEW_OUTPUTS = 8;

    private static final int MOST_EIGHTS = 3;

    private final Launcher launcher;
    private final Kernels kernels;
    private final IntegerRow integers;
    private final int sharedBytes;
    private final int processors;
    private final Map<String, Kernel> found = new HashMap<>();

    /**
     * @param sharedBytes the most that a block may ask for
     * @param processors multiprocessors of the card
     */
    RowDecode(Launcher launcher, Kernels kernels, IntegerRow integers, int sharedBytes, int processors) {
        this.launcher = launcher;
        this.kernels = kernels;
        this.integers = integers;
        this.sharedBytes = sharedBytes;
        this.processors = processors;
    }

    private Kernel kernel(String name, QuantType type) {
        return found.computeIfAbsent(
                name + type.name().toLowerCase(Locale.ROOT), key -> kernels.chained(key, sharedBytes));
    }

    Kernel route(QuantType type) {
        return kernel("row_route_", type);
    }

    Kernel streams(QuantType type) {
        return kernel("row_streams_", type);
    }

    Kernel hyper(QuantType type) {
        return kernel("row_hyper_", type);
    }

    /** @param shared type of the shared expert's matrices, where there is one */
    Kernel gateUp(QuantType type, @Nullable QuantType shared) {
        return experts("row_gate_up_", type, shared);
    }

    /** @param shared type of the shared expert's matrix, where there is one */
    Kernel down(QuantType type, @Nullable QuantType shared) {
        return experts("row_down_", type, shared);
    }

    private Kernel experts(String name, QuantType type, @Nullable QuantType shared) {
        return shared == null || shared == type
                ? kernel(name, type)
                : kernel(name + type.name().toLowerCase(Locale.ROOT) + "_", shared);
    }

    /** Whether row_experts.cu has kernels for routed experts of one type beside a shared one of another. */
    private static boolean beside(QuantType type, QuantType shared) {
        return type == shared
                || switch (type) {
                    case Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, Q4_K, Q5_K, Q6_K, IQ4_XS, Q2_0, IQ2_XS, IQ3_XXS, IQ3_S ->
                        shared == QuantType.Q8_0;
                    case MXFP4, NVFP4 -> shared == QuantType.Q8_0 || shared == QuantType.BF16;
                    default -> false;
                };
    }

    private static boolean whole(int columns, int most) {
        return columns % 32 == 0 && columns <= most;
    }

    boolean routes(RouterShape shape, Weight router) {
        return whole(router.inputs(), MOST_COLUMNS)
                && shape.experts() <= MOST_TABLE
                && switch (router.type()) {
                    case F32, F16, BF16, Q8_0 -> true;
                    default -> false;
                };
    }

    /** Whether gate and up products are of one type, and those of the shared expert of one that goes with it. */
    static boolean gates(ExpertLayout layout, @Nullable SharedExpert shared) {
        QuantType type = layout.gateType();
        return whole(layout.hidden(), MOST_COLUMNS)
                && layout.experts() <= MOST_TABLE
                && layout.upType() == type
                && (shared == null
                        || (beside(type, shared.gate().type())
                                && shared.up().type() == shared.gate().type()));
    }

    /** Whether down products are of one type, and the shared expert's of one that goes with it. */
    static boolean sums(ExpertLayout layout, @Nullable SharedExpert shared, int experts) {
        return experts <= MOST_PAIRS_OF_WARPS
                && layout.intermediate() % 32 == 0
                && (shared == null
                        || (beside(layout.downType(), shared.down().type())
                                && shared.down().inputs() % 32 == 0));
    }

    private record Layout(int slot, int sumsAt, int tileAt) {
        int tileBytes() {
            return DecodeShapes.OUTPUTS * slot;
        }

        static Layout of(Weight weight, int rows) {
            ActivationRoom room = ActivationRoom.of(
                    0, Math.min(rows, DecodeShapes.ROWS), weight.inputs(), DecodeShapes.hasOffset(weight.type()));
            return new Layout(DecodeShapes.slot(weight.rowBytes()), room.sumsAt(), room.end());
        }
    }

    /** Whether {@link #multiply} takes these matrices, which have the same columns. */
    boolean fits(int rows, Weight... weights) {
        for (Weight weight : weights) {
            Layout layout = Layout.of(weight, rows);
            if (!whole(weight.inputs(), MOST_WIDE_COLUMNS)
                    || weight.rowBytes() > 1 << 20
                    || layout.tileAt() + layout.tileBytes() > sharedBytes) {
                return false;
            }
        }
        return true;
    }

    /**
     * outs[i] = mode(weights[i] in), one launch for every type and four matrices; any number of rows.
     *
     * @param factors device address of the factors that some modes want, and how many residual streams they are for
     */
    void multiply(
            Weight[] weights,
            NormedRows in,
            Tensor[] outs,
            ProductMode mode,
            float[] scales,
            long factors,
            int streams) {
        boolean[] done = new boolean[weights.length];
        int[] chosen = new int[MOST_MATRICES];
        for (int i = 0; i < weights.length; i++) {
            int count = 0;
            for (int j = i; j < weights.length && count < MOST_MATRICES; j++) {
                if (!done[j] && weights[j].type() == weights[i].type()) {
                    done[j] = true;
                    chosen[count++] = j;
                }
            }
            if (count > 0) {
                launch(weights, outs, mode, scales, chosen, count, in, factors, streams);
            }
        }
    }

    /** The arguments that are a RowMatrix of row.cuh. */
    static void matrix(Launcher launcher, Weight weight, long out, int firstTile, ProductMode mode, float scale) {
        launcher.address(weight.address())
                .address(out)
                .integer((int) weight.rowBytes())
                .integer(weight.outputs())
                .integer(firstTile)
                .integer(mode.code())
                .real(scale)
                .integer(0);
    }

    private void launch(
            Weight[] weights,
            Tensor[] outs,
            ProductMode mode,
            float[] scales,
            int[] chosen,
            int count,
            NormedRows in,
            long factors,
            int streams) {
        Weight first = weights[chosen[0]];
        int rows = in.rows().rows();
        Layout layout = Layout.of(first, rows);
        int tiles = 0;
        launcher.begin();
        for (int i = 0; i < MOST_MATRICES; i++) {
            int which = chosen[Math.min(i, count - 1)];
            Weight weight = weights[which];
            matrix(launcher, weight, outs[which].address(), tiles, mode, scales[which]);
            if (i < count) {
                tiles += Math.ceilDiv(weight.outputs(), DecodeShapes.OUTPUTS);
            }
        }
        int columns = first.inputs();
        boolean eights = rows == 1 && count == 1 && tiles > processors && eights(first, layout);
        launcher.integer(count)
                .integer(tiles)
                .tensor(in.rows())
                .tensor(in.weight())
                .real(in.epsilon())
                .integer(columns)
                .integer(layout.slot())
                .integer(layout.sumsAt())
                .integer(layout.tileAt())
                .address(factors)
                .integer(streams)
                .integer(rows)
                .integer(DecodeShapes.stride(columns))
                .integer(0)
                .address(eights && in.weight() == null ? integers.before(in.rows()) : 0);
        if (eights) {
            launcher.launch(
                    kernel("row_product_eights_", first.type()),
                    Math.ceilDiv(first.outputs(), FEW_OUTPUTS),
                    1,
                    1,
                    512,
                    layout.tileAt() + FEW_OUTPUTS * layout.slot());
            return;
        }
        // A multiprocessor with one block does better with a large one.
        boolean wide = rows == 1 && (columns > MOST_COLUMNS || (tiles <= processors && columns > MOST_COLUMNS / 2));
        int two = layout.tileAt() + 2 * layout.tileBytes();
        int blocks = two > sharedBytes
                ? tiles
                : Math.min(tiles, processors * Math.clamp(BYTES_OF_BLOCKS / two, 1, wide ? 2 : MOST_BLOCKS));
        launcher.launch(
                kernel(rows > 1 ? "row_products_some_" : wide ? "row_products_wide_" : "row_products_", first.type()),
                blocks,
                Math.ceilDiv(rows, DecodeShapes.ROWS),
                1,
                wide ? 512 : 256,
                blocks < tiles ? two : layout.tileAt() + layout.tileBytes());
    }

    /** Whether a matrix has many columns and so few outputs that all its blocks of eight are on the card at once. */
    private boolean eights(Weight weight, Layout layout) {
        int blocks = Math.clamp(BYTES_OF_BLOCKS / (layout.tileAt() + FEW_OUTPUTS * layout.slot()), 1, MOST_EIGHTS);
        return DecodeShapes.exact(weight.type())
                && weight.inputs() > MOST_COLUMNS / 2
                && weight.inputs() % 64 == 0
                && Math.ceilDiv(weight.outputs(), FEW_OUTPUTS) <= processors * blocks;
    }
}
