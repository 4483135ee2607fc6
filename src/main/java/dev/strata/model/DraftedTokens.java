package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Batch;
import java.lang.foreign.MemorySegment;

/** What {@link Model#draftAhead} made: for every segment its drafts, each with the probability that the draft layer gives it. */
public final class DraftedTokens {
    /** Segments that get drafts at once. */
    public static final int MOST_SEGMENTS = 16;

    /** Drafts of one segment. */
    public static final int MOST = Batch.MAX_WINDOW - 1;

    /** Int32 tokens [drafts][segments], then float32 probabilities likewise. */
    static final int WORDS = 2 * MOST * MOST_SEGMENTS;

    private final MemorySegment words = MemorySegment.ofArray(new int[WORDS]);
    private int made;

    /** Drafts that every segment got. */
    public int made() {
        return made;
    }

    public int token(int segment, int draft) {
        return words.getAtIndex(JAVA_INT, tokenAt(draft) + segment);
    }

    /** NaN when the logits were not numbers. */
    public float probability(int segment, int draft) {
        return words.getAtIndex(JAVA_FLOAT, probabilityAt(draft) + segment);
    }

    /** Puts a draft in its place; they are made one after the other. */
    public void set(int segment, int draft, int token, float probability) {
        words.setAtIndex(JAVA_INT, tokenAt(draft) + segment, token);
        words.setAtIndex(JAVA_FLOAT, probabilityAt(draft) + segment, probability);
        made = draft + 1;
    }

    /** Receives all words of {@code drafts} drafts. */
    MemorySegment words(int drafts) {
        made = drafts;
        return words;
    }

    static int tokenAt(int draft) {
        return draft * MOST_SEGMENTS;
    }

    static int probabilityAt(int draft) {
        return (MOST + draft) * MOST_SEGMENTS;
    }
}
