package dev.strata.sampling;

/** e to the power of many float32 values at once, without calls, so that the compiler can keep it in registers. */
final class Exponential {
    private static final float LOG2_E = 1.44269504f;

    private Exponential() {}

    /**
     * e^x for x at most 0, relative error below 2e-7; below -80 the result is 0. Splits x log2(e) in a whole and a fractional part; 2 to the
     * fraction is a polynomial (Taylor's in f ln 2 around 0, on [-0.5, 0.5]).
     */
    static float ofNegative(float x) {
        if (!(x > -80)) {
            return 0;
        }
        float scaled = x * LOG2_E;
        int whole = (int) (scaled - 0.5f);
        // In two parts, as the product above has lost low bits that the exponent's size makes visible.
        float rest = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
        float power =
                1 + rest * (1 + rest * (0.5f + rest * (1 / 6f + rest * (1 / 24f + rest * (1 / 120f + rest / 720f)))));
        return power * Float.intBitsToFloat((whole + 127) << 23);
    }
}
