package dev.strata.engine;

import dev.strata.engine.PrefixNode.Checkpoint;

/**
 * Where reading a prompt stops on the way, because the states there are worth keeping: behind a system prompt, behind the last turn, every so
 * many tokens, and one token before the end when other choices share the prompt.
 */
final class Stops {
    /** Shorter stretches are read again faster than a pass of their own takes. */
    private static final int LEAST_STRETCH = 64;

    /** Part of a chunk from which on the start of other conversations is worth a pass: a large pass takes hardly longer with so much more. */
    private static final int CHUNK_PART = 8;

    private final boolean recurrent;
    private final int every;
    private final int leastSystem;

    /**
     * @param every tokens between checkpoints of long prompts, if a pass is not longer
     * @param chunk tokens of a full pass
     */
    Stops(boolean recurrent, int every, int chunk) {
        this.recurrent = recurrent;
        this.every = Math.max(every, chunk);
        leastSystem = Math.max(LEAST_STRETCH, chunk / CHUNK_PART);
    }

    /** The position up to which the sequence may be read in one go. */
    int next(Sequence sequence) {
        int past = sequence.past;
        int end = sequence.length();
        if (sequence.generated() > 0) {
            return end;
        }
        if (sequence.choice == 0 && sequence.request.followers > 0 && past < sequence.promptLength - 1) {
            end = sequence.promptLength - 1;
        }
        if (!recurrent) {
            return end;
        }
        if (past < beforeLast(sequence)) {
            end = Math.min(end, beforeLast(sequence));
        }
        int system = sequence.request.prompt.systemEnd();
        if (system > past && system - sequence.reused >= leastSystem && system < end) {
            return Math.min(system, spaced(past));
        }
        int turn = lastTurnEnd(sequence);
        if (turn > past && turn - sequence.reused >= LEAST_STRETCH && turn < end) {
            end = turn;
        }
        return Math.min(end, spaced(past));
    }

    /**
     * One token before the end of a text without turns, so that the same text asked again need not be read again; 0 for others, which end
     * with a turn or are short.
     */
    private static int beforeLast(Sequence sequence) {
        boolean turns = sequence.request.prompt.turnEnds().length > 0;
        return turns || sequence.promptLength - sequence.reused < 4 * LEAST_STRETCH ? 0 : sequence.promptLength - 1;
    }

    private int spaced(int past) {
        return (past / every + 1) * every;
    }

    private static int lastTurnEnd(Sequence sequence) {
        int[] ends = sequence.request.prompt.turnEnds();
        return ends.length == 0 ? 0 : ends[ends.length - 1];
    }

    /** Keeps the states where that is worth it. */
    void reached(Sequence sequence, SequenceStore store) {
        int past = sequence.past;
        ActiveRequest request = sequence.request;
        boolean shares = sequence.choice == 0 && request.followers > 0 && past == sequence.promptLength - 1;
        boolean system = past == request.prompt.systemEnd();
        boolean planned = past % every == 0
                || past == lastTurnEnd(sequence)
                || past == beforeLast(sequence)
                || past == sequence.promptLength;
        if (shares || system || planned) {
            Checkpoint kept = store.keep(sequence, system);
            if (shares) {
                request.shared(kept);
            }
        }
    }
}
