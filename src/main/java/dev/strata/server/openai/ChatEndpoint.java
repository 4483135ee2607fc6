package dev.strata.server.openai;

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
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code POST /v1/chat/completions}. */
public final class ChatEndpoint implements Endpoint {
    private static final Map<String, String> FIELDS = Map.of("prompt", "messages");

    private final Generations generations;
    private final @Nullable Duration timeout;

    /** @param timeout longest time for one answer; null: no limit */
    public ChatEndpoint(Generations generations, @Nullable Duration timeout) {
        this.generations = generations;
        this.timeout = timeout;
    }

    @Override
    public void answer(Exchange exchange) {
        generations.requireReady();
        exchange.fieldNames(FIELDS);
        ChatRequest request = ChatRequest.read(Fields.of(Json.request(exchange.body())), timeout);
        Head head = Head.of(Ids.next("chatcmpl-"), generations.service().model().id());
        try (GenerationCall call =
                generations.start(exchange, head.id(), List.of(request.generate()), request.stream())) {
            if (request.stream()) {
                EventStream events = exchange.startEvents();
                generations.stream(exchange, call, events, new ChatStream(head, request, events));
            } else {
                AnswerCollector answers =
                        generations.collect(exchange, call, request.generate().choices());
                exchange.reply(200, ChatAnswer.of(head, request, answers));
            }
        }
    }
}
