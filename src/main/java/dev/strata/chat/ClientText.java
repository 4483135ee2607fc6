package dev.strata.chat;

import dev.strata.tokenizer.Tokenizer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Marks what clients wrote before a template sees it, so that spellings of control tokens in it stay text. A marker, a Unicode noncharacter
 * that occurs nowhere in the conversation, is put inside every such spelling, and behind every beginning of one at the end of a string;
 * the tokenizer does not recognise the marked spelling and drops the marker.
 */
final class ClientText {
    private static final char FIRST_MARKER = '\uFDD0';
    private static final int MARKERS = 32;

    private final List<String> all;
    private final List<String> control;
    private final char marker;

    private ClientText(List<String> all, List<String> control, char marker) {
        this.all = all;
        this.control = control;
        this.marker = marker;
    }

    /** @param sample all that clients wrote, for choosing a marker that is not in it */
    static ClientText of(Tokenizer tokenizer, String sample) {
        char marker = FIRST_MARKER;
        for (int candidate = FIRST_MARKER; candidate < FIRST_MARKER + MARKERS; candidate++) {
            if (sample.indexOf(candidate) < 0) {
                marker = (char) candidate;
                break;
            }
        }
        List<String> control = tokenizer.markup().stream()
                .filter(text -> tokenizer.isControl(tokenizer.id(text).orElse(-1)))
                .toList();
        return new ClientText(tokenizer.markup(), control, marker);
    }

    char marker() {
        return marker;
    }

    /** Text of users, systems and tools: no token of any kind is meant. */
    String plain(String text) {
        return mark(text, all);
    }

    /** Text that a model wrote: reasoning and tool tags in it are meant. */
    String fromModel(String text) {
        return mark(text, control);
    }

    /** Every string inside a value, keys too. */
    @Nullable
    Object plain(@Nullable Object value) {
        return switch (value) {
            case String text -> plain(text);
            case Map<?, ?> map -> {
                Map<Object, @Nullable Object> marked = new LinkedHashMap<>();
                map.forEach((key, element) ->
                        marked.put(String.valueOf(plain((Object) String.valueOf(key))), plain(element)));
                yield marked;
            }
            case List<?> list -> {
                List<@Nullable Object> marked = new ArrayList<>();
                list.forEach(element -> marked.add(plain(element)));
                yield marked;
            }
            case null, default -> value;
        };
    }

    private String mark(String text, List<String> spellings) {
        StringBuilder marked = null;
        int copied = 0;
        String clean = text.indexOf(marker) < 0 ? text : text.replace(marker, '\uFFFD');
        for (int at = 0; at < clean.length(); at++) {
            if (begins(clean, at, spellings)) {
                marked = marked == null ? new StringBuilder() : marked;
                marked.append(clean, copied, at + 1).append(marker);
                copied = at + 1;
            }
        }
        return marked == null
                ? clean
                : marked.append(clean, copied, clean.length()).toString();
    }

    /** Whether a spelling begins at {@code at}, whole or cut by the end of the text. */
    private static boolean begins(String text, int at, List<String> spellings) {
        for (String spelling : spellings) {
            if (text.charAt(at) == spelling.charAt(0)
                    && text.regionMatches(at, spelling, 0, Math.min(spelling.length(), text.length() - at))) {
                return true;
            }
        }
        return false;
    }

    String withoutMarkers(String text) {
        return text.indexOf(marker) < 0 ? text : text.replace(String.valueOf(marker), "");
    }
}
