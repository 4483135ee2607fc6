package dev.strata.server.openai;

import dev.strata.api.GenerateRequest;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.Tool;
import dev.strata.server.http.Fields;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request of {@code /v1/responses}. The server keeps no responses, so what needs an earlier one is refused.
 *
 * @param fields for the members that the response repeats
 */
record ResponseRequest(GenerateRequest generate, boolean stream, Fields fields) {
    private static final int MAX_TOP_LOGPROBS = 20;

    static ResponseRequest read(Fields fields, @Nullable Duration timeout) {
        refuseStored(fields);
        List<Tool> tools = ResponseTools.read(fields);
        Prompt.Chat prompt = new Prompt.Chat(
                ResponseInput.read(fields),
                tools,
                ResponseTools.choice(fields, tools),
                fields.bool("parallel_tool_calls", true),
                Reasoning.read(fields));
        Fields text = fields.object("text");
        OutputFormat format = FormatReader.flat(text == null ? null : text.object("format"));
        Integer top = fields.integer("top_logprobs", 0, MAX_TOP_LOGPROBS);
        boolean logprobs = top != null
                || fields.list("include").stream()
                        .anyMatch(name -> name.asText().equals("message.output_text.logprobs"));
        GenerateRequest generate = new GenerateRequest(
                prompt,
                SamplingReader.read(fields),
                format,
                maxTokens(fields),
                ChatRequest.stop(fields),
                logprobs ? (top == null ? 0 : top) : -1,
                1,
                false,
                false,
                false,
                timeout);
        return new ResponseRequest(generate, fields.bool("stream", false), fields);
    }

    private static void refuseStored(Fields fields) {
        for (String key : List.of("previous_response_id", "conversation", "prompt")) {
            if (fields.has(key)) {
                throw fields.invalid(
                        key,
                        "'" + key + "' names something stored, and this server stores nothing: send the whole 'input'");
            }
        }
        if (fields.bool("background", false)) {
            throw fields.invalid("background", "'background' needs stored responses, which this server has not");
        }
    }

    private static @Nullable Integer maxTokens(Fields fields) {
        Integer value = fields.integer("max_output_tokens", -1, Integer.MAX_VALUE);
        return value == null || value <= 0 ? null : value;
    }
}
