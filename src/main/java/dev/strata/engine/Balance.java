package dev.strata.engine;

/**
 * Shares time between reading prompts and decoding: a chunk of a prompt that took a while is followed by decode steps for their share of
 * the time, so that a long prompt never stalls the answers that stream beside it.
 */
final class Balance {
    private final double decodeShare;
    private long owedNanos;
    private long stepNanos;

    /** @param decodeShare part of the time that decoding gets while both have work, below 1 */
    Balance(double decodeShare) {
        this.decodeShare = decodeShare;
    }

    /** Whether the next pass reads a prompt. */
    boolean readNext(boolean reading, boolean decoding) {
        if (!decoding) {
            owedNanos = 0;
            return reading;
        }
        // What the last chunk of one prompt took is owed even when the next prompt has not come yet.
        return reading && owedNanos == 0;
    }

    /** Whether decoding has waited for as long as a step takes, so that one is due in the middle of a chunk. */
    boolean owesStep() {
        return owedNanos > 0 && owedNanos >= stepNanos;
    }

    /** A chunk took so long, or a part of it. */
    void didRead(long nanos) {
        owedNanos += (long) (nanos * decodeShare / (1 - decodeShare));
    }

    void didDecode(long nanos) {
        owedNanos = Math.max(0, owedNanos - nanos);
        stepNanos = nanos;
    }
}
