package dev.strata.api;

import java.util.List;
import java.util.Map;

/** What the model is asked to continue. */
public sealed interface Prompt {
    /**
     * A conversation, rendered by the model's chat template.
     *
     * @param templateArguments extra template variables (chat_template_kwargs), plain Java values
     */
    record Chat(
            List<Message> messages,
            List<Tool> tools,
            ToolChoice toolChoice,
            boolean parallelToolCalls,
            Map<String, Object> templateArguments)
            implements Prompt {}

    /** Plain text; control tokens in it are not special. */
    record Text(String text) implements Prompt {}

    record Tokens(List<Integer> ids) implements Prompt {}

    /** Text to be filled in between {@code before} and {@code after}; only for models with {@link ModelInfo#fillInTheMiddle}. */
    record FillIn(String before, String after) implements Prompt {}
}
