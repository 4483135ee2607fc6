package dev.strata.chat;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Ends a text at the first stop string, however the text arrives. Text is held back only as long as it can still become a stop string. Not
 * thread-safe.
 */
public final class StopMatcher {
    private final List<String> stops;
    private final StringBuilder held = new StringBuilder();
    private @Nullable String match;

    /** @param stops strings that end the text and are not part of it; empty ones are ignored */
    public StopMatcher(List<String> stops) {
        this.stops = stops.stream().filter(stop -> !stop.isEmpty()).toList();
    }

    /** Takes more text and returns what is certain to belong to the answer. Nothing more comes after a match. */
    public String push(String text) {
        if (match != null) {
            return "";
        }
        if (stops.isEmpty()) {
            return text;
        }
        StringBuilder out = new StringBuilder();
        for (int at = 0; at < text.length() && match == null; at++) {
            accept(text.charAt(at), out);
        }
        return out.toString();
    }

    private void accept(char unit, StringBuilder out) {
        held.append(unit);
        String longest = null;
        for (String stop : stops) {
            if ((longest == null || stop.length() > longest.length()) && endsWith(held, stop, stop.length())) {
                longest = stop;
            }
        }
        if (longest != null) {
            match = longest;
            out.append(held, 0, held.length() - longest.length());
            held.setLength(0);
            return;
        }
        int kept = held.length();
        while (kept > 0 && !couldBecomeStop(kept)) {
            kept--;
        }
        out.append(held, 0, held.length() - kept);
        held.delete(0, held.length() - kept);
    }

    /** Whether the last {@code length} characters held are the beginning of a stop string. */
    private boolean couldBecomeStop(int length) {
        for (String stop : stops) {
            if (length < stop.length() && endsWith(held, stop, length)) {
                return true;
            }
        }
        return false;
    }

    /** Whether {@code text} ends with the first {@code length} characters of {@code stop}. */
    private static boolean endsWith(StringBuilder text, String stop, int length) {
        int start = text.length() - length;
        if (start < 0) {
            return false;
        }
        for (int index = 0; index < length; index++) {
            if (text.charAt(start + index) != stop.charAt(index)) {
                return false;
            }
        }
        return true;
    }

    /** Whether a stop string was found: the answer has ended. */
    public boolean matched() {
        return match != null;
    }

    /** The stop string that was found; null when there was none. */
    public @Nullable String match() {
        return match;
    }

    /** The text ends here: gives what was held back. */
    public String flush() {
        String rest = held.toString();
        held.setLength(0);
        return rest;
    }
}
