package dev.strata.tokenizer;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedSet;

/**
 * Tokens with a role.
 *
 * @param begin token that begins a text (BOS)
 * @param addBegin whether a prompt starts with it; not again when a chat template wrote it already
 * @param end ids that end an answer (end of turn, end of text)
 * @param fillInTheMiddle how a gap in a text is asked for, when the model knows
 */
public record SpecialTokens(
        OptionalInt begin, boolean addBegin, SortedSet<Integer> end, Optional<FillInTheMiddle> fillInTheMiddle) {
    /** Ids of the markers around the parts of a text with a gap. */
    public record FillInTheMiddle(int prefix, int suffix, int middle) {}
}
