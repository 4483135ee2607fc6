package dev.strata.device.reference;

import dev.strata.device.Rope;

/** Applies rotary position embedding to one head. */
final class Rotation {
    private final double[] frequencies;
    private final float magnitude;

    Rotation(Rope rope) {
        this.frequencies = rope.frequencies();
        this.magnitude = rope.magnitude();
    }

    /** Rotates the head at {@code offset} to {@code position}; elements beyond the rotary width stay. */
    void apply(float[] values, int offset, int position) {
        int half = frequencies.length;
        for (int i = 0; i < half; i++) {
            double angle = position * frequencies[i];
            double cosine = Math.cos(angle) * magnitude;
            double sine = Math.sin(angle) * magnitude;
            float low = values[offset + i];
            float high = values[offset + half + i];
            values[offset + i] = (float) (low * cosine - high * sine);
            values[offset + half + i] = (float) (high * cosine + low * sine);
        }
    }
}
