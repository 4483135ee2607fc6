package dev.strata.device;

/** e to the power of many float32 values at once, in additions and products alone, so that the compiler can work on several at a time. */
public final class Exponential {
    /** Values further below give what this gives: next to nothing. */
    public static final float LEAST = -31;

    private Exponential() {}

    /**
     * into[i] = e^((values[i] - best) * scale), relative error below 2e-5. No value may be above {@code best}.
     *
     * <p>Taylor's polynomial of degree 7 of e^(x / 64), which is then squared six times.
     */
    public static void below(float[] values, float best, float scale, float[] into) {
        for (int i = 0; i < values.length; i++) {
            float x = Math.max((values[i] - best) * scale, LEAST) * (1f / 64);
            float power = 1f / 5040;
            power = power * x + 1f / 720;
            power = power * x + 1f / 120;
            power = power * x + 1f / 24;
            power = power * x + 1f / 6;
            power = power * x + 0.5f;
            power = power * x + 1f;
            power = power * x + 1f;
            power *= power;
            power *= power;
            power *= power;
            power *= power;
            power *= power;
            into[i] = power * power;
        }
    }
}
