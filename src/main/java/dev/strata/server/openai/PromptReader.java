package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Prompt;
import dev.strata.server.http.Fields;
import java.util.ArrayList;
import java.util.List;

/** Prompts of completions and inputs of embeddings: a string, an array of strings, token ids, or an array of arrays of token ids. */
final class PromptReader {
    private PromptReader() {}

    static List<Prompt> read(Fields fields, String key, int most) {
        JsonNode node = fields.require(key);
        String path = fields.path(key);
        if (node.isTextual()) {
            return List.of(new Prompt.Text(node.textValue()));
        }
        if (!node.isArray()) {
            throw Fields.wrong(path, "a string, strings, token ids or arrays of token ids", node);
        }
        if (node.isEmpty()) {
            throw fields.invalid(key, "'" + path + "' must not be empty");
        }
        if (node.get(0).isNumber()) {
            return List.of(new Prompt.Tokens(tokens(node, path)));
        }
        if (node.size() > most) {
            throw fields.invalid(key, "'" + path + "' has " + node.size() + " elements; " + most + " are the most");
        }
        List<Prompt> prompts = new ArrayList<>(node.size());
        for (JsonNode element : node) {
            String at = path + "[" + prompts.size() + "]";
            if (element.isTextual()) {
                prompts.add(new Prompt.Text(element.textValue()));
            } else if (element.isArray()) {
                prompts.add(new Prompt.Tokens(tokens(element, at)));
            } else {
                throw Fields.wrong(at, "a string or an array of token ids", element);
            }
        }
        return prompts;
    }

    static List<Integer> tokens(JsonNode array, String path) {
        List<Integer> ids = new ArrayList<>(array.size());
        for (JsonNode element : array) {
            if (!element.isIntegralNumber() || !element.canConvertToInt() || element.intValue() < 0) {
                throw Fields.wrong(path + "[" + ids.size() + "]", "a token id", element);
            }
            ids.add(element.intValue());
        }
        if (ids.isEmpty()) {
            throw Fields.wrong(path, "an array with token ids", array);
        }
        return ids;
    }
}
