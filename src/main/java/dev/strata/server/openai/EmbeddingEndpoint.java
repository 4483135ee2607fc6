package dev.strata.server.openai;

import dev.strata.api.InferenceService;
import dev.strata.api.Prompt;
import dev.strata.server.http.Endpoint;
import dev.strata.server.http.Exchange;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Generations;
import dev.strata.server.http.Json;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** {@code POST /v1/embeddings}: one vector of length 1 for each input. */
public final class EmbeddingEndpoint implements Endpoint {
    private static final int MAX_INPUTS = 2048;

    private static final Map<String, String> FIELDS = Map.of("prompt", "input", "messages", "input");

    private final Generations generations;

    public EmbeddingEndpoint(Generations generations) {
        this.generations = generations;
    }

    @Override
    public void answer(Exchange exchange) {
        generations.requireReady();
        exchange.fieldNames(FIELDS);
        InferenceService service = generations.service();
        Fields fields = Fields.of(Json.request(exchange.body()));
        List<Prompt> inputs = PromptReader.read(fields, "input", MAX_INPUTS);
        boolean base64 = oneOf(fields, "encoding_format", "float", "base64").equals("base64");
        boolean mean = oneOf(fields, "pooling", "mean", "last").equals("mean");
        int width = service.model().hidden();
        int dimensions = fields.integer("dimensions", 1, Integer.MAX_VALUE, width);
        if (dimensions != width) {
            throw fields.invalid(
                    "dimensions", "'dimensions' must be " + width + ": this model's vectors can't be shortened");
        }
        int tokens = inputs.stream().mapToInt(service::countTokens).sum();
        List<Object> data = new ArrayList<>(inputs.size());
        for (float[] vector : service.embed(inputs, mean)) {
            data.add(Json.object(
                    "object", "embedding", "index", data.size(), "embedding", base64 ? base64(vector) : vector));
        }
        exchange.note(", " + inputs.size() + " inputs, " + tokens + " tokens");
        exchange.reply(
                200,
                Json.object(
                        "object",
                        "list",
                        "data",
                        data,
                        "model",
                        service.model().id(),
                        "usage",
                        Json.object("prompt_tokens", tokens, "total_tokens", tokens)));
    }

    /** Little-endian float32, as the API's clients decode it. */
    private static String base64(float[] vector) {
        ByteBuffer bytes = ByteBuffer.allocate(vector.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(vector);
        return Base64.getEncoder().encodeToString(bytes.array());
    }

    private static String oneOf(Fields fields, String key, String first, String second) {
        String value = fields.string(key, first);
        if (!value.equals(first) && !value.equals(second)) {
            throw fields.invalid(key, "'" + key + "' must be " + first + " or " + second + ", not '" + value + "'");
        }
        return value;
    }
}
