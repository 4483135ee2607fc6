package dev.strata.engine;

import dev.strata.model.Model;
import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * Tells the model of prompts as soon as their tokens are known, before their turn comes. Those that mostly repeat an earlier one are left
 * out: their first pass begins where the cached text ends, which only the step loop knows. Any thread.
 */
final class PromptNotices {
    /** Tokens at the start of a prompt that may repeat another one's, such as a system prompt. */
    static final int MOST_SHARED = 1024;

    private static final int KEPT = 16;

    private final Model model;
    private final int chunk;
    private final ArrayDeque<int[]> recent = new ArrayDeque<>();

    /** @param chunk tokens of a prompt's pass */
    PromptNotices(Model model, int chunk) {
        this.model = model;
        this.chunk = chunk;
    }

    /** A prompt has come. */
    void tokenized(int[] prompt) {
        int shared = remember(prompt);
        if (shared <= MOST_SHARED) {
            model.request(prompt, Math.min(prompt.length, chunk + shared));
        }
    }

    /** Tokens that begin the prompt and one of the last ones. */
    private synchronized int remember(int[] prompt) {
        int shared = 0;
        for (int[] other : recent) {
            int mismatch = Arrays.mismatch(other, prompt);
            shared = Math.max(shared, mismatch < 0 ? other.length : mismatch);
        }
        if (recent.size() == KEPT) {
            recent.removeFirst();
        }
        recent.addLast(Arrays.copyOf(prompt, Math.min(prompt.length, MOST_SHARED + 1)));
        return shared;
    }
}
