package dev.strata.server.openai;

import dev.strata.api.GenerateRequest;
import dev.strata.api.Prompt;
import dev.strata.api.Tool;
import dev.strata.server.http.Fields;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request of {@code /v1/chat/completions}.
 *
 * @param includeUsage the stream ends with a chunk of token counts
 */
record ChatRequest(GenerateRequest generate, boolean stream, boolean includeUsage) {
    private static final int MAX_CHOICES = 8;
    private static final int MAX_TOP_LOGPROBS = 20;
    private static final int MAX_STOPS = 64;

    static ChatRequest read(Fields fields, @Nullable Duration timeout) {
        Prompt.Chat prompt = prompt(fields);
        GenerateRequest generate = new GenerateRequest(
                prompt,
                SamplingReader.read(fields),
                FormatReader.read(fields),
                maxTokens(fields),
                stop(fields),
                topLogprobs(fields),
                choices(fields),
                fields.bool("ignore_eos", false),
                fields.bool("return_progress", false),
                false,
                timeout);
        boolean stream = fields.bool("stream", false);
        return new ChatRequest(generate, stream, includeUsage(fields));
    }

    /** The conversation alone, as {@code /apply-template} needs it too. */
    static Prompt.Chat prompt(Fields fields) {
        List<Tool> tools = ToolReader.tools(fields);
        return new Prompt.Chat(
                MessageReader.read(fields),
                tools,
                ToolReader.choice(fields, tools),
                fields.bool("parallel_tool_calls", true),
                Reasoning.read(fields));
    }

    static boolean includeUsage(Fields fields) {
        Fields options = fields.object("stream_options");
        return options != null && options.bool("include_usage", false);
    }

    static int choices(Fields fields) {
        return fields.integer("n", 1, MAX_CHOICES, 1);
    }

    /** The newer name wins. 0 and -1 stand for no limit, as many clients send them. */
    private static @Nullable Integer maxTokens(Fields fields) {
        Integer value = fields.integer("max_completion_tokens", -1, Integer.MAX_VALUE);
        if (value == null) {
            value = fields.integer("max_tokens", -1, Integer.MAX_VALUE);
        }
        return value == null || value <= 0 ? null : value;
    }

    static List<String> stop(Fields fields) {
        List<String> stop = fields.strings("stop");
        if (stop.size() > MAX_STOPS) {
            throw fields.invalid("stop", "'stop' has " + stop.size() + " strings; " + MAX_STOPS + " are the most");
        }
        if (stop.contains("")) {
            throw fields.invalid("stop", "'stop' must not contain an empty string");
        }
        return stop;
    }

    private static int topLogprobs(Fields fields) {
        boolean wanted = fields.bool("logprobs", false);
        Integer top = fields.integer("top_logprobs", 0, MAX_TOP_LOGPROBS);
        if (!wanted && top != null && top > 0) {
            throw fields.invalid("top_logprobs", "'top_logprobs' needs 'logprobs': true");
        }
        return wanted ? (top == null ? 0 : top) : -1;
    }
}
