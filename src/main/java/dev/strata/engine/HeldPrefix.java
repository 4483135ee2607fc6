package dev.strata.engine;

import dev.strata.engine.PrefixNode.Checkpoint;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The beginning of a text with what the model has of it, kept from being given up while it is written to a file or read from one.
 *
 * @param length tokens
 * @param pages pages that hold them, the last one perhaps in part
 * @param states recurrent states after some of the tokens, longest first; empty for models without any
 */
record HeldPrefix(int length, int[] pages, List<State> states) {
    /**
     * States after the first {@code position} tokens.
     *
     * @param root the end of a system prompt
     * @param slot -1: there was no room for them
     * @param checkpoint the checkpoint that owns the slot; null when the slot is not in the prefix cache
     */
    record State(
            int position, boolean root, int slot, @Nullable Checkpoint checkpoint) {}
}
