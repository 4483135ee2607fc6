package dev.strata.device;

/**
 * Rotary position embedding of the first {@code width} elements of a head, half-split pairs (element i with i + width/2).
 *
 * @param width rotary width, even
 * @param base theta
 * @param factor context extension of YaRN, 1 for none
 * @param originalContext context before extension
 * @param betaFast YaRN correction range
 * @param betaSlow YaRN correction range
 */
public record Rope(int width, double base, double factor, int originalContext, double betaFast, double betaSlow) {
    public static Rope plain(int width, double base) {
        return new Rope(width, base, 1, 0, 32, 1);
    }

    /** Factor on cos and sin: 1 + 0.1 ln(factor) with YaRN, else 1. */
    public float magnitude() {
        return factor == 1 ? 1f : (float) (1 + 0.1 * Math.log(factor));
    }

    /** Angle per position of every pair, {@code width / 2} values. */
    public double[] frequencies() {
        double[] frequencies = new double[width / 2];
        double low = 0;
        double high = 0;
        if (factor != 1) {
            double denominator = 2 * Math.log(base);
            low = Math.clamp(
                    Math.floor(width * Math.log(originalContext / (betaFast * 2 * Math.PI)) / denominator),
                    0,
                    width - 1.0);
            high = Math.clamp(
                    Math.ceil(width * Math.log(originalContext / (betaSlow * 2 * Math.PI)) / denominator),
                    0,
                    width - 1.0);
        }
        for (int i = 0; i < frequencies.length; i++) {
            double plain = Math.pow(base, -2.0 * i / width);
            if (factor == 1) {
                frequencies[i] = plain;
            } else {
                double ramp = 1 - Math.clamp((i - low) / Math.max(0.001, high - low), 0, 1);
                frequencies[i] = plain / factor * (1 - ramp) + plain * ramp;
            }
        }
        return frequencies;
    }
}
