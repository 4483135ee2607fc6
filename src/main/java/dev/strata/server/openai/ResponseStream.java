package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.EventWriter;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import dev.strata.server.http.NumberedFrame;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The events of a streamed response, numbered from 0. */
final class ResponseStream implements EventWriter, ResponseOutput.Steps {
    private final ResponseBody body;
    private final EventStream events;
    private final ResponseOutput output = new ResponseOutput(this);
    /** What is around the pieces of item {@link #framed}, whose deltas are of one type. */
    private @Nullable NumberedFrame frame;

    private String framed = "";
    private int sequence;
    private boolean done;

    ResponseStream(ResponseBody body, EventStream events) {
        this.body = body;
        this.events = events;
    }

    @Override
    public void begin() {
        event("response.created", Json.object("response", body.started()));
        event("response.in_progress", Json.object("response", body.started()));
    }

    @Override
    public void write(Piece piece) {
        switch (piece.delta()) {
            case Delta.Finished finished -> {
                done = true;
                output.close(cut(finished.reason()) ? "incomplete" : "completed");
                Map<String, @Nullable Object> whole = body.ended(finished.reason(), output.items(), finished.usage());
                event("response." + terminal(finished.reason()), Json.object("response", whole));
            }
            case Delta.Failed failed -> {
                done = true;
                output.close("incomplete");
                event("response.failed", Json.object("response", body.failed(failed.error(), output.items())));
            }
            default -> output.add(piece.delta());
        }
    }

    static boolean cut(FinishReason reason) {
        return reason != FinishReason.STOP && reason != FinishReason.TOOL_CALLS;
    }

    /** The API has no event of its own for a cancelled stream. */
    private static String terminal(FinishReason reason) {
        return cut(reason) ? "incomplete" : "completed";
    }

    @Override
    public void event(String type, Map<String, @Nullable Object> members) {
        events.send(type, whole(type, sequence++, members));
    }

    @Override
    public void piece(String item, String type, Function<String, Map<String, @Nullable Object>> members, String text) {
        NumberedFrame around = frame;
        if (around == null || !framed.equals(item)) {
            around = NumberedFrame.of(type, (number, mark) -> whole(type, number, members.apply(mark)));
            frame = around;
            framed = item;
        }
        events.sendFramed(around, sequence++, text);
    }

    private static Map<String, @Nullable Object> whole(
            String type, Object number, Map<String, @Nullable Object> members) {
        Map<String, @Nullable Object> event = Json.object("type", type, "sequence_number", number);
        event.putAll(members);
        return event;
    }

    @Override
    public void keepAlive() {
        events.comment("keep-alive");
    }

    @Override
    public boolean isDone() {
        return done;
    }

    @Override
    public void end() {
        // The terminal event is the end; this API has no [DONE].
    }
}
