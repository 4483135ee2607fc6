package dev.strata.sampling;

import dev.strata.device.Picks;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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
        if (topLogprobs < 0) {
            return choose();
        }
        // Before choosing, which changes the loaded logits.
        double logSum = scratch.logSum();
        int[] top = scratch.top(topLogprobs);
        float[] topValues = values(scratch, top, logSum);
        int token = choose();
        logprobs = new Logprobs(token, (float) (at(logits, row, token) - logSum), top, topValues);
        return token;
    }

    /** Whether {@link #sample(Picks, int)} can mostly tell the token: nothing changes the logits and none are told. */
    public boolean picks() {
        boolean plain = penalties == null && constraint == null && biasedTokens.length == 0 && topLogprobs < 0;
        boolean any = !sorted() && settings.minP() <= 0;
        boolean few = settings.topK() > 0 ? settings.topK() <= Picks.CANDIDATES : settings.topP() < 1;
        return plain && (settings.greedy() || any || few);
    }

    /** Whether the token is always the one that the backend draws or finds likeliest. */
    public boolean picksAlone() {
        return picks() && (settings.greedy() || !sorted());
    }

    private boolean sorted() {
        return settings.topK() > 0 || settings.topP() < 1;
    }

    /** What {@link Picks} are to find out for the row {@code ahead} positions from here. */
    public void pickSettings(int ahead, MemorySegment target, int row) {
        boolean draws = !settings.greedy() && !sorted();
        Picks.set(
                target,
                row,
                settings.greedy() ? 1 : 1 / settings.temperature(),
                draws ? (float) Philox.uniform(settings.seed(), position + ahead, 0) : -1,
                !settings.greedy() && sorted());
    }

    /** The token that follows, or -1 when all logits of the row are needed to tell. */
    public int sample(Picks picks, int row) {
        if (picks.notFinite(row) > 0) {
            return CandidateDraw.UNKNOWN;
        }
        if (settings.greedy()) {
            return picks.likeliest(row);
        }
        return sorted()
                ? scratch.candidates.draw(picks, row, settings, Philox.uniform(settings.seed(), position, 0))
                : picks.drawn(row);
    }

    /**
     * Log probability of a token that is known already, such as one of a prompt.
     *
     * @throws LogitsException when a logit is not finite
     */
    public static Logprobs measure(SamplerScratch scratch, MemorySegment logits, int row, int token, int topLogprobs) {
        scratch.load(logits, row);
        double logSum = scratch.logSum();
        int[] top = scratch.top(topLogprobs);
        return new Logprobs(token, (float) (scratch.logits[token] - logSum), top, values(scratch, top, logSum));
    }

    private static float[] values(SamplerScratch scratch, int[] tokens, double logSum) {
        float[] values = new float[tokens.length];
        for (int i = 0; i < tokens.length; i++) {
            values[i] = (float) (scratch.logits[tokens[i]] - logSum);
        }
        return values;
    }

    private float at(MemorySegment logits, int row, int token) {
        return logits.getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * scratch.vocabulary() + token);
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
        boolean changed = biasedTokens.length > 0 || penalties != null || constraint != null;
        int best = changed ? scratch.argmax() : scratch.loadedArgmax();
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
