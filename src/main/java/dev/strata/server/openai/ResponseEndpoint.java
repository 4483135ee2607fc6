package dev.strata.server.openai;

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

/** {@code POST /v1/responses}, stateless. */
public final class ResponseEndpoint implements Endpoint {
    private static final Map<String, String> FIELDS =
            Map.of("prompt", "input", "messages", "input", "response_format", "text.format");

    private final Generations generations;
    private final @Nullable Duration timeout;

    public ResponseEndpoint(Generations generations, @Nullable Duration timeout) {
        this.generations = generations;
        this.timeout = timeout;
    }

    @Override
    public void answer(Exchange exchange) {
        generations.requireReady();
        exchange.fieldNames(FIELDS);
        ResponseRequest request = ResponseRequest.read(Fields.of(Json.request(exchange.body())), timeout);
        Head head = Head.of(Ids.next("resp_"), generations.service().model().id());
        ResponseBody body = new ResponseBody(head, request.fields());
        try (GenerationCall call =
                generations.start(exchange, head.id(), List.of(request.generate()), request.stream())) {
            if (request.stream()) {
                EventStream events = exchange.startEvents();
                generations.stream(exchange, call, events, new ResponseStream(body, events));
            } else {
                Whole whole = new Whole();
                generations.collect(exchange, call, () -> whole.end != null, whole::add);
                Delta.Finished end = whole.end;
                if (end != null) {
                    exchange.reply(200, body.ended(end.reason(), whole.output.items(), end.usage()));
                }
            }
        }
    }

    /** Puts a plain answer together. */
    private static final class Whole {
        private final ResponseOutput output = new ResponseOutput(ResponseOutput.Steps.UNHEARD);
        private Delta.@Nullable Finished end;

        void add(GenerationCall.Piece piece) {
            switch (piece.delta()) {
                case Delta.Finished finished -> {
                    output.close(ResponseStream.cut(finished.reason()) ? "incomplete" : "completed");
                    end = finished;
                }
                case Delta.Failed failed -> throw new ApiException(failed.error());
                default -> output.add(piece.delta());
            }
        }
    }
}
