package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Encoders of IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S: the fit by {@link GridEncoder} packed as {@link GridDecoders} reads it. */
final class GridEncoders {
    private static final GridEncoder TWO_XXS = new GridEncoder(Grid.IQ2_XXS, 32, true, 0.125f);
    private static final GridEncoder TWO_XS = new GridEncoder(Grid.IQ2_XS, 16, true, 0.125f);
    private static final GridEncoder TWO_S = new GridEncoder(Grid.IQ2_S, 16, false, 0.125f);
    private static final GridEncoder THREE_XXS = new GridEncoder(Grid.IQ3_XXS, 32, true, 0.25f);
    private static final GridEncoder THREE_S = new GridEncoder(Grid.IQ3_S, 32, false, 1);

    private GridEncoders() {}

    static void iq2xxs(float[] source, int at, MemorySegment target, long offset) {
        GridEncoder.Fitted fitted = TWO_XXS.fit(source, at);
        Fields.putF16(target, offset, fitted.scale());
        for (int group = 0; group < 8; group++) {
            long field = offset + 2 + 8 * group;
            for (int l = 0; l < 4; l++) {
                Fields.put8(target, field + l, fitted.rows()[4 * group + l]);
            }
            Fields.put32(target, field + 4, packed(fitted, group));
        }
    }

    static void iq2xs(float[] source, int at, MemorySegment target, long offset) {
        GridEncoder.Fitted fitted = TWO_XS.fit(source, at);
        Fields.putF16(target, offset, fitted.scale());
        for (int i = 0; i < 32; i++) {
            Fields.put16(target, offset + 2 + 2 * i, fitted.rows()[i] | (fitted.signs()[i] & 127) << 9);
        }
        putSteps(fitted.steps(), target, offset + 66);
    }

    static void iq2s(float[] source, int at, MemorySegment target, long offset) {
        GridEncoder.Fitted fitted = TWO_S.fit(source, at);
        KEncoders.clear(target, offset, 82);
        Fields.putF16(target, offset, fitted.scale());
        for (int i = 0; i < 32; i++) {
            int row = fitted.rows()[i];
            Fields.put8(target, offset + 2 + i, row);
            Fields.put8(target, offset + 34 + i, fitted.signs()[i]);
            long high = offset + 66 + i / 4;
            Fields.put8(target, high, Fields.u8(target, high) | row >> 8 << 2 * (i % 4));
        }
        putSteps(fitted.steps(), target, offset + 74);
    }

    static void iq3xxs(float[] source, int at, MemorySegment target, long offset) {
        GridEncoder.Fitted fitted = THREE_XXS.fit(source, at);
        Fields.putF16(target, offset, fitted.scale());
        for (int i = 0; i < 64; i++) {
            Fields.put8(target, offset + 2 + i, fitted.rows()[i]);
        }
        for (int group = 0; group < 8; group++) {
            Fields.put32(target, offset + 66 + 4 * group, packed(fitted, group));
        }
    }

    static void iq3s(float[] source, int at, MemorySegment target, long offset) {
        GridEncoder.Fitted fitted = THREE_S.fit(source, at);
        KEncoders.clear(target, offset, 110);
        Fields.putF16(target, offset, fitted.scale());
        for (int k = 0; k < 64; k++) {
            int row = fitted.rows()[k];
            Fields.put8(target, offset + 2 + k, row);
            long high = offset + 66 + k / 8;
            Fields.put8(target, high, Fields.u8(target, high) | row >> 8 << k % 8);
        }
        for (int i = 0; i < 32; i++) {
            Fields.put8(target, offset + 74 + i, fitted.signs()[i]);
        }
        putSteps(fitted.steps(), target, offset + 106);
    }

    /** Seven sign bits of each of four eights, the step of their group on top. */
    private static int packed(GridEncoder.Fitted fitted, int group) {
        int packed = fitted.steps()[group] << 28;
        for (int l = 0; l < 4; l++) {
            packed |= (fitted.signs()[4 * group + l] & 127) << 7 * l;
        }
        return packed;
    }

    private static void putSteps(int[] steps, MemorySegment target, long offset) {
        for (int i = 0; i < steps.length / 2; i++) {
            Fields.put8(target, offset + i, steps[2 * i] | steps[2 * i + 1] << 4);
        }
    }
}
