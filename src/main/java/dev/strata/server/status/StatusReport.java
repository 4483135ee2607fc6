package dev.strata.server.status;

import dev.strata.api.InferenceService;
import dev.strata.server.http.Json;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** {@code GET /v1/status}: the server's and the engine's facts on one page. */
public final class StatusReport {
    private final InferenceService service;
    private final IntSupplier connections;
    private final IntSupplier activeRequests;
    private final Map<String, Object> transport;
    private final String version;
    private final long started = System.currentTimeMillis();

    /** @param transport how the server reaches its sockets */
    public StatusReport(
            InferenceService service,
            IntSupplier connections,
            IntSupplier activeRequests,
            Map<String, Object> transport,
            String version) {
        this.service = service;
        this.connections = connections;
        this.activeRequests = activeRequests;
        this.transport = transport;
        this.version = version;
    }

    public Object report() {
        boolean known = service.state() != InferenceService.State.LOADING;
        return Json.object(
                "service",
                "strata",
                "version",
                version,
                "state",
                service.state().name().toLowerCase(Locale.ROOT),
                "reason",
                service.stateReason(),
                "started",
                started / 1000,
                "uptime_s",
                (System.currentTimeMillis() - started) / 1000,
                "dialects",
                List.of(
                        "openai-chat",
                        "openai-completions",
                        "openai-responses",
                        "openai-embeddings",
                        "anthropic-messages"),
                "server",
                Json.object(
                        "connections",
                        connections.getAsInt(),
                        "active_requests",
                        activeRequests.getAsInt(),
                        "transport",
                        transport),
                "queue",
                Json.object("running", service.running(), "waiting", service.waiting()),
                "model",
                known ? model() : null,
                "engine",
                service.status());
    }

    private Map<String, @Nullable Object> model() {
        Map<String, @Nullable Object> model = ModelsEndpoint.meta(service.model());
        model.put("id", service.model().id());
        model.put("aliases", service.model().aliases());
        model.put("reasoning", service.model().reasoning());
        model.put("tools", service.model().tools());
        return model;
    }
}
