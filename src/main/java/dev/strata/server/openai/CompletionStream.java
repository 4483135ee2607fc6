package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.api.TokenLogprob;
import dev.strata.server.http.ErrorBody;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.EventWriter;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import dev.strata.server.http.UsageTotal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The chunks of a streamed completion. */
final class CompletionStream implements EventWriter {
    private final Head head;
    private final EventStream events;
    private final CompletionRequest request;
    private final int[] offsets;
    private final UsageTotal usage = new UsageTotal();
    private int unfinished;
    private boolean failed;

    CompletionStream(Head head, CompletionRequest request, EventStream events) {
        this.head = head;
        this.events = events;
        this.request = request;
        this.unfinished = request.choices();
        this.offsets = new int[unfinished];
    }

    @Override
    public void begin() {}

    @Override
    public void write(Piece piece) {
        int choice = piece.choice();
        switch (piece.delta()) {
            case Delta.Content content -> send(choice, content.text(), content.logprobs(), null, null, null);
            case Delta.Reasoning text -> send(choice, text.text(), text.logprobs(), null, null, null);
            case Delta.ToolCallStart _, Delta.ToolCallArguments _ -> {
                // Plain prompts have no tools.
            }
            case Delta.Progress progress ->
                send(
                        choice,
                        "",
                        List.of(),
                        null,
                        "prompt_progress",
                        Json.object(
                                "total", progress.total(),
                                "cache", progress.cached(),
                                "processed", progress.processed(),
                                "time_ms", progress.millis()));
            case Delta.Finished finished -> {
                unfinished--;
                usage.add(piece.prompt(), finished.usage(), finished.timings());
                String reason = Shapes.finish(finished.reason(), false);
                send(choice, "", List.of(), reason, "timings", Shapes.timings(finished.timings()));
            }
            case Delta.Failed failure -> {
                failed = true;
                events.send(ErrorBody.openAi(ErrorBody.status(failure.error()), failure.error()));
            }
        }
    }

    private void send(
            int choice,
            String text,
            List<TokenLogprob> tokens,
            @Nullable String reason,
            @Nullable String extraName,
            @Nullable Object extra) {
        Map<String, @Nullable Object> entry = Json.object("index", choice, "text", text);
        entry.put("logprobs", request.logprobs() && !tokens.isEmpty() ? logprobs(choice, tokens) : null);
        entry.put("finish_reason", reason);
        Map<String, @Nullable Object> chunk = head.object("text_completion");
        chunk.put("choices", List.of(entry));
        if (request.includeUsage()) {
            chunk.put("usage", null);
        }
        if (extraName != null) {
            chunk.put(extraName, extra);
        }
        events.send(chunk);
    }

    private Map<String, @Nullable Object> logprobs(int choice, List<TokenLogprob> tokens) {
        Map<String, @Nullable Object> shape = Logprobs.legacy(tokens, offsets[choice]);
        offsets[choice] += Logprobs.length(tokens);
        return shape;
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
        if (request.includeUsage() && !failed) {
            Map<String, @Nullable Object> chunk = head.object("text_completion");
            chunk.put("choices", List.of());
            chunk.put("usage", Shapes.usage(usage.total()));
            events.send(chunk);
        }
        events.sendText("[DONE]");
    }
}
