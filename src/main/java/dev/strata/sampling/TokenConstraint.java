package dev.strata.sampling;

import java.lang.foreign.MemorySegment;

/**
 * Says which tokens may come next in one sequence. Used by one thread; {@link #fork} gives an independent copy, for looking at drafts.
 *
 * <p>The order of calls for a token: {@link #mask} (or {@link #allowed}), sample, {@link #accept}. End tokens are allowed exactly when
 * the text may end here.
 */
public interface TokenConstraint {
    /**
     * The tokens that may come next, one bit each (bit {@code id & 63} of word {@code id >> 6}). Shared and cached: not to be changed, and
     * valid until the next call of {@link #accept}. Ids beyond the array are forbidden.
     */
    long[] allowed();

    /** Whether this token may come next. */
    default boolean accepts(int token) {
        long[] allowed = allowed();
        int word = token >> 6;
        return token >= 0 && word < allowed.length && (allowed[word] >>> token & 1) != 0;
    }

    /**
     * Takes the token that was chosen.
     *
     * @throws IllegalArgumentException when it was not allowed
     */
    void accept(int token);

    /** Whether nothing but an end token may follow. */
    boolean finished();

    /** A copy that goes its own way: a draft's tokens are accepted there one by one until one is refused. */
    TokenConstraint fork();

    /** Sets the logits of forbidden tokens to minus infinity. */
    default void mask(float[] logits) {
        mask(MemorySegment.ofArray(logits));
    }

    /** The same for one row of float32 logits anywhere. */
    default void mask(MemorySegment logits) {
        TokenMask.apply(allowed(), logits);
    }
}
