package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.InferenceService;
import dev.strata.server.http.Exchange;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Generations;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;

/** {@code /tokenize}, {@code /detokenize} and {@code /apply-template}, as llama.cpp's clients call them. */
public final class TextEndpoints {
    private final Generations generations;

    public TextEndpoints(Generations generations) {
        this.generations = generations;
    }

    /** {@code {content, parse_special, with_pieces} -> {tokens}}. */
    public void tokenize(Exchange exchange) {
        Fields fields = request(exchange);
        InferenceService service = generations.service();
        List<Integer> ids = service.tokenize(fields.requireString("content"), fields.bool("parse_special", true));
        if (!fields.bool("with_pieces", false)) {
            exchange.reply(200, Json.object("tokens", ids));
            return;
        }
        List<Object> pieces = new ArrayList<>(ids.size());
        for (Integer id : ids) {
            pieces.add(Json.object("id", id, "piece", service.detokenize(List.of(id))));
        }
        exchange.reply(200, Json.object("tokens", pieces));
    }

    /** {@code {tokens} -> {content}}. */
    public void detokenize(Exchange exchange) {
        Fields fields = request(exchange);
        JsonNode tokens = fields.require("tokens");
        if (!tokens.isArray()) {
            throw Fields.wrong("tokens", "an array of token ids", tokens);
        }
        List<Integer> ids = tokens.isEmpty() ? List.of() : PromptReader.tokens(tokens, "tokens");
        int vocabulary = generations.service().model().vocabulary();
        for (int id : ids) {
            if (id >= vocabulary) {
                throw fields.invalid("tokens", "Token id " + id + " is outside the vocabulary of " + vocabulary);
            }
        }
        exchange.reply(200, Json.object("content", generations.service().detokenize(ids)));
    }

    /** A chat request without its answer: {@code {messages, tools, ...} -> {prompt}}. */
    public void applyTemplate(Exchange exchange) {
        Fields fields = request(exchange);
        exchange.reply(200, Json.object("prompt", generations.service().render(ChatRequest.prompt(fields))));
    }

    private Fields request(Exchange exchange) {
        generations.requireReady();
        return Fields.of(Json.request(exchange.body()));
    }
}
