package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.api.TokenLogprob;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The chunks of a streamed completion. */
final class CompletionStream extends ChunkStream {
    private final boolean logprobs;
    private final int[] offsets;

    CompletionStream(Head head, CompletionRequest request, EventStream events) {
        super(head, "text_completion", events, request.includeUsage(), request.choices());
        this.logprobs = request.logprobs();
        this.offsets = new int[request.choices()];
    }

    @Override
    public void write(Piece piece) {
        int choice = piece.choice();
        switch (piece.delta()) {
            case Delta.Content content -> text(choice, content.text(), content.logprobs());
            case Delta.Reasoning text -> text(choice, text.text(), text.logprobs());
            case Delta.ToolCallStart _, Delta.ToolCallArguments _ -> {
                // Plain prompts have no tools.
            }
            case Delta.Progress progress -> send(entry(choice, ""), "prompt_progress", shape(progress));
            case Delta.Finished finished -> {
                finished(piece, finished);
                Map<String, @Nullable Object> entry = entry(choice, "");
                entry.put("finish_reason", Shapes.finish(finished.reason(), false));
                send(entry, "timings", Shapes.timings(finished.timings()));
            }
            case Delta.Failed failure -> failed(failure);
        }
    }

    private void text(int choice, String text, List<TokenLogprob> tokens) {
        if (!logprobs || tokens.isEmpty()) {
            sendText(choice, "text", text, mark -> entry(choice, mark));
            return;
        }
        Map<String, @Nullable Object> entry = entry(choice, text);
        entry.put("logprobs", Logprobs.legacy(tokens, offsets[choice]));
        offsets[choice] += Logprobs.length(tokens);
        send(entry, null, null);
    }

    private static Map<String, @Nullable Object> entry(int choice, String text) {
        return Json.object("index", choice, "text", text, "logprobs", null, "finish_reason", null);
    }
}
