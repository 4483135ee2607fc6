package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.GenerateRequest;
import dev.strata.api.ModelInfo;
import dev.strata.api.Prompt;
import dev.strata.server.http.Fields;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request of {@code /v1/completions}.
 *
 * @param prompts one for each prompt, all with the same settings
 * @param logprobs whether the answers carry log probabilities
 */
record CompletionRequest(List<GenerateRequest> prompts, boolean logprobs, boolean stream, boolean includeUsage) {
    private static final int MAX_PROMPTS = 64;
    private static final int MAX_LOGPROBS = 20;
    /** The API's own default. */
    private static final int DEFAULT_TOKENS = 16;

    int choices() {
        return prompts.stream().mapToInt(GenerateRequest::choices).sum();
    }

    static CompletionRequest read(Fields fields, ModelInfo model, @Nullable Duration timeout) {
        int choices = ChatRequest.choices(fields);
        int bestOf = fields.integer("best_of", 1, 20, choices);
        if (bestOf != choices) {
            throw fields.invalid("best_of", "'best_of' must equal 'n': no answers are made to be thrown away");
        }
        int topLogprobs = topLogprobs(fields);
        boolean echo = fields.bool("echo", false);
        List<GenerateRequest> requests = new ArrayList<>();
        for (Prompt prompt : prompts(fields, model, echo)) {
            requests.add(new GenerateRequest(
                    prompt,
                    SamplingReader.read(fields),
                    FormatReader.read(fields),
                    maxTokens(fields),
                    ChatRequest.stop(fields),
                    topLogprobs,
                    choices,
                    fields.bool("ignore_eos", false),
                    fields.bool("return_progress", false),
                    echo,
                    timeout));
        }
        return new CompletionRequest(
                requests, topLogprobs >= 0, fields.bool("stream", false), ChatRequest.includeUsage(fields));
    }

    private static List<Prompt> prompts(Fields fields, ModelInfo model, boolean echo) {
        List<Prompt> prompts = PromptReader.read(fields, "prompt", MAX_PROMPTS);
        String suffix = fields.string("suffix");
        if (suffix == null || suffix.isEmpty()) {
            return prompts;
        }
        if (!model.fillInTheMiddle()) {
            throw fields.invalid(
                    "suffix", "'suffix' needs a model with fill-in-the-middle tokens, which this one has not");
        }
        if (echo) {
            throw fields.invalid("suffix", "'suffix' and 'echo' can't be used together");
        }
        List<Prompt> gaps = new ArrayList<>();
        for (Prompt prompt : prompts) {
            if (!(prompt instanceof Prompt.Text text)) {
                throw fields.invalid("suffix", "'suffix' needs a 'prompt' of text, not of token ids");
            }
            gaps.add(new Prompt.FillIn(text.text(), suffix));
        }
        return gaps;
    }

    /** Here 0 is a number of tokens: with echo and logprobs it scores the prompt. */
    private static @Nullable Integer maxTokens(Fields fields) {
        Integer value = fields.integer("max_tokens", -1, Integer.MAX_VALUE);
        if (value == null) {
            value = fields.integer("max_completion_tokens", -1, Integer.MAX_VALUE);
        }
        if (value == null) {
            value = fields.integer("n_predict", -1, Integer.MAX_VALUE);
        }
        return value == null ? Integer.valueOf(DEFAULT_TOKENS) : value < 0 ? null : value;
    }

    /** A number in the old API; true from clients that mix it up with the chat form. */
    private static int topLogprobs(Fields fields) {
        JsonNode node = fields.get("logprobs");
        if (node != null && node.isBoolean()) {
            return node.booleanValue() ? fields.integer("top_logprobs", 0, MAX_LOGPROBS, 0) : -1;
        }
        return fields.integer("logprobs", 0, MAX_LOGPROBS, -1);
    }
}
