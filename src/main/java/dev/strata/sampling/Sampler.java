package dev.strata.sampling;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the tokens of one answer: logit bias, penalties, the constraint's mask, temperature, top_k, top_p, min_p, then a draw with the
 * random number of the token's position. {@link #sample} changes nothing, so a position may be sampled again; {@link #accept} moves on.
 */
public final class Sampler {
    private final SamplingSettings settings;
    private final SamplerScratch scratch;
    private final @Nullable TokenConstraint constraint;
    private final @Nullable Penalties penalties;
    private final int topLogprobs;
    private final int[] biasedTokens;
    private final float[] biases;
    private @Nullable Logprobs logprobs;
    private int position;

    /**
     * @param topLogprobs -1: log probabilities are not kept; else the number of alternatives
     */
    public Sampler(
            SamplingSettings settings, SamplerScratch scratch, @Nullable TokenConstraint constraint, int topLogprobs) {
        this.settings = settings;
        this.scratch = scratch;
        this.constraint = constraint;
        this.topLogprobs = topLogprobs;
        penalties = settings.penalises() ? new Penalties(settings) : null;
        biasedTokens = new int[settings.logitBias().size()];
        biases = new float[biasedTokens.length];
        int i = 0;
        for (Map.Entry<Integer, Float> bias : settings.logitBias().entrySet()) {
            biasedTokens[i] = bias.getKey();
            biases[i++] = bias.getValue();
        }
    }

    /** The prompt's tokens, which count for the repetition penalty. */
    public void prompt(int[] tokens) {
        if (penalties != null) {
            penalties.prompt(tokens);
        }
    }

    /**
     * The token that follows according to row {@code row} of the float32 logits [rows, vocabulary].
     *
     * @throws LogitsException when a logit is not finite
     */
    public int sample(MemorySegment logits, int row) {
        scratch.load(logits, row);
        double logSum = topLogprobs >= 0 ? scratch.logSum() : 0;
        int[] top = topLogprobs > 0 ? scratch.top(topLogprobs) : new int[0];
        float[] topValues = new float[top.length];
        for (int i = 0; i < top.length; i++) {
            topValues[i] = (float) (scratch.logits[top[i]] - logSum);
        }
        int token = choose();
        if (topLogprobs >= 0) {
            float own = logits.getAtIndex(
                    java.lang.foreign.ValueLayout.JAVA_FLOAT, (long) row * scratch.vocabulary() + token);
            logprobs = new Logprobs(token, (float) (own - logSum), top, topValues);
        }
        return token;
    }

    private int choose() {
        float[] logits = scratch.logits;
        for (int i = 0; i < biasedTokens.length; i++) {
            logits[biasedTokens[i]] += biases[i];
        }
        if (penalties != null) {
            penalties.apply(logits);
        }
        if (constraint != null) {
            constraint.mask(logits);
        }
        int best = scratch.argmax();
        if (logits[best] == Float.NEGATIVE_INFINITY) {
            throw new LogitsException("no token may follow here: logit_bias or the output format forbids all of them");
        }
        if (settings.greedy()) {
            return best;
        }
        return scratch.truncation.draw(logits, logits[best], settings, Philox.uniform(settings.seed(), position, 0));
    }

    /** Log probabilities of the token sampled last; null when they are not kept. */
    public @Nullable Logprobs logprobs() {
        return logprobs;
    }

    /** Moves on with the token that came. */
    public void accept(int token) {
        position++;
        if (penalties != null) {
            penalties.accept(token);
        }
        if (constraint != null) {
            constraint.accept(token);
        }
    }

    public @Nullable TokenConstraint constraint() {
        return constraint;
    }
}
