package dev.strata.tokenizer;

import java.util.List;
import java.util.OptionalInt;

/** Text to token ids and back. Implementations are immutable in behaviour and may be used by any number of threads. */
public interface Tokenizer {
    /**
     * Token ids of a text. No begin token is put in front.
     *
     * @param special whether added tokens written out in the text ({@code <|im_end|>}, {@code <think>}) become their ids. With
     *     {@code false}, only added tokens that are neither control tokens nor written as a tag are recognised, so that text from a user
     *     never turns into control tokens.
     */
    int[] encode(String text, boolean special);

    /**
     * Token ids of a text that holds both a template's control tokens and marked text of clients: added tokens are recognised, but not
     * where a marker is inside their spelling; markers themselves are dropped.
     *
     * @param marker a character that means nothing else in the text
     */
    int[] encodeMarked(String text, char marker);

    /** Spellings of all control tokens and tags: what {@link #encode} with {@code special} recognises beyond plain text. */
    List<String> markup();

    /** The bytes a token stands for; control and other added tokens give their text. Empty for ids without a token. */
    byte[] bytes(int id);

    /** One more than the largest id that has a token. The model's output layer may be wider (padding). */
    int vocabularySize();

    /** Whether the token steers the model and is never part of visible text. Tags of reasoning and tool calls are not control tokens. */
    boolean isControl(int id);

    /** The id of a whole token, given as plain text: added tokens first, then the vocabulary. */
    OptionalInt id(String token);

    /** Tokens with a role of their own. */
    SpecialTokens specialTokens();

    /** The text of some tokens, control tokens included, invalid UTF-8 replaced. */
    default String decode(int... ids) {
        IncrementalDecoder decoder = new IncrementalDecoder();
        StringBuilder text = new StringBuilder();
        for (int id : ids) {
            text.append(decoder.push(bytes(id)));
        }
        return text.append(decoder.replaceRest()).toString();
    }
}
