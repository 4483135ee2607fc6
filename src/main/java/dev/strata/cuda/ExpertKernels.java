package dev.strata.cuda;

import dev.strata.device.ExpertLayout;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.format.QuantType;

/** Launches the kernels of experts.cu. */
final class ExpertKernels {
    private final Launcher launcher;
    private final Scratch scratch;
    private final StoredTypes types;
    private final Products products;
    private final Activations activations;
    private final DecodeExperts decode;
    private final Kernel route;
    private final Kernel scalarGate;
    private final Kernel siluMultiply;

    ExpertKernels(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StoredTypes types,
            Products products,
            Activations activations,
            DecodeExperts decode) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.types = types;
        this.products = products;
        this.activations = activations;
        this.decode = decode;
        this.route = kernels.get("route");
        this.scalarGate = kernels.get("scalar_gate");
        this.siluMultiply = kernels.get("silu_multiply");
    }

    Scratch scratch() {
        return scratch;
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

    /** silu(gate x) * (up x) of every pair of the experts in the range, float32 [pairs, intermediate]. */
    void gateUp(ExpertLayout layout, long table, Tensor in, Routing routing, int first, int number, long values) {
        if (decode.gates(layout, null, in.rows())) {
            decode.gateUp(layout, table, null, in, routing, first, number, values);
            return;
        }
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
        if (decode.sums(layout, null, routing.used(), rows)) {
            decode.downRows(layout, table, routing, rows, values, out);
            return;
        }
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
                    expert.down().scale() / Products.GATED_PART,
                    factors);
            products.written(into);
            return;
        }
        Tensor values = scratch.tensor("shared expert values, float32", rows, intermediate);
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
            Tensor ups = scratch.tensor("shared expert ups", rows, intermediate);
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
}
