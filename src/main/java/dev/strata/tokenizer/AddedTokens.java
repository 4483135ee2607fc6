package dev.strata.tokenizer;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Finds added tokens in raw text: the leftmost, and of those that begin there the longest. */
final class AddedTokens {
    /**
     * A token that is not made by merging.
     *
     * @param control steers the model, is never visible text
     * @param leftStrip takes the white space before it along, {@code rightStrip} that behind it
     * @param singleWord only where no word character is next to it
     */
    record Added(int id, String text, boolean control, boolean leftStrip, boolean rightStrip, boolean singleWord) {
        /** Tags such as {@code <think>} and control tokens; text from users must not turn into them. */
        boolean isMarkup() {
            return control
                    || text.length() > 2
                            && (text.startsWith("<") && text.endsWith(">")
                                    || text.startsWith("[") && text.endsWith("]"));
        }
    }

    /** A token found in {@code text[from, to)}. */
    record Match(Added token, int from, int to) {}

    private final Map<Character, List<Added>> byFirst = new HashMap<>();
    private final boolean[] latin = new boolean[256];

    AddedTokens(List<Added> tokens) {
        for (Added token : tokens) {
            if (!token.text.isEmpty()) {
                byFirst.computeIfAbsent(token.text.charAt(0), first -> new ArrayList<>())
                        .add(token);
            }
        }
        byFirst.values().forEach(list -> list.sort(Comparator.comparingInt((Added token) -> -token.text.length())));
        byFirst.keySet().stream().filter(first -> first < 256).forEach(first -> latin[first] = true);
    }

    /** The next token at or after {@code from}; without {@code markup} only those that text from users may contain. */
    @Nullable
    Match find(String text, int from, boolean markup) {
        for (int at = from; at < text.length(); at++) {
            char first = text.charAt(at);
            if (first < 256 && !latin[first]) {
                continue;
            }
            for (Added token : byFirst.getOrDefault(first, List.of())) {
                if ((markup || !token.isMarkup())
                        && text.startsWith(token.text, at)
                        && (!token.singleWord || standsAlone(text, at, at + token.text.length()))) {
                    return match(text, token, from, at);
                }
            }
        }
        return null;
    }

    private static Match match(String text, Added token, int earliest, int at) {
        int from = at;
        int to = at + token.text.length();
        while (token.leftStrip && from > earliest && isSpace(text.charAt(from - 1))) {
            from--;
        }
        while (token.rightStrip && to < text.length() && isSpace(text.charAt(to))) {
            to++;
        }
        return new Match(token, from, to);
    }

    private static boolean standsAlone(String text, int from, int to) {
        return (from == 0 || !isWord(text.charAt(from - 1))) && (to == text.length() || !isWord(text.charAt(to)));
    }

    private static boolean isWord(char unit) {
        return Character.isLetterOrDigit(unit) || unit == '_';
    }

    private static boolean isSpace(char unit) {
        return (CharacterClass.of(unit) & CharacterClass.SPACE) != 0;
    }
}
