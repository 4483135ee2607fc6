package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.api.TokenLogprob;
import dev.strata.server.http.ErrorBody;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.EventWriter;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import dev.strata.server.http.UsageTotal;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The chunks of a streamed chat completion; {@code [DONE]} comes last however it ends. */
final class ChatStream implements EventWriter {
    private final Head head;
    private final EventStream events;
    private final boolean includeUsage;
    private final boolean logprobs;
    private final BitSet started = new BitSet();
    private final BitSet withCalls = new BitSet();
    private final UsageTotal usage = new UsageTotal();
    private int unfinished;
    private boolean failed;

    ChatStream(Head head, ChatRequest request, EventStream events) {
        this.head = head;
        this.events = events;
        this.includeUsage = request.includeUsage();
        this.logprobs = request.generate().topLogprobs() >= 0;
        this.unfinished = request.generate().choices();
    }

    @Override
    public void begin() {}

    @Override
    public void write(Piece piece) {
        int choice = piece.choice();
        switch (piece.delta()) {
            case Delta.Content content -> chunk(choice, delta(choice, "content", content.text()), content.logprobs());
            case Delta.Reasoning reasoning ->
                chunk(choice, delta(choice, "reasoning_content", reasoning.text()), List.of());
            case Delta.ToolCallStart start -> {
                withCalls.set(choice);
                chunk(choice, delta(choice, "tool_calls", List.of(callStart(start))), List.of());
            }
            case Delta.ToolCallArguments more ->
                chunk(choice, delta(choice, "tool_calls", List.of(callArguments(more))), List.of());
            case Delta.Progress progress -> progress(choice, progress);
            case Delta.Finished finished -> finish(piece, finished);
            case Delta.Failed failure -> {
                failed = true;
                events.send(ErrorBody.openAi(ErrorBody.status(failure.error()), failure.error()));
            }
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

    private static Map<String, @Nullable Object> callArguments(Delta.ToolCallArguments more) {
        return Json.object("index", more.index(), "function", Json.object("arguments", more.fragment()));
    }

    private void chunk(int choice, Map<String, @Nullable Object> delta, List<TokenLogprob> tokens) {
        send(choice, delta, tokens, null, null, null);
    }

    private void progress(int choice, Delta.Progress progress) {
        Map<String, @Nullable Object> shape = Json.object(
                "total", progress.total(),
                "cache", progress.cached(),
                "processed", progress.processed(),
                "time_ms", progress.millis());
        send(choice, Json.object(), List.of(), null, "prompt_progress", shape);
    }

    private void finish(Piece piece, Delta.Finished finished) {
        unfinished--;
        usage.add(piece.prompt(), finished.usage(), finished.timings());
        int choice = piece.choice();
        Map<String, @Nullable Object> delta = started.get(choice) ? Json.object() : delta(choice, "content", "");
        String reason = Shapes.finish(finished.reason(), withCalls.get(choice));
        send(choice, delta, List.of(), reason, "timings", Shapes.timings(finished.timings()));
    }

    private void send(
            int choice,
            Map<String, @Nullable Object> delta,
            List<TokenLogprob> tokens,
            @Nullable String reason,
            @Nullable String extraName,
            @Nullable Object extra) {
        Map<String, @Nullable Object> entry = Json.object("index", choice, "delta", delta);
        if (logprobs) {
            entry.put("logprobs", tokens.isEmpty() ? null : Logprobs.chat(tokens));
        }
        entry.put("finish_reason", reason);
        Map<String, @Nullable Object> chunk = head.object("chat.completion.chunk");
        chunk.put("choices", List.of(entry));
        if (includeUsage) {
            chunk.put("usage", null);
        }
        if (extraName != null) {
            chunk.put(extraName, extra);
        }
        events.send(chunk);
    }

    @Override
    public void keepAlive() {
        events.comment("keep-alive");
    }

    @Override
    public boolean isDone() {
        return failed || unfinished == 0;
    }

    @Override
    public void end() {
        if (includeUsage && !failed) {
            Map<String, @Nullable Object> chunk = head.object("chat.completion.chunk");
            chunk.put("choices", List.of());
            chunk.put("usage", Shapes.usage(usage.total()));
            events.send(chunk);
        }
        events.sendText("[DONE]");
    }
}
