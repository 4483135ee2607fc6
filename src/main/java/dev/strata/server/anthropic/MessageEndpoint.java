package dev.strata.server.anthropic;

import dev.strata.api.ApiException;
import dev.strata.api.Delta;
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

/** {@code POST /v1/messages} and {@code POST /v1/messages/count_tokens}. */
public final class MessageEndpoint implements Endpoint {
    private static final Map<String, String> FIELDS =
            Map.of("prompt", "messages", "response_format", "output_config.format");

    private final Generations generations;
    private final @Nullable Duration timeout;

    public MessageEndpoint(Generations generations, @Nullable Duration timeout) {
        this.generations = generations;
        this.timeout = timeout;
    }

    @Override
    public void answer(Exchange exchange) {
        generations.requireReady();
        exchange.fieldNames(FIELDS);
        exchange.responseHeader("request-id", exchange.id());
        MessageRequest request = MessageRequest.read(Fields.of(Json.request(exchange.body())), timeout);
        MessageBody body =
                new MessageBody(Ids.next("msg_"), generations.service().model().id());
        try (GenerationCall call =
                generations.start(exchange, body.id(), List.of(request.generate()), request.stream())) {
            if (request.stream()) {
                EventStream events = exchange.startEvents();
                MessageStream writer = new MessageStream(body, call.promptTokens(), exchange.id(), events);
                generations.stream(exchange, call, events, writer);
            } else {
                plain(exchange, call, body);
            }
        }
    }

    private void plain(Exchange exchange, GenerationCall call, MessageBody body) {
        Whole whole = new Whole();
        generations.collect(exchange, call, () -> whole.end != null, whole::add);
        Delta.Finished end = whole.end;
        if (end != null) {
            exchange.reply(
                    200,
                    body.of(
                            whole.output.blocks(),
                            whole.output.stopReason(end),
                            end.stopString(),
                            MessageOutput.usage(end.usage())));
        }
    }

    /** {@code {input_tokens}} of a request that is not answered. */
    public void countTokens(Exchange exchange) {
        generations.requireReady();
        Fields fields = Fields.of(Json.request(exchange.body()));
        int tokens = generations.service().countTokens(MessageRequest.prompt(fields));
        exchange.reply(200, Json.object("input_tokens", tokens));
    }

    /** Puts a plain answer together. */
    private static final class Whole {
        private final MessageOutput output = new MessageOutput(MessageOutput.Steps.UNHEARD);
        private Delta.@Nullable Finished end;

        void add(GenerationCall.Piece piece) {
            switch (piece.delta()) {
                case Delta.Finished finished -> {
                    output.close();
                    end = finished;
                }
                case Delta.Failed failed -> throw new ApiException(failed.error());
                default -> output.add(piece.delta());
            }
        }
    }
}
