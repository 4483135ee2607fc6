package dev.strata.device.reference;

import dev.strata.device.Batch;
import dev.strata.device.NgramWeights;
import dev.strata.device.Tensor;
import java.util.List;

/** Adds the gated n-gram value and its dilated causal convolution to the residual streams. */
final class NgramLayer {
    private static final double SMALLEST_SCORE = 1e-6;

    private final NgramWeights weights;
    private final Products products;

    NgramLayer(NgramWeights weights, Products products) {
        this.weights = weights;
        this.products = products;
    }

    /** Runs all segments; what a held pass has to replay is added to {@code held}. */
    void run(Tensor embedding, Tensor residual, NgramState state, Batch batch, List<HeldWindow> held) {
        int rows = residual.rows();
        int columns = residual.columns();
        float[] streams = Floats.load(residual);
        float[] gated = gatedValues(Floats.load(embedding), streams, rows, columns);
        float[] normed = gated.clone();
        Norms.rms(
                normed,
                columns,
                Floats.load(weights.normConvolution()),
                columns / weights.streams(),
                weights.epsilon());
        float[] taps = Floats.load(weights.convolution());
        for (int index = 0; index < batch.segments().size(); index++) {
            Batch.Segment segment = batch.segments().get(index);
            float[] slot = state.slot(segment.slot());
            float[] window = new float[slot.length + segment.rows() * columns];
            System.arraycopy(slot, 0, window, 0, slot.length);
            System.arraycopy(normed, segment.firstRow() * columns, window, slot.length, segment.rows() * columns);
            for (int i = 0; i < segment.rows(); i++) {
                addConvolution(window, i, taps, columns, gated, streams, (segment.firstRow() + i) * columns);
            }
            if (batch.hold()) {
                held.add(new HeldWindow(
                        index, accepted -> System.arraycopy(window, accepted * columns, slot, 0, slot.length)));
            } else {
                System.arraycopy(window, segment.rows() * columns, slot, 0, slot.length);
            }
        }
        Floats.store(streams, residual);
    }

    private float[] gatedValues(float[] embedding, float[] streams, int rows, int columns) {
        int hidden = columns / weights.streams();
        float[] key = products.multiply(weights.key(), embedding, rows);
        Norms.rms(key, columns, Floats.load(weights.normKey()), hidden, weights.epsilon());
        float[] query = streams.clone();
        Norms.rms(query, columns, Floats.load(weights.normQuery()), hidden, weights.epsilon());
        float[] value = products.multiply(weights.value(), embedding, rows);
        float[] gated = new float[rows * columns];
        for (int group = 0; group < rows * weights.streams(); group++) {
            double score = Floats.dot(key, group * hidden, query, group * hidden, hidden) / Math.sqrt(hidden);
            double gate = Floats.sigmoid(Math.signum(score) * Math.sqrt(Math.max(Math.abs(score), SMALLEST_SCORE)));
            int source = group / weights.streams() * hidden;
            for (int j = 0; j < hidden; j++) {
                gated[group * hidden + j] = (float) (gate * value[source + j]);
            }
        }
        return gated;
    }

    private void addConvolution(
            float[] window, int row, float[] taps, int columns, float[] gated, float[] streams, int at) {
        for (int channel = 0; channel < columns; channel++) {
            double sum = 0;
            for (int j = 0; j < weights.kernel(); j++) {
                int source = (row + j * weights.dilation()) * columns + channel;
                sum += (double) taps[channel * weights.kernel() + j] * window[source];
            }
            streams[at + channel] = (float) (streams[at + channel] + gated[at + channel] + Floats.silu(sum));
        }
    }
}
