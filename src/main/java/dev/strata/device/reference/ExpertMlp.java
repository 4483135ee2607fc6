package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertView;
import dev.strata.device.HostBuffer;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** down(silu(gate x) * (up x)) of routed and shared experts. */
final class ExpertMlp {
    /** A row that uses an expert, and with which weight. */
    private record Use(int row, float weight) {}

    private final Workers workers;
    private final Products products;

    ExpertMlp(Workers workers, Products products) {
        this.workers = workers;
        this.products = products;
    }

    /** Every expert's matrices are read once for all rows that use it; a row adds its experts up in ascending order of id. */
    void routed(ReferenceExperts layer, Tensor in, Routing routing, Tensor out) {
        ExpertLayout layout = layer.layout();
        float[] input = Floats.load(in);
        double[] sum = new double[in.rows() * layout.hidden()];
        try (Arena scratch = Arena.ofShared()) {
            for (Map.Entry<Integer, List<Use>> entry :
                    uses(routing, in.rows(), layout).entrySet()) {
                List<Use> uses = entry.getValue();
                ExpertView view = layer.view(entry.getKey(), scratch);
                float[] rows = new float[uses.size() * layout.hidden()];
                for (int i = 0; i < uses.size(); i++) {
                    System.arraycopy(
                            input, uses.get(i).row() * layout.hidden(), rows, i * layout.hidden(), layout.hidden());
                }
                float[] result = mlp(
                        matrix(layout, "gate", view),
                        matrix(layout, "up", view),
                        matrix(layout, "down", view),
                        rows,
                        uses.size());
                for (int i = 0; i < uses.size(); i++) {
                    int target = uses.get(i).row() * layout.hidden();
                    for (int j = 0; j < layout.hidden(); j++) {
                        sum[target + j] += (double) uses.get(i).weight() * result[i * layout.hidden() + j];
                    }
                }
            }
        }
        float[] values = new float[sum.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) sum[i];
        }
        Floats.store(values, out);
    }

    void shared(SharedExpert expert, Tensor in, Tensor into) {
        float[] input = Floats.load(in);
        float[] result = mlp(expert.gate(), expert.up(), expert.down(), input, in.rows());
        float[] sum = Floats.load(into);
        float[] gate = expert.scalarGate() == null ? new float[0] : Floats.load(expert.scalarGate());
        for (int row = 0; row < in.rows(); row++) {
            double factor =
                    gate.length == 0 ? 1 : Floats.sigmoid(Floats.dot(gate, 0, input, row * in.columns(), in.columns()));
            for (int j = row * into.columns(); j < (row + 1) * into.columns(); j++) {
                sum[j] = (float) (sum[j] + factor * result[j]);
            }
        }
        Floats.store(sum, into);
    }

    private float[] mlp(Weight gate, Weight up, Weight down, float[] in, int rows) {
        float[] activated = products.multiply(gate, in, rows);
        float[] raised = products.multiply(up, in, rows);
        workers.range(activated.length, 20, (from, to) -> {
            for (int i = from; i < to; i++) {
                activated[i] = (float) (Floats.silu(activated[i]) * raised[i]);
            }
        });
        return products.multiply(down, activated, rows);
    }

    private static Map<Integer, List<Use>> uses(Routing routing, int rows, ExpertLayout layout) {
        Map<Integer, List<Use>> uses = new TreeMap<>();
        float[] weights = Floats.load(routing.weights(), 0, rows);
        for (int i = 0; i < weights.length; i++) {
            int expert = routing.ids().host().getAtIndex(JAVA_INT, i);
            if (expert < 0 || expert >= layout.experts()) {
                throw new IllegalArgumentException(
                        "expert " + expert + " chosen in layer " + layout.layer() + ", which has " + layout.experts());
            }
            uses.computeIfAbsent(expert, key -> new ArrayList<>()).add(new Use(i / routing.used(), weights[i]));
        }
        return uses;
    }

    private static Weight matrix(ExpertLayout layout, String part, ExpertView view) {
        int hidden = layout.hidden();
        int intermediate = layout.intermediate();
        String name = "expert " + part + " of layer " + layout.layer();
        return switch (part) {
            case "gate" ->
                new Weight(
                        name, layout.gateType(), intermediate, hidden, HostBuffer.of(view.gate()), 0, view.gateScale());
            case "up" ->
                new Weight(name, layout.upType(), intermediate, hidden, HostBuffer.of(view.up()), 0, view.upScale());
            default ->
                new Weight(
                        name, layout.downType(), hidden, intermediate, HostBuffer.of(view.down()), 0, view.downScale());
        };
    }
}
