package dev.strata.sampling;

import dev.strata.device.Likeliest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Working memory for sampling over one vocabulary, shared by all samplers of one thread. */
public final class SamplerScratch {
    final float[] logits;
    final Truncation truncation;
    final CandidateDraw candidates = new CandidateDraw();
    /** Largest of the loaded logits. */
    float best;

    public SamplerScratch(int vocabulary) {
        logits = new float[vocabulary];
        truncation = new Truncation(vocabulary);
    }

    public int vocabulary() {
        return logits.length;
    }

    /**
     * Takes row {@code row} of [rows, vocabulary] float32 logits.
     *
     * @throws LogitsException when one of them is not finite
     */
    void load(MemorySegment source, int row) {
        MemorySegment.copy(source, ValueLayout.JAVA_FLOAT, 4L * row * logits.length, logits, 0, logits.length);
        float first = Float.NEGATIVE_INFINITY;
        float second = first;
        float third = first;
        float fourth = first;
        float poison = 0;
        float otherPoison = 0;
        int last = logits.length & ~3;
        // Several chains side by side: one alone would wait for itself. A product with 0 is 0 for every finite value,
        // NaN for all others.
        for (int i = 0; i < last; i += 4) {
            first = Math.max(first, logits[i]);
            second = Math.max(second, logits[i + 1]);
            third = Math.max(third, logits[i + 2]);
            fourth = Math.max(fourth, logits[i + 3]);
            poison += logits[i] * 0f + logits[i + 1] * 0f;
            otherPoison += logits[i + 2] * 0f + logits[i + 3] * 0f;
        }
        for (int i = last; i < logits.length; i++) {
            first = Math.max(first, logits[i]);
            poison += logits[i] * 0f;
        }
        if (poison + otherPoison != 0) {
            throw new LogitsException(describe());
        }
        best = Math.max(Math.max(first, second), Math.max(third, fourth));
    }

    private String describe() {
        int bad = 0;
        int first = -1;
        for (int token = 0; token < logits.length; token++) {
            if (!Float.isFinite(logits[token])) {
                bad++;
                first = first < 0 ? token : first;
            }
        }
        return "the model gave " + bad + " of " + logits.length + " logits that are not finite, the first for token "
                + first + " (" + logits[first] + ")";
    }

    /** The likeliest token of the logits as they were loaded, lowest id among equals. */
    int loadedArgmax() {
        int at = 0;
        while (logits[at] != best) {
            at++;
        }
        return at;
    }

    /** The likeliest token, lowest id among equals, after the logits were changed. */
    int argmax() {
        return Likeliest.of(logits);
    }

    /** Log of the sum of e^logit. */
    double logSum() {
        return truncation.logSum(logits, best);
    }

    /** The {@code count} likeliest tokens, best first, lower id first among equals. */
    int[] top(int count) {
        int[] ids = new int[Math.min(count, logits.length)];
        int kept = 0;
        for (int token = 0; token < logits.length && ids.length > 0; token++) {
            if (kept == ids.length && !(logits[token] > logits[ids[kept - 1]])) {
                continue;
            }
            int at = kept < ids.length ? kept++ : kept - 1;
            while (at > 0 && logits[token] > logits[ids[at - 1]]) {
                ids[at] = ids[at - 1];
                at--;
            }
            ids[at] = token;
        }
        return ids;
    }
}
