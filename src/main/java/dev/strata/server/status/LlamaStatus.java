package dev.strata.server.status;

import dev.strata.api.InferenceService;
import dev.strata.api.ModelInfo;
import dev.strata.server.http.Exchange;
import dev.strata.server.http.Fields;
import dev.strata.server.http.HttpFailure;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code /props} and {@code /slots} in the shape known from llama.cpp, for the tools that ask for them. */
public final class LlamaStatus {
    /** {@code id_task} of a slot that is idle. */
    private static final int NO_TASK = -1;

    private final InferenceService service;
    private final String version;

    public LlamaStatus(InferenceService service, String version) {
        this.service = service;
        this.version = version;
    }

    public Object props() {
        ModelInfo model = service.model();
        return Json.object(
                "default_generation_settings",
                Json.object(
                        "id",
                        0,
                        "id_task",
                        NO_TASK,
                        "n_ctx",
                        model.contextLength(),
                        "is_processing",
                        false,
                        "params",
                        sampling(),
                        "next_token",
                        nextToken(false, Map.of())),
                "total_slots",
                slotFacts().size(),
                "model_alias",
                model.id(),
                "model_path",
                model.id(),
                "chat_template",
                model.chatTemplate(),
                "bos_token",
                model.beginText(),
                "eos_token",
                model.endText(),
                "modalities",
                Json.object("vision", false, "audio", false),
                "endpoint_slots",
                true,
                "endpoint_metrics",
                true,
                "endpoint_props",
                false,
                "is_sleeping",
                false,
                "build_info",
                "strata-" + version);
    }

    /** What holds for requests that do not say; of the sampling nothing for an engine that does not tell. */
    private Object sampling() {
        Map<String, @Nullable Object> params = Json.object("n_predict", -1, "seed", -1, "ignore_eos", false);
        if (service.status().get("sampling") instanceof Map<?, ?> values) {
            values.forEach((key, value) -> params.put(String.valueOf(key), value));
        }
        return params;
    }

    /** How far a slot is with its answer, as one entry of a list. */
    private static Object nextToken(boolean processing, Map<?, ?> facts) {
        return List.of(Json.object(
                "has_next_token",
                processing,
                "n_remain",
                facts.get("n_remain") instanceof Number left ? left : -1,
                "n_decoded",
                facts.get("n_decoded") instanceof Number done ? done : 0));
    }

    /** What the engine tells of its slots; for an engine that tells nothing, one that is busy or not. */
    public Object slots() {
        List<Object> slots = new ArrayList<>();
        for (Map<?, ?> facts : slotFacts()) {
            Map<String, Object> slot = new LinkedHashMap<>();
            slot.put("id", slots.size());
            slot.put("id_task", NO_TASK);
            slot.put("n_ctx", service.model().contextLength());
            slot.put("is_processing", service.running() > slots.size());
            facts.forEach((key, value) -> slot.put(String.valueOf(key), value));
            slot.put("next_token", nextToken(Boolean.TRUE.equals(slot.get("is_processing")), facts));
            slots.add(slot);
        }
        return slots;
    }

    private List<Map<?, ?>> slotFacts() {
        List<Map<?, ?>> found = new ArrayList<>();
        if (service.status().get("slots") instanceof List<?> list) {
            for (Object slot : list) {
                if (slot instanceof Map<?, ?> facts) {
                    found.add(facts);
                }
            }
        }
        return found.isEmpty() ? List.of(Map.of()) : found;
    }

    /** {@code POST /slots/ID?action=save|restore} with {@code {filename}}. */
    public void act(Exchange exchange) {
        int slot = slot(exchange.path());
        String action = exchange.query("action");
        if (!"save".equals(action) && !"restore".equals(action)) {
            throw new HttpFailure(400, "invalid_value", "'action' must be save or restore, not '" + action + "'");
        }
        Fields fields = Fields.of(Json.request(exchange.body()));
        String name = fields.requireString("filename");
        if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")) {
            throw fields.invalid("filename", "'filename' must be a plain name of letters, digits, '.', '_' and '-'");
        }
        long start = System.nanoTime();
        boolean save = "save".equals(action);
        int tokens = save ? service.saveSlot(slot, name) : service.restoreSlot(slot, name);
        exchange.reply(
                200,
                Json.object(
                        "id_slot",
                        slot,
                        "filename",
                        name,
                        save ? "n_saved" : "n_restored",
                        tokens,
                        "timings",
                        Json.object(save ? "save_ms" : "restore_ms", (System.nanoTime() - start) / 1e6)));
    }

    private static int slot(String path) {
        String number = path.substring(path.lastIndexOf('/') + 1);
        if (!number.matches("\\d{1,6}")) {
            throw new HttpFailure(400, "invalid_value", "Slots have numbers; '" + number + "' is none");
        }
        return Integer.parseInt(number);
    }
}
