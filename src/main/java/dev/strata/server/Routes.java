package dev.strata.server;

import dev.strata.api.InferenceService;
import dev.strata.metrics.ServerMetrics;
import dev.strata.server.anthropic.MessageEndpoint;
import dev.strata.server.http.ActiveRequests;
import dev.strata.server.http.Generations;
import dev.strata.server.http.HttpFailure;
import dev.strata.server.http.Json;
import dev.strata.server.http.Route;
import dev.strata.server.openai.ChatEndpoint;
import dev.strata.server.openai.CompletionEndpoint;
import dev.strata.server.openai.EmbeddingEndpoint;
import dev.strata.server.openai.ResponseEndpoint;
import dev.strata.server.openai.TextEndpoints;
import dev.strata.server.status.Deadline;
import dev.strata.server.status.HealthEndpoint;
import dev.strata.server.status.LlamaStatus;
import dev.strata.server.status.ModelsEndpoint;
import dev.strata.server.status.StatusReport;
import dev.strata.server.web.WebPage;
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
            LlamaStatus llama,
            Deadline deadline,
            BooleanSupplier stopping,
            ServerOptions options) {
        Routes table = new Routes();
        table.answers(generations, active, options.requestTimeout());
        table.status(generations.service(), metrics, status, llama, deadline, stopping);
        if (options.webPage()) {
            table.routes.addAll(WebPage.routes());
        }
        return List.copyOf(table.routes);
    }

    private void answers(Generations generations, ActiveRequests active, @Nullable Duration timeout) {
        ChatEndpoint chat = new ChatEndpoint(generations, timeout);
        CompletionEndpoint completion = new CompletionEndpoint(generations, timeout);
        add(Route.post("/v1/chat/completions", chat), Route.post("/chat/completions", chat));
        add(Route.post("/v1/completions", completion), Route.post("/completions", completion));
        ResponseEndpoint response = new ResponseEndpoint(generations, timeout);
        add(Route.post("/v1/responses", response), Route.post("/responses", response));
        EmbeddingEndpoint embedding = new EmbeddingEndpoint(generations);
        add(Route.post("/v1/embeddings", embedding), Route.post("/embeddings", embedding));
        MessageEndpoint message = new MessageEndpoint(generations, timeout);
        add(
                Route.post("/v1/messages", message).speaking(Route.Dialect.ANTHROPIC),
                Route.post("/v1/messages/count_tokens", message::countTokens).speaking(Route.Dialect.ANTHROPIC));
        TextEndpoints text = new TextEndpoints(generations);
        add(
                Route.post("/tokenize", text::tokenize),
                Route.post("/detokenize", text::detokenize),
                Route.post("/apply-template", text::applyTemplate));
        for (String path : List.of(
                "/v1/requests/*", "/v1/chat/completions/*", "/v1/completions/*", "/v1/responses/*", "/v1/messages/*")) {
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
            LlamaStatus llama,
            Deadline deadline,
            BooleanSupplier stopping) {
        HealthEndpoint health = new HealthEndpoint(service, stopping);
        for (String path : List.of("/health", "/v1/health", "/api/health")) {
            add(Route.get(path, health).withoutKey().immediately());
        }
        ModelsEndpoint models = new ModelsEndpoint(service);
        for (String path : List.of("/v1/models", "/models")) {
            add(Route.get(path, deadline.json(models::list)), Route.get(path + "/*", models.one()));
        }
        for (String path : List.of("/v1/status", "/status")) {
            add(Route.get(path, deadline.json(status::report)));
        }
        add(
                Route.get("/props", deadline.json(llama::props)),
                Route.get("/slots", deadline.json(llama::slots)),
                Route.post("/slots/*", llama::act));
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
