package dev.strata.device.reference;

import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Gated DeltaNet over the consecutive rows of one sequence, token by token. */
final class DeltaNet {
    /** Added to the squared length of queries and keys before they are divided by it. */
    private static final double LENGTH_EPSILON = 1e-6;

    /**
     * What the recurrence reads of a window of {@code count} tokens.
     *
     * @param qkv [count, channels], before the convolution
     * @param beta [count, valueHeads], before the sigmoid
     * @param alpha [count, valueHeads], before softplus
     */
    record Window(float[] qkv, float[] beta, float[] alpha) {}

    private final DeltaShape shape;
    private final float[] convolution;
    private final float[] decay;
    private final float[] timeBias;
    private final float[] norm;
    private final Workers workers;

    DeltaNet(DeltaShape shape, DeltaWeights weights, Workers workers) {
        this.shape = shape;
        this.convolution = Floats.load(weights.convolution());
        this.decay = Floats.load(weights.decay());
        this.timeBias = Floats.load(weights.timeBias());
        this.norm = Floats.load(weights.norm());
        this.workers = workers;
    }

    /**
     * Advances {@code state} by the first {@code count} tokens of the window.
     *
     * @param z output gates [count, valueColumns]; null when only the state is wanted
     * @return [count, valueColumns], empty without {@code z}
     */
    float[] run(Window window, int count, DeltaState.Slot state, float @Nullable [] z) {
        float[] convolved = convolve(window, count, state);
        float[] out = new float[z == null ? 0 : count * shape.valueColumns()];
        long cost = 4L * count * shape.keySize() * shape.valueSize();
        workers.range(shape.valueHeads(), cost, (from, to) -> {
            for (int head = from; head < to; head++) {
                recur(window, count, convolved, state.matrices(), head, out);
            }
        });
        if (z != null) {
            gate(out, z);
        }
        return out;
    }

    /** Causal depthwise convolution and SiLU; the state keeps the last inputs. */
    private float[] convolve(Window window, int count, DeltaState.Slot state) {
        int channels = shape.channels();
        int kernel = shape.kernel();
        int past = (kernel - 1) * channels;
        float[] inputs = new float[past + count * channels];
        System.arraycopy(state.rows(), 0, inputs, 0, past);
        System.arraycopy(window.qkv(), 0, inputs, past, count * channels);
        float[] convolved = new float[count * channels];
        for (int t = 0; t < count; t++) {
            for (int channel = 0; channel < channels; channel++) {
                double sum = 0;
                for (int j = 0; j < kernel; j++) {
                    sum += (double) convolution[channel * kernel + j] * inputs[(t + j) * channels + channel];
                }
                convolved[t * channels + channel] = (float) Floats.silu(sum);
            }
        }
        System.arraycopy(inputs, count * channels, state.rows(), 0, past);
        return convolved;
    }

    /** The gated delta rule of one value head: S decays, forgets what the key recalled, and learns the value. */
    private void recur(Window window, int count, float[] convolved, float[] matrices, int head, float[] out) {
        int keySize = shape.keySize();
        int valueSize = shape.valueSize();
        int base = head * keySize * valueSize;
        double[] query = new double[keySize];
        double[] key = new double[keySize];
        double[] recalled = new double[valueSize];
        for (int t = 0; t < count; t++) {
            int row = t * shape.channels();
            int keyHead = shape.keyHeadOf(head) * keySize;
            unit(convolved, row + keyHead, query, 1 / Math.sqrt(keySize));
            unit(convolved, row + shape.keyColumns() + keyHead, key, 1);
            int value = row + 2 * shape.keyColumns() + head * valueSize;
            int scalar = t * shape.valueHeads() + head;
            double beta = Floats.sigmoid(window.beta()[scalar]);
            double decayed = Math.exp(decay[head] * Floats.softplus((double) window.alpha()[scalar] + timeBias[head]));
            Arrays.fill(recalled, 0);
            for (int i = 0; i < keySize; i++) {
                for (int j = 0; j < valueSize; j++) {
                    recalled[j] += matrices[base + i * valueSize + j] * decayed * key[i];
                }
            }
            for (int j = 0; j < valueSize; j++) {
                recalled[j] = beta * (convolved[value + j] - recalled[j]);
            }
            double[] result = new double[valueSize];
            for (int i = 0; i < keySize; i++) {
                for (int j = 0; j < valueSize; j++) {
                    int at = base + i * valueSize + j;
                    float updated = (float) (matrices[at] * decayed + key[i] * recalled[j]);
                    matrices[at] = updated;
                    result[j] += updated * query[i];
                }
            }
            if (out.length > 0) {
                for (int j = 0; j < valueSize; j++) {
                    out[t * shape.valueColumns() + head * valueSize + j] = (float) result[j];
                }
            }
        }
    }

    private static void unit(float[] source, int offset, double[] target, double scale) {
        double squares = Floats.dot(source, offset, source, offset, target.length);
        double factor = scale / Math.sqrt(squares + LENGTH_EPSILON);
        for (int i = 0; i < target.length; i++) {
            target[i] = source[offset + i] * factor;
        }
    }

    private void gate(float[] out, float[] z) {
        Norms.rms(out, shape.valueColumns(), norm, shape.valueSize(), shape.normEpsilon());
        for (int i = 0; i < out.length; i++) {
            out[i] *= (float) (shape.sigmoidGate() ? Floats.sigmoid(z[i]) : Floats.silu(z[i]));
        }
    }
}
