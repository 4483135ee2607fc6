package dev.strata.cuda;

import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;

/**
 * Products of stored matrices. Few rows: float32 kernels that read the weights as stored. Many rows: the weights are expanded to
 * float16 and multiplied on tensor cores.
 */
final class Products {
    /** From this many rows on tensor cores are used. */
    static final int TENSOR_CORE_ROWS = 17;

    /** Gated values are stored as this part of themselves (output.cuh), so that large ones stay in the range of float16. */
    static final float GATED_PART = 1 / 64f;

    /** Up to this many rows a router is multiplied in float32 sooner than split into halves for a few blocks of the tensor cores. */
    private static final int MOST_EXACT_ROWS = 64;

    private static final int TILE = 128;
    private static final long EXPANDED_BYTES = 256L << 20;

    private final Launcher launcher;
    private final Scratch scratch;
    private final StoredTypes types;
    private final Activations activations;
    private final TileProducts tiles;
    private final Kernel zero;
    private final Kernel splitRows;
    private final CudaOptions options;
    private final int multiprocessors;
    private final DecodeProducts decode;
    private final StoredProducts stored;

    Products(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StoredTypes types,
            Activations activations,
            TileProducts tiles,
            CudaOptions options,
            int multiprocessors,
            DecodeProducts decode) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.types = types;
        this.activations = activations;
        this.tiles = tiles;
        this.zero = kernels.get("zero_words");
        this.splitRows = kernels.get("split_rows");
        this.options = options;
        this.multiprocessors = multiprocessors;
        this.decode = decode;
        this.stored = new StoredProducts(launcher, types, options);
    }

    /** Tells that {@code out} gets new values by something else. */
    void written(Tensor out) {
        activations.written(out);
    }

    /** Whether a product of {@code rows} rows goes to the tensor cores. */
    boolean onTensorCores(int rows) {
        return options.precision() == Precision.MIXED && (options.deterministic() || rows >= TENSOR_CORE_ROWS);
    }

    /** out = mode(scale * W in). */
    void multiply(Weight weight, Tensor in, Tensor out, ProductMode mode, float scale, long factors) {
        check(weight, in, out);
        if (in.rows() == 0) {
            return;
        }
        if (!exact(weight) && decode.fits(in.rows(), weight)) {
            decode.multiply(weight, in, out, mode, scale, factors);
        } else if (exact(weight) && onTensorCores(in.rows()) && !fewExact(in.rows())) {
            multiplySplit(weight, in, out.address(), mode, scale, factors);
        } else if (!exact(weight) && onTensorCores(in.rows())) {
            multiplyRounded(weight, activations.rounded(in), in.rows(), out.address(), mode, scale, factors);
        } else {
            few(weight, in, out, mode, scale, factors);
        }
        activations.written(out);
    }

    private static void check(Weight weight, Tensor in, Tensor out) {
        if (weight.inputs() != in.columns() || weight.outputs() != out.columns() || in.rows() != out.rows()) {
            throw new IllegalArgumentException(weight.name() + " is " + weight.outputs() + " x " + weight.inputs()
                    + "; it cannot turn " + in.rows() + " x " + in.columns() + " into " + out.rows() + " x "
                    + out.columns());
        }
    }

    /** outs[i] = weights[i] in; matrices of a type that short prompts read as stored by one launch. */
    void multiplyAll(Weight[] weights, Tensor in, Tensor[] outs) {
        int[] which = new int[weights.length];
        for (int i = 0; i < weights.length; i++) {
            if (!together(weights[i], in.rows()) || weights.length > StoredProducts.MOST) {
                multiply(weights[i], in, outs[i], ProductMode.STORE, weights[i].scale(), 0);
                continue;
            }
            check(weights[i], in, outs[i]);
            int count = ofType(weights, i, which);
            if (count > 0) {
                stored.multiply(weights, which, count, activations.rounded(in), in.rows(), outs);
            }
        }
    }

    private boolean together(Weight weight, int rows) {
        return onTensorCores(rows) && !exact(weight) && stored.suits(weight, rows);
    }

    /** Finds the matrices of the type of {@code weights[first]}; none when an earlier one has it. */
    private static int ofType(Weight[] weights, int first, int[] which) {
        int count = 0;
        for (int i = 0; i < weights.length; i++) {
            if (weights[i].type() == weights[first].type()) {
                if (i < first) {
                    return 0;
                }
                which[count++] = i;
            }
        }
        return count;
    }

    /** Routers are stored in float32, and a rounded one sends rows to other experts: their operands are sums of two float16 values. */
    private static boolean exact(Weight weight) {
        return weight.type() == QuantType.F32 && weight.outputs() <= 1024;
    }

    /** Whether a router is multiplied in float32 with so few rows. */
    private boolean fewExact(int rows) {
        return rows <= MOST_EXACT_ROWS && !options.deterministic();
    }

    private void few(Weight weight, Tensor in, Tensor out, ProductMode mode, float scale, long factors) {
        int kind = options.deterministic() ? 3 : in.rows() == 1 ? 0 : in.rows() == 2 ? 1 : in.rows() <= 4 ? 2 : 3;
        int split = split(weight.outputs() / 2);
        launcher.begin()
                .address(weight.address())
                .address(weight.rowBytes())
                .integer(weight.outputs())
                .integer(weight.inputs())
                .tensor(in)
                .integer(in.rows())
                .tensor(out)
                .real(scale)
                .integer(mode.code())
                .address(factors)
                .integer(split)
                .launch(
                        types.of(weight.type()).products()[kind],
                        Math.ceilDiv(weight.outputs(), 8 / split),
                        Math.ceilDiv(in.rows(), StoredTypes.ROWS[kind]),
                        1,
                        128,
                        0);
    }

    /** Warps that share the columns of an output, so that {@code warps} outputs fill the card. */
    int split(int warps) {
        int wanted = 16 * multiprocessors;
        return warps >= wanted ? 1 : 2 * warps >= wanted ? 2 : 4;
    }

    /** The same with rounded activations [rows, padded inputs]. */
    void multiplyRounded(Weight weight, long rounded, int rows, long out, ProductMode mode, float scale, long factors) {
        if (stored.suits(weight, rows)) {
            stored.multiply(weight, rounded, rows, out, mode, scale, factors);
            return;
        }
        int padded = Activations.padded(weight.inputs());
        int most = (int) Math.max(TILE, EXPANDED_BYTES / (2L * padded) / TILE * TILE);
        boolean halves = weight.type() == QuantType.F16 && padded == weight.inputs() && weight.address() % 16 == 0;
        for (int first = 0; first < weight.outputs(); first += most) {
            int outputs = Math.min(most, weight.outputs() - first);
            long right;
            if (halves) {
                right = weight.address() + first * weight.rowBytes();
            } else {
                right = scratch.address("expanded weights", 2L * outputs * padded);
                expand(weight, first, outputs, right, 0);
            }
            tiles.dense(
                    rounded,
                    right,
                    rows,
                    outputs,
                    padded,
                    out + 4L * first,
                    weight.outputs(),
                    outputs,
                    mode,
                    scale,
                    factors);
        }
    }

    /** Nearly a float32 product: three products of the operands' high and low parts in one. */
    private void multiplySplit(Weight weight, Tensor in, long out, ProductMode mode, float scale, long factors) {
        int depth = 3 * Activations.padded(weight.inputs());
        long left = scratch.address("split activations", 2L * in.rows() * depth);
        long right = scratch.address("split weights", 2L * weight.outputs() * depth);
        split(in.address(), in.rows(), weight.inputs(), false, left);
        split(weight.address(), weight.outputs(), weight.inputs(), true, right);
        int outputs = weight.outputs();
        tiles.dense(left, right, in.rows(), outputs, depth, out, outputs, outputs, mode, scale, factors);
    }

    private void split(long values, int rows, int columns, boolean weights, long target) {
        int padded = Activations.padded(columns);
        launcher.begin()
                .address(values)
                .integer(rows)
                .integer(columns)
                .integer(padded)
                .flag(weights)
                .address(target)
                .launchOver(splitRows, (long) rows * padded / 2);
    }

    /** Rows {@code first} .. {@code first + rows - 1} of the weight as float16, without its scale. */
    private void expand(Weight weight, int first, int rows, long target, int interleave) {
        int padded = Activations.padded(weight.inputs());
        launcher.begin()
                .address(0)
                .address(0)
                .integer(0)
                .address(0)
                .address(0)
                .address(weight.address() + first * weight.rowBytes())
                .address(weight.rowBytes())
                .integer(rows)
                .integer(weight.inputs())
                .integer(padded)
                .address(target)
                .address(0)
                .real(interleave == 0 ? 1 : weight.scale())
                .integer(interleave)
                .launchOver(types.of(weight.type()).expand(), (long) rows * padded / 8);
    }

    /**
     * {@link #GATED_PART} of silu(gate x) * (up x) of rounded activations as float16 [rows, padded(intermediate)] in scratch memory.
     */
    long swiglu(Weight gate, Weight up, long rounded, int rows) {
        int intermediate = gate.outputs();
        int columns = Activations.padded(intermediate);
        long hidden = scratch.address("shared expert values", 2L * rows * columns);
        if (columns != intermediate) {
            launcher.begin().address(hidden).address(2L * rows * columns / 4).launchOver(zero, 2L * rows * columns / 4);
        }
        if (stored.suits(gate, rows) && gate.type() == up.type()) {
            stored.swiglu(gate, up, rounded, rows, hidden, columns);
            return hidden;
        }
        int outputs = 2 * Math.ceilDiv(intermediate, 8) * 8;
        int padded = Activations.padded(gate.inputs());
        long right = scratch.address("expanded weights", 2L * outputs * padded);
        expand(gate, 0, intermediate, right, 1);
        expand(up, 0, intermediate, right, 2);
        // The mode writes half as many columns as there are outputs.
        tiles.dense(rounded, right, rows, outputs, padded, hidden, columns, intermediate, ProductMode.SWIGLU_F16, 1, 0);
        return hidden;
    }
}
