package dev.strata.device.reference;

import dev.strata.device.HyperWeights;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** Gated residuals: reads block inputs from the residual streams and adds block outputs back. */
final class HyperConnection {
    private final Products products;

    HyperConnection(Products products) {
        this.products = products;
    }

    void mix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor inject) {
        int streams = weights.streams();
        int hidden = out.columns();
        int rows = residual.rows();
        float[] normed = Floats.load(residual);
        Norms.rms(normed, residual.columns(), Floats.load(weights.norm()), hidden, weights.epsilon());
        float[] low = products.multiply(weights.down(), normed, rows);
        for (int i = 0; i < low.length; i++) {
            low[i] = (float) Floats.silu(low[i] / streams);
        }
        float[] gate = products.multiply(weights.up(), low, rows);
        float[] mixed = new float[rows * hidden];
        for (int row = 0; row < rows; row++) {
            for (int j = 0; j < hidden; j++) {
                double sum = 0;
                for (int stream = 0; stream < streams; stream++) {
                    int at = (row * streams + stream) * hidden + j;
                    sum += Floats.sigmoid(gate[at]) * normed[at];
                }
                mixed[row * hidden + j] = (float) (sum / streams);
            }
        }
        Floats.store(mixed, out);
        if (inject != null && weights.inject() != null) {
            float[] scalars = products.multiply(weights.inject(), normed, rows);
            for (int i = 0; i < scalars.length; i++) {
                scalars[i] = (float) (2 * Floats.sigmoid(scalars[i] / streams));
            }
            Floats.store(scalars, inject);
        }
    }

    static void inject(Tensor y, Tensor inject, Tensor residual) {
        int hidden = y.columns();
        int streams = inject.columns();
        float[] values = Floats.load(y);
        float[] scalars = Floats.load(inject);
        float[] sum = Floats.load(residual);
        for (int row = 0; row < y.rows(); row++) {
            for (int stream = 0; stream < streams; stream++) {
                float scalar = scalars[row * streams + stream];
                int at = (row * streams + stream) * hidden;
                for (int j = 0; j < hidden; j++) {
                    sum[at + j] += scalar * values[row * hidden + j];
                }
            }
        }
        Floats.store(sum, residual);
    }
}
