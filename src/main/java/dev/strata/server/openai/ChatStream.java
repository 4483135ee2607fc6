package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.api.TokenLogprob;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The chunks of a streamed chat completion; {@code [DONE]} comes last however it ends. */
final class ChatStream extends ChunkStream {
    private final boolean logprobs;
    private final BitSet started = new BitSet();
    private final BitSet withCalls = new BitSet();

    ChatStream(Head head, ChatRequest request, EventStream events) {
        super(
                head,
                "chat.completion.chunk",
                events,
                request.includeUsage(),
                request.generate().choices());
        this.logprobs = request.generate().topLogprobs() >= 0;
    }

    @Override
    public void write(Piece piece) {
        int choice = piece.choice();
        switch (piece.delta()) {
            case Delta.Content content -> text(choice, "content", content.text(), content.logprobs());
            case Delta.Reasoning reasoning -> text(choice, "reasoning_content", reasoning.text(), List.of());
            case Delta.ToolCallStart start -> {
                withCalls.set(choice);
                send(entry(choice, delta(choice, "tool_calls", List.of(callStart(start))), List.of()), null, null);
            }
            case Delta.ToolCallArguments more ->
                sendText(
                        choice,
                        "arguments of call " + more.index(),
                        more.fragment(),
                        mark -> entry(
                                choice,
                                Json.object("tool_calls", List.of(callArguments(more.index(), mark))),
                                List.of()));
            case Delta.Progress progress ->
                send(entry(choice, Json.object(), List.of()), "prompt_progress", shape(progress));
            case Delta.Finished finished -> finish(piece, finished);
            case Delta.Failed failure -> failed(failure);
        }
    }

    private void text(int choice, String key, String text, List<TokenLogprob> tokens) {
        if (started.get(choice) && tokens.isEmpty()) {
            sendText(choice, key, text, mark -> entry(choice, Json.object(key, mark), List.of()));
        } else {
            send(entry(choice, delta(choice, key, text), tokens), null, null);
        }
    }

    /** The role comes with a choice's first piece. */
    private Map<String, @Nullable Object> delta(int choice, String key, Object value) {
        if (started.get(choice)) {
            return Json.object(key, value);
        }
        started.set(choice);
        return Json.object("role", "assistant", key, value);
    }

    private static Map<String, @Nullable Object> callStart(Delta.ToolCallStart start) {
        return Json.object(
                "index",
                start.index(),
                "id",
                start.id(),
                "type",
                "function",
                "function",
                Json.object("name", start.name(), "arguments", ""));
    }

    private static Map<String, @Nullable Object> callArguments(int index, String fragment) {
        return Json.object("index", index, "function", Json.object("arguments", fragment));
    }

    private void finish(Piece piece, Delta.Finished finished) {
        finished(piece, finished);
        int choice = piece.choice();
        Map<String, @Nullable Object> delta = started.get(choice) ? Json.object() : delta(choice, "content", "");
        Map<String, @Nullable Object> entry = entry(choice, delta, List.of());
        entry.put("finish_reason", Shapes.finish(finished.reason(), withCalls.get(choice)));
        send(entry, "timings", Shapes.timings(finished.timings()));
    }

    private Map<String, @Nullable Object> entry(
            int choice, Map<String, @Nullable Object> delta, List<TokenLogprob> tokens) {
        Map<String, @Nullable Object> entry = Json.object("index", choice, "delta", delta);
        if (logprobs) {
            entry.put("logprobs", tokens.isEmpty() ? null : Logprobs.chat(tokens));
        }
        entry.put("finish_reason", null);
        return entry;
    }
}
