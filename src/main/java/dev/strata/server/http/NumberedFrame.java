package dev.strata.server.http;

import java.nio.charset.StandardCharsets;
import java.util.function.BiFunction;

/**
 * A {@link TextFrame} for events that are numbered, too.
 *
 * @param before the event up to its number
 * @param rest from behind the number on
 */
public record NumberedFrame(byte[] before, TextFrame rest) {
    private static final String MARK = "\u0001number\u0002";

    /** @param json gives the object of an event with that name around a number and, somewhere behind it, a text */
    public static NumberedFrame of(String event, BiFunction<Object, String, Object> json) {
        TextFrame whole = TextFrame.of(event, text -> json.apply(MARK, text));
        String before = new String(whole.before(), StandardCharsets.UTF_8);
        String mark = Json.text(MARK);
        int at = before.indexOf(mark);
        return new NumberedFrame(
                before.substring(0, at).getBytes(StandardCharsets.UTF_8),
                new TextFrame(before.substring(at + mark.length()).getBytes(StandardCharsets.UTF_8), whole.after()));
    }
}
