package dev.strata.server.anthropic;

import dev.strata.api.Delta;
import dev.strata.api.Usage;
import dev.strata.server.http.ErrorBody;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.EventWriter;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import dev.strata.server.http.TextFrame;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The events of a streamed message: message_start, blocks with their deltas, message_delta, message_stop. */
final class MessageStream implements EventWriter, MessageOutput.Steps {
    private static final String DELTA = "content_block_delta";

    private final MessageBody body;
    private final int promptTokens;
    private final String requestId;
    private final EventStream events;
    private final MessageOutput output = new MessageOutput(this);
    /** What is around the pieces of block {@link #framed}, whose deltas are of one type. */
    private @Nullable TextFrame frame;

    private String framedType = "";
    private int framed;
    private boolean done;

    MessageStream(MessageBody body, int promptTokens, String requestId, EventStream events) {
        this.body = body;
        this.promptTokens = promptTokens;
        this.requestId = requestId;
        this.events = events;
    }

    @Override
    public void begin() {
        // How much is cached is known only when the prompt has been read; message_delta tells the final counts.
        Map<String, @Nullable Object> usage = MessageOutput.usage(new Usage(promptTokens, 0, 0, 0));
        event("message_start", Json.object("message", body.of(List.of(), null, null, usage)));
        keepAlive();
    }

    @Override
    public void write(Piece piece) {
        switch (piece.delta()) {
            case Delta.Finished finished -> {
                done = true;
                output.close();
                event(
                        "message_delta",
                        Json.object(
                                "delta",
                                Json.object(
                                        "stop_reason",
                                        output.stopReason(finished),
                                        "stop_sequence",
                                        finished.stopString()),
                                "usage",
                                MessageOutput.usage(finished.usage())));
                event("message_stop", Json.object());
            }
            case Delta.Failed failed -> {
                done = true;
                events.send("error", ErrorBody.anthropic(ErrorBody.status(failed.error()), failed.error(), requestId));
            }
            default -> output.add(piece.delta());
        }
    }

    @Override
    public void event(String type, Map<String, @Nullable Object> members) {
        events.send(type, whole(type, members));
    }

    private static Map<String, @Nullable Object> whole(String type, Map<String, @Nullable Object> members) {
        Map<String, @Nullable Object> event = Json.object("type", type);
        event.putAll(members);
        return event;
    }

    @Override
    public void piece(int block, String type, String member, String text) {
        TextFrame around = frame;
        if (around == null || framed != block || !framedType.equals(type)) {
            around = TextFrame.of(
                    DELTA,
                    mark -> whole(
                            DELTA, Json.object("index", block, "delta", Json.object("type", type, member, mark))));
            frame = around;
            framed = block;
            framedType = type;
        }
        events.sendFramed(around, text);
    }

    @Override
    public void keepAlive() {
        event("ping", Json.object());
    }

    @Override
    public boolean isDone() {
        return done;
    }

    @Override
    public void end() {
        // message_stop or error was the end.
    }
}
