package dev.strata.server.openai;

import dev.strata.server.http.Answer;
import dev.strata.server.http.AnswerCollector;
import dev.strata.server.http.Endpoint;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.Exchange;
import dev.strata.server.http.Fields;
import dev.strata.server.http.GenerationCall;
import dev.strata.server.http.Generations;
import dev.strata.server.http.Ids;
import dev.strata.server.http.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code POST /v1/completions}. */
public final class CompletionEndpoint implements Endpoint {
    private static final Map<String, String> FIELDS = Map.of("messages", "prompt");

    private final Generations generations;
    private final @Nullable Duration timeout;

    public CompletionEndpoint(Generations generations, @Nullable Duration timeout) {
        this.generations = generations;
        this.timeout = timeout;
    }

    @Override
    public void answer(Exchange exchange) {
        generations.requireReady();
        exchange.fieldNames(FIELDS);
        CompletionRequest request = CompletionRequest.read(
                Fields.of(Json.request(exchange.body())), generations.service().model(), timeout);
        Head head = Head.of(Ids.next("cmpl-"), generations.service().model().id());
        try (GenerationCall call = generations.start(exchange, head.id(), request.prompts(), request.stream())) {
            if (request.stream()) {
                EventStream events = exchange.startEvents();
                generations.stream(exchange, call, events, new CompletionStream(head, request, events));
            } else {
                exchange.reply(200, whole(head, request, generations.collect(exchange, call, request.choices())));
            }
        }
    }

    private static Map<String, @Nullable Object> whole(Head head, CompletionRequest request, AnswerCollector answers) {
        List<Object> choices = new ArrayList<>();
        for (Answer answer : answers.answers()) {
            choices.add(Json.object(
                    "index",
                    choices.size(),
                    "text",
                    answer.reasoning() + answer.content(),
                    "logprobs",
                    request.logprobs() ? Logprobs.legacy(answer.logprobs(), 0) : null,
                    "finish_reason",
                    Shapes.finish(answer.reason(), false)));
        }
        return Shapes.whole(head.object("text_completion"), choices, answers.usage());
    }
}
