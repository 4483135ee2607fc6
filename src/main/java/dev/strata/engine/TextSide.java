package dev.strata.engine;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Prompt;
import dev.strata.sampling.Logprobs;
import dev.strata.sampling.TokenConstraint;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Text on either side of the model: prompts become tokens, tokens become answers. Safe for use by many threads. */
interface TextSide {
    /**
     * A prompt ready to be read.
     *
     * @param turnEnds positions just behind tokens that end a turn, ascending: places where other prompts may part from this one
     * @param systemEnd length of the system prompt's turn, 0 when there is none
     * @param insideReasoning whether the answer begins inside a reasoning block
     */
    record Prepared(int[] tokens, int[] turnEnds, int systemEnd, boolean insideReasoning) {}

    /**
     * Renders and tokenizes.
     *
     * @throws dev.strata.api.ApiException when the prompt cannot be rendered
     */
    Prepared prepare(Prompt prompt);

    /**
     * Makes the answer of one choice.
     *
     * @throws dev.strata.api.ApiException when the output format cannot be followed
     */
    Answer answer(GenerateRequest request, Prepared prompt, int choice);

    String render(Prompt.Chat chat);

    int[] tokenize(String text, boolean special);

    String detokenize(int[] ids);

    /** The text and bytes of one token, for log probabilities of prompts. */
    byte[] bytes(int id);

    boolean isEnd(int id);

    /** Does ahead what the first request of a kind would wait for. */
    default void warmUp() {}

    /** One answer that grows token by token. Used by one thread. */
    interface Answer {
        /** The rule that the tokens have to keep; null when there is none. */
        @Nullable
        TokenConstraint constraint();

        /**
         * Takes a token, which is not an end token, and adds what can be told of it.
         *
         * @return true when a stop string is complete and the answer has ended
         */
        boolean token(int id, @Nullable Logprobs logprobs, List<Delta> out);

        /**
         * Ends the answer and adds what was held back.
         *
         * @return the reason that clients are told
         */
        FinishReason end(FinishReason reason, List<Delta> out);

        /** The request's stop string that ended the answer; null when something else did. */
        default @Nullable String stopString() {
            return null;
        }

        /** Tokens that were part of the reasoning. */
        int reasoningTokens();
    }
}
