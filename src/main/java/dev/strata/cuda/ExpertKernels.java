package dev.strata.cuda;

import dev.strata.device.ExpertLayout;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.format.QuantType;

/** Launches the kernels of experts.cu, and the products over groups of rows. */
final class ExpertKernels {
    /** Up to this many rows an expert, on average, its blob is read anew for every row. */
    private static final int FEW_ROWS = 4;

    private static final long EXPANDED_BYTES = 320L << 20;
    private static final int MOST_EXPERTS_AT_ONCE = 512;

    private final Launcher launcher;
    private final Scratch scratch;
    private final StoredTypes types;
    private final Products products;
    private final Activations activations;
    private final Kernel zero;
    private final CudaOptions options;
    private final int multiprocessors;
    private final Kernel route;
    private final Kernel count;
    private final Kernel place;
    private final Kernel group;
    private final Kernel combine;
    private final Kernel scalarGate;
    private final Kernel siluMultiply;
    private final Kernel grouped;

    ExpertKernels(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StoredTypes types,
            Products products,
            Activations activations,
            CudaOptions options,
            int multiprocessors) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.types = types;
        this.products = products;
        this.activations = activations;
        this.zero = kernels.get("zero_words");
        this.options = options;
        this.multiprocessors = multiprocessors;
        this.route = kernels.get("route");
        this.count = kernels.get("count_pairs");
        this.place = kernels.get("place_pairs");
        this.group = kernels.get("group_pairs");
        this.combine = kernels.get("combine_pairs");
        this.scalarGate = kernels.get("scalar_gate");
        this.siluMultiply = kernels.get("silu_multiply");
        this.grouped = kernels.get("gemm_grouped", Products.TILE_SHARED_BYTES);
    }

    Scratch scratch() {
        return scratch;
    }

    /** Whether the rows are grouped by expert for the tensor cores. */
    boolean grouped(int rows, int used, int experts) {
        return options.precision() == Precision.MIXED
                && (options.deterministic() || (long) rows * used >= (long) FEW_ROWS * experts);
    }

    void route(RouterShape shape, Tensor logits, Routing routing) {
        launcher.begin()
                .tensor(logits)
                .integer(logits.rows())
                .integer(shape.experts())
                .integer(shape.used())
                .flag(shape.renormalise())
                .real(shape.scale())
                .address(routing.ids().address())
                .tensor(routing.weights())
                .launch(route, Math.ceilDiv(logits.rows(), 4), 1, 1, 128, 16 * shape.experts());
    }

    /** Groups the rows' pairs by expert. */
    Grouping group(Routing routing, int rows, int experts) {
        int pairs = rows * routing.used();
        long counts = scratch.address("pairs of experts", 4L * experts);
        long starts = scratch.address("first pairs of experts", 4L * (experts + 1));
        long sources = scratch.address("rows by expert", 4L * pairs);
        long places = scratch.address("places of pairs", 4L * pairs);
        launcher.begin()
                .address(routing.ids().address())
                .integer(pairs)
                .address(counts)
                .launch(count, experts, 256);
        launcher.begin().address(counts).integer(experts).address(starts).launch(place, 1, 1024);
        launcher.begin()
                .address(routing.ids().address())
                .integer(pairs)
                .integer(routing.used())
                .address(starts)
                .address(sources)
                .address(places)
                .launch(group, experts, 256);
        return new Grouping(pairs, counts, starts, sources, places);
    }

    /** Addresses of what {@link #group} made. */
    record Grouping(int pairs, long counts, long starts, long sources, long places) {}

    /**
     * The products of experts {@code first .. first + number - 1} with all their rows: bfloat16 results by place, [pairs, hidden].
     *
     * @param rounded rounded activations of all rows
     */
    void multiplyGroups(
            ExpertLayout layout, long table, Grouping grouping, long rounded, int first, int number, long results) {
        int hidden = layout.hidden();
        int intermediate = layout.intermediate();
        int paddedHidden = Activations.padded(hidden);
        int paddedIntermediate = Activations.padded(intermediate);
        int gateUpRows = 2 * Math.ceilDiv(intermediate, 8) * 8;
        long gateUpValues = (long) gateUpRows * paddedHidden;
        long downValues = (long) hidden * paddedIntermediate;
        int atOnce = Math.clamp(EXPANDED_BYTES / (2 * Math.max(gateUpValues, downValues)), 1, MOST_EXPERTS_AT_ONCE);
        atOnce = Math.min(atOnce, number);
        long expanded = scratch.address("expanded experts", 2 * Math.max(gateUpValues, downValues) * atOnce);
        long values = scratch.address("expert values", 2L * grouping.pairs() * paddedIntermediate);
        if (paddedIntermediate != intermediate) {
            launcher.begin()
                    .address(values)
                    .address(2L * grouping.pairs() * paddedIntermediate / 4)
                    .launchOver(zero, 2L * grouping.pairs() * paddedIntermediate / 4);
        }
        long tail = layout.scaled() ? layout.tailOffset() : 0;
        for (int from = first; from < first + number; from += atOnce) {
            int here = Math.min(atOnce, first + number - from);
            expand(
                    layout.gateType(),
                    table,
                    grouping,
                    from,
                    here,
                    0,
                    tail,
                    intermediate,
                    hidden,
                    expanded,
                    gateUpValues,
                    1);
            expand(
                    layout.upType(),
                    table,
                    grouping,
                    from,
                    here,
                    layout.upOffset(),
                    tail == 0 ? 0 : tail + 4,
                    intermediate,
                    hidden,
                    expanded,
                    gateUpValues,
                    2);
            multiplyGroup(
                    rounded,
                    grouping.sources(),
                    grouping,
                    from,
                    here,
                    expanded,
                    gateUpValues,
                    gateUpRows,
                    paddedHidden,
                    values,
                    paddedIntermediate,
                    intermediate,
                    ProductMode.SWIGLU_BF16);
            expand(
                    layout.downType(),
                    table,
                    grouping,
                    from,
                    here,
                    layout.downOffset(),
                    tail == 0 ? 0 : tail + 8,
                    hidden,
                    intermediate,
                    expanded,
                    downValues,
                    0);
            multiplyGroup(
                    values,
                    0,
                    grouping,
                    from,
                    here,
                    expanded,
                    downValues,
                    hidden,
                    paddedIntermediate,
                    results,
                    hidden,
                    hidden,
                    ProductMode.STORE_BF16);
        }
    }

    private void expand(
            QuantType type,
            long table,
            Grouping grouping,
            int first,
            int number,
            long offset,
            long tail,
            int rows,
            int columns,
            long target,
            long stride,
            int interleave) {
        int padded = Activations.padded(columns);
        long blocks = Math.clamp(Math.ceilDiv((long) rows * padded / 8, 256), 1, 8192);
        launcher.begin()
                .address(table)
                .address(grouping.counts())
                .integer(first)
                .address(offset)
                .address(tail)
                .address(0)
                .address(type.bytes(columns))
                .integer(rows)
                .integer(columns)
                .integer(padded)
                .address(target)
                .address(stride)
                .real(1)
                .integer(interleave)
                .launch(types.of(type).expand(), blocks, number, 1, 256, 0);
    }

    private void multiplyGroup(
            long left,
            long sources,
            Grouping grouping,
            int first,
            int number,
            long right,
            long stride,
            int outputs,
            int depth,
            long out,
            int columns,
            int used,
            ProductMode mode) {
        launcher.begin()
                .address(left)
                .address(sources)
                .address(grouping.starts())
                .integer(first)
                .integer(number)
                .address(right)
                .address(stride)
                .integer(outputs)
                .integer(depth)
                .address(out)
                .integer(columns)
                .integer(used)
                .integer(mode.code())
                .launch(grouped, 2L * multiprocessors, 1, 1, 256, Products.TILE_SHARED_BYTES);
    }

    /** silu(gate x) * (up x) of every pair of the experts in the range, float32 [pairs, intermediate]. */
    void gateUp(ExpertLayout layout, long table, Tensor in, Routing routing, int first, int number, long values) {
        int pairs = in.rows() * routing.used();
        long tail = layout.scaled() ? layout.tailOffset() : 0;
        if (layout.gateType() != layout.upType()) {
            long bytes = 4L * pairs * layout.intermediate();
            long gates = scratch.address("expert gates", bytes);
            long ups = scratch.address("expert ups", bytes);
            pairProducts(layout.gateType(), table, routing, in, first, number, 0, tail, layout.intermediate(), gates);
            pairProducts(
                    layout.upType(),
                    table,
                    routing,
                    in,
                    first,
                    number,
                    layout.upOffset(),
                    tail == 0 ? 0 : tail + 4,
                    layout.intermediate(),
                    ups);
            long values4 = (long) pairs * layout.intermediate();
            launcher.begin()
                    .address(gates)
                    .address(ups)
                    .address(values)
                    .address(values4)
                    .launchOver(siluMultiply, values4);
            return;
        }
        int split = products.split(pairs * layout.intermediate() / 2);
        launcher.begin()
                .address(table)
                .address(routing.ids().address())
                .integer(first)
                .integer(number)
                .address(layout.upOffset())
                .address(tail)
                .address(0)
                .address(0)
                .real(1)
                .real(1)
                .address(layout.gateType().bytes(layout.hidden()))
                .integer(layout.intermediate())
                .integer(layout.hidden())
                .tensor(in)
                .integer(routing.used())
                .address(values)
                .integer(split)
                .launch(
                        types.of(layout.gateType()).gateUp(),
                        Math.ceilDiv(layout.intermediate(), 8 / split),
                        pairs,
                        1,
                        128,
                        0);
    }

    /** The product of every pair with the matrix at {@code offset}, which reads the row of the pair. */
    private void pairProducts(
            QuantType type,
            long table,
            Routing routing,
            Tensor in,
            int first,
            int number,
            long offset,
            long tail,
            int outputs,
            long out) {
        int pairs = in.rows() * routing.used();
        down(
                type,
                table,
                routing.ids().address(),
                first,
                number,
                offset,
                tail,
                0,
                outputs,
                in.columns(),
                in.address(),
                1,
                routing.used(),
                out,
                pairs);
    }

    /** Unweighted down products of every pair in the range, [pairs, hidden]. */
    void downPairs(
            ExpertLayout layout, long table, Routing routing, int pairs, int first, int number, long values, long out) {
        down(
                layout.downType(),
                table,
                routing.ids().address(),
                first,
                number,
                layout.downOffset(),
                layout.scaled() ? layout.tailOffset() + 8 : 0,
                0,
                layout.hidden(),
                layout.intermediate(),
                values,
                1,
                1,
                out,
                pairs);
    }

    /** The weighted sum of the down products over every row's experts. */
    void downRows(ExpertLayout layout, long table, Routing routing, int rows, long values, Tensor out) {
        down(
                layout.downType(),
                table,
                routing.ids().address(),
                0,
                layout.experts(),
                layout.downOffset(),
                layout.scaled() ? layout.tailOffset() + 8 : 0,
                routing.weights().address(),
                layout.hidden(),
                layout.intermediate(),
                values,
                routing.used(),
                1,
                out.address(),
                rows);
    }

    private void down(
            QuantType type,
            long table,
            long ids,
            int first,
            int number,
            long offset,
            long tail,
            long weights,
            int outputs,
            int columns,
            long values,
            int used,
            int share,
            long out,
            int rows) {
        int split = products.split(rows * outputs / 2);
        launcher.begin()
                .address(table)
                .address(ids)
                .integer(first)
                .integer(number)
                .address(offset)
                .address(tail)
                .address(weights)
                .address(type.bytes(columns))
                .integer(outputs)
                .integer(columns)
                .address(values)
                .integer(used)
                .integer(share)
                .address(out)
                .integer(split)
                .launch(types.of(type).down(), Math.ceilDiv(outputs, 8 / split), rows, 1, 128, 0);
    }

    /** @param others float32 results by pair of experts without an entry in the table, 0 when there are none */
    void combine(long results, boolean rounded, long places, Routing routing, long others, long table, Tensor out) {
        launcher.begin()
                .address(results)
                .flag(rounded)
                .address(places)
                .tensor(routing.weights())
                .integer(routing.used())
                .integer(out.columns())
                .address(others)
                .address(table)
                .address(routing.ids().address())
                .tensor(out)
                .launch(combine, out.rows(), 256);
    }

    void shared(SharedExpert expert, Tensor in, Tensor into) {
        int rows = in.rows();
        int intermediate = expert.gate().outputs();
        long factors = scratch.address("shared expert factors", 4L * rows);
        launcher.begin()
                .tensor(expert.scalarGate())
                .tensor(in)
                .integer(rows)
                .integer(in.columns())
                .address(factors)
                .launch(scalarGate, Math.ceilDiv(rows, 4), 128);
        if (products.onTensorCores(rows)) {
            long values = products.swiglu(expert.gate(), expert.up(), activations.rounded(in), rows);
            products.multiplyRounded(
                    expert.down(),
                    values,
                    rows,
                    into.address(),
                    ProductMode.ADD_SCALED,
                    expert.down().scale(),
                    factors);
            products.written(into);
            return;
        }
        Tensor values = tensor("shared expert values, float32", rows, intermediate);
        if (expert.gate().type() == expert.up().type()) {
            int split = products.split(rows * intermediate / 2);
            launcher.begin()
                    .address(0)
                    .address(0)
                    .integer(0)
                    .integer(0)
                    .address(0)
                    .address(0)
                    .address(expert.gate().address())
                    .address(expert.up().address())
                    .real(expert.gate().scale())
                    .real(expert.up().scale())
                    .address(expert.gate().rowBytes())
                    .integer(intermediate)
                    .integer(in.columns())
                    .tensor(in)
                    .integer(1)
                    .tensor(values)
                    .integer(split)
                    .launch(
                            types.of(expert.gate().type()).gateUp(),
                            Math.ceilDiv(intermediate, 8 / split),
                            rows,
                            1,
                            128,
                            0);
        } else {
            Tensor ups = tensor("shared expert ups", rows, intermediate);
            products.multiply(
                    expert.gate(), in, values, ProductMode.STORE, expert.gate().scale(), 0);
            products.multiply(
                    expert.up(), in, ups, ProductMode.STORE, expert.up().scale(), 0);
            long number = (long) rows * intermediate;
            launcher.begin()
                    .tensor(values)
                    .tensor(ups)
                    .tensor(values)
                    .address(number)
                    .launchOver(siluMultiply, number);
        }
        products.multiply(
                expert.down(),
                values,
                into,
                ProductMode.ADD_SCALED,
                expert.down().scale(),
                factors);
    }

    private Tensor tensor(String name, int rows, int columns) {
        long bytes = 4L * rows * columns;
        return new Tensor(new ScratchView(scratch.address(name, bytes), bytes), 0, rows, columns);
    }
}
