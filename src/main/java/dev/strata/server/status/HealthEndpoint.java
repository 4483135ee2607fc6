package dev.strata.server.status;

import dev.strata.api.InferenceService;
import dev.strata.server.http.Endpoint;
import dev.strata.server.http.ErrorBody;
import dev.strata.server.http.Exchange;
import dev.strata.server.http.Json;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** {@code GET /health}: 200 while requests are served, 503 with the reason otherwise. */
public final class HealthEndpoint implements Endpoint {
    private final InferenceService service;
    private final BooleanSupplier stopping;

    public HealthEndpoint(InferenceService service, BooleanSupplier stopping) {
        this.service = service;
        this.stopping = stopping;
    }

    @Override
    public void answer(Exchange exchange) {
        InferenceService.State engine = service.state();
        InferenceService.State state = stopping.getAsBoolean() && engine != InferenceService.State.DEAD
                ? InferenceService.State.STOPPING
                : engine;
        if (state == InferenceService.State.READY) {
            exchange.reply(200, Json.object("status", "ok"));
            return;
        }
        String word = state.name().toLowerCase(Locale.ROOT);
        String reason = service.stateReason();
        String message = reason.isEmpty() ? "The engine is " + word : reason;
        Map<String, @Nullable Object> body = Json.object(
                "status",
                word,
                "error",
                Json.object("message", message, "type", "unavailable_error", "param", null, "code", 503));
        exchange.responseHeader("retry-after", Integer.toString(ErrorBody.RETRY_AFTER_SECONDS));
        exchange.reply(503, body);
    }
}
