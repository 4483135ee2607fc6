package dev.strata.server.status;

import dev.strata.api.InferenceService;
import dev.strata.api.ModelInfo;
import dev.strata.server.http.Endpoint;
import dev.strata.server.http.Exchange;
import dev.strata.server.http.HttpFailure;
import dev.strata.server.http.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code GET /v1/models} and {@code GET /v1/models/ID}: the one model, once for each of its names, with the members that OpenAI's and Anthropic's clients look for. */
public final class ModelsEndpoint {
    private final InferenceService service;

    public ModelsEndpoint(InferenceService service) {
        this.service = service;
    }

    public Object list() {
        ModelInfo model = service.model();
        List<Object> entries = new ArrayList<>();
        for (String name : names(model)) {
            entries.add(entry(name, model));
        }
        List<String> names = names(model);
        return Json.object(
                "object",
                "list",
                "data",
                entries,
                "has_more",
                false,
                "first_id",
                names.getFirst(),
                "last_id",
                names.getLast());
    }

    /** An endpoint for one name. */
    public Endpoint one() {
        return this::one;
    }

    private void one(Exchange exchange) {
        String name = exchange.path().substring(exchange.path().lastIndexOf('/') + 1);
        ModelInfo model = service.model();
        if (!names(model).contains(name)) {
            throw new HttpFailure(
                    404, "model_not_found", "The model '" + name + "' is not here; this server has " + names(model));
        }
        exchange.reply(200, entry(name, model));
    }

    private static List<String> names(ModelInfo model) {
        List<String> names = new ArrayList<>();
        names.add(model.id());
        model.aliases().stream().filter(alias -> !names.contains(alias)).forEach(names::add);
        return names;
    }

    private static Map<String, @Nullable Object> entry(String name, ModelInfo model) {
        return Json.object(
                "id",
                name,
                "object",
                "model",
                "created",
                model.created(),
                "owned_by",
                "strata",
                "max_model_len",
                model.contextLength(),
                "meta",
                meta(model),
                "type",
                "model",
                "display_name",
                name,
                "created_at",
                Instant.ofEpochSecond(model.created()).toString());
    }

    /** The facts llama.cpp gives under the same names. */
    static Map<String, @Nullable Object> meta(ModelInfo model) {
        return Json.object(
                "architecture",
                model.architecture(),
                "n_params",
                model.parameters(),
                "n_vocab",
                model.vocabulary(),
                "n_embd",
                model.hidden(),
                "n_ctx",
                model.contextLength(),
                "n_ctx_train",
                model.trainedContextLength());
    }
}
