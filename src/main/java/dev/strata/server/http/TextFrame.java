package dev.strata.server.http;

import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * What is around one text that changes from event to event, written once.
 *
 * @param before the event up to the text's opening quote, which is not part of it
 * @param after behind the closing quote, to the end of the event
 */
public record TextFrame(byte[] before, byte[] after) {
    /** No client can make this part of anything else: ids and names of models have no control characters. */
    private static final String MARK = "\u0001strata\u0002";

    /** @param json gives the object around a text */
    public static TextFrame of(Function<String, Object> json) {
        return around("data: ", json);
    }

    /** The same for events with a name. */
    public static TextFrame of(String event, Function<String, Object> json) {
        return around("event: " + event + "\ndata: ", json);
    }

    private static TextFrame around(String start, Function<String, Object> json) {
        String whole = Json.text(json.apply(MARK));
        String mark = Json.text(MARK);
        int at = whole.lastIndexOf(mark);
        return new TextFrame(
                (start + whole.substring(0, at)).getBytes(StandardCharsets.UTF_8),
                (whole.substring(at + mark.length()) + "\n\n").getBytes(StandardCharsets.UTF_8));
    }
}
