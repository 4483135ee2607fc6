package dev.strata.server;

import dev.strata.api.InferenceService;
import dev.strata.metrics.ServerMetrics;
import dev.strata.server.http.ActiveRequests;
import dev.strata.server.http.Generations;
import dev.strata.server.http.HttpFailure;
import dev.strata.server.http.Json;
import dev.strata.server.http.Route;
import dev.strata.server.openai.ChatEndpoint;
import dev.strata.server.openai.CompletionEndpoint;
import dev.strata.server.status.Deadline;
import dev.strata.server.status.HealthEndpoint;
import dev.strata.server.status.ModelsEndpoint;
import dev.strata.server.status.StatusReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The table of what the server answers. */
final class Routes {
    private final List<Route> routes = new ArrayList<>();

    private Routes() {}

    static List<Route> of(
            Generations generations,
            ActiveRequests active,
            ServerMetrics metrics,
            StatusReport status,
            Deadline deadline,
            BooleanSupplier stopping,
            ServerOptions options) {
        Routes table = new Routes();
        table.answers(generations, active, options.requestTimeout());
        table.status(generations.service(), metrics, status, deadline, stopping);
        return List.copyOf(table.routes);
    }

    private void answers(Generations generations, ActiveRequests active, @Nullable Duration timeout) {
        ChatEndpoint chat = new ChatEndpoint(generations, timeout);
        CompletionEndpoint completion = new CompletionEndpoint(generations, timeout);
        add(Route.post("/v1/chat/completions", chat), Route.post("/chat/completions", chat));
        add(Route.post("/v1/completions", completion), Route.post("/completions", completion));
        for (String path : List.of("/v1/requests/*", "/v1/chat/completions/*", "/v1/completions/*")) {
            add(Route.delete(path, exchange -> {
                String id = exchange.path().substring(exchange.path().lastIndexOf('/') + 1);
                if (!active.cancel(id)) {
                    throw new HttpFailure(404, "request_not_found", "No running request has this id");
                }
                exchange.reply(200, Json.object("id", id, "object", "request.cancelled", "cancelled", true));
            }));
        }
    }

    private void status(
            InferenceService service,
            ServerMetrics metrics,
            StatusReport status,
            Deadline deadline,
            BooleanSupplier stopping) {
        HealthEndpoint health = new HealthEndpoint(service, stopping, deadline);
        for (String path : List.of("/health", "/v1/health", "/api/health")) {
            add(Route.get(path, health).withoutKey());
        }
        ModelsEndpoint models = new ModelsEndpoint(service);
        for (String path : List.of("/v1/models", "/models")) {
            add(Route.get(path, deadline.json(models::list)), Route.get(path + "/*", models.one()));
        }
        for (String path : List.of("/v1/status", "/status")) {
            add(Route.get(path, deadline.json(status::report)));
        }
        add(Route.get(
                "/metrics",
                exchange -> exchange.reply(
                        200,
                        ServerMetrics.contentType(),
                        deadline.within(exchange.limits().statusTime().toMillis(), metrics::text))));
    }

    private void add(Route... more) {
        routes.addAll(List.of(more));
    }
}
