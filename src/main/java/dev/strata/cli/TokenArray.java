package dev.strata.cli;

import dev.strata.config.ConfigurationException;
import java.util.ArrayList;
import java.util.List;

/** A JSON array of whole numbers. */
final class TokenArray {
    private TokenArray() {}

    /**
     * The numbers of {@code [1, 2, 3]}.
     *
     * @throws ConfigurationException naming {@code source} when the text is anything else
     */
    static int[] parse(String text, String source) {
        String inner = text.strip();
        if (!inner.startsWith("[") || !inner.endsWith("]")) {
            throw new ConfigurationException(source + " does not hold a JSON array of token ids");
        }
        inner = inner.substring(1, inner.length() - 1).strip();
        List<Integer> tokens = new ArrayList<>();
        for (String word : inner.isEmpty() ? new String[0] : inner.split(",", -1)) {
            try {
                tokens.add(Integer.parseInt(word.strip()));
            } catch (NumberFormatException e) {
                throw new ConfigurationException(source + " holds " + word.strip() + " where a token id was expected");
            }
        }
        if (tokens.isEmpty()) {
            throw new ConfigurationException(source + " holds no token ids");
        }
        return tokens.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Throws {@link ConfigurationException} naming {@code source} when a token is not in the model's vocabulary. */
    static void check(int[] tokens, int vocabulary, String source) {
        for (int token : tokens) {
            if (token < 0 || token >= vocabulary) {
                throw new ConfigurationException(
                        source + " holds token " + token + ", which is not in the vocabulary of " + vocabulary);
            }
        }
    }
}
