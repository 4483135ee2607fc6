package dev.strata.chat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.Message;
import dev.strata.api.Prompt;
import dev.strata.chat.template.Template;
import dev.strata.chat.template.TemplateException;
import dev.strata.format.ModelFiles;
import dev.strata.tokenizer.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Renders conversations with the chat template of the model and turns them into tokens. Text from clients never becomes control tokens.
 * Safe for use by many threads.
 */
public final class ChatRenderer {
    private final @Nullable Template template;
    private final String source;
    private final Tokenizer tokenizer;
    private final String begin;
    private final String end;
    private final Clock clock;

    private ChatRenderer(
            @Nullable Template template, String source, Tokenizer tokenizer, String begin, String end, Clock clock) {
        this.template = template;
        this.source = source;
        this.tokenizer = tokenizer;
        this.begin = begin;
        this.end = end;
        this.clock = clock;
    }

    /**
     * Reads and parses the template of a model's files.
     *
     * @throws TemplateException naming the line, when it cannot be parsed
     */
    public static ChatRenderer load(ModelFiles files, Tokenizer tokenizer) {
        Optional<ChatTemplateFinder.Found> found = ChatTemplateFinder.find(files, tokenizer);
        String begin = tokenizer.specialTokens().begin().stream()
                .mapToObj(id -> text(tokenizer, id))
                .findFirst()
                .orElse("");
        return found.map(template -> of(template.name(), template.text(), tokenizer, begin, endText(files, tokenizer)))
                .orElseGet(() -> new ChatRenderer(null, "", tokenizer, begin, "", Clock.systemDefaultZone()));
    }

    /** A renderer for a template at hand. */
    public static ChatRenderer of(String name, String template, Tokenizer tokenizer, String begin, String end) {
        return new ChatRenderer(
                Template.parse(name, template), template, tokenizer, begin, end, Clock.systemDefaultZone());
    }

    private static String endText(ModelFiles files, Tokenizer tokenizer) {
        if (files.metadata().get("tokenizer.ggml.eos_token_id") instanceof Number id) {
            return text(tokenizer, id.intValue());
        }
        JsonNode end = ChatTemplateFinder.config(files).path("eos_token");
        return end.isObject() ? end.path("content").asText() : end.asText("");
    }

    private static String text(Tokenizer tokenizer, int id) {
        return new String(tokenizer.bytes(id), StandardCharsets.UTF_8);
    }

    /** The template's text; empty when the model has none. */
    public String template() {
        return source;
    }

    /** Whether the template speaks of tools. */
    public boolean supportsTools() {
        return source.contains("tools");
    }

    /** Whether the model writes calls in the XML dialect ({@code <function=...>}) rather than in Hermes' JSON. */
    public boolean callsInXml() {
        return source.contains("<function=");
    }

    /** Whether the model marks its reasoning with {@code <think>}. */
    public boolean supportsReasoning() {
        return source.contains("<think>")
                || source.contains("</think>")
                || tokenizer.id("<think>").isPresent();
    }

    /**
     * The text that the template gives.
     *
     * @throws ApiException when it refuses the conversation
     */
    public String render(Prompt.Chat chat) {
        return prepare(chat).text();
    }

    /** Token ids of the conversation. */
    public int[] encode(Prompt.Chat chat) {
        return prepare(chat).ids();
    }

    /**
     * Text and tokens of a conversation. Where the template refuses the order of turns, system turns are merged into the first turn, then
     * into the user's.
     *
     * @throws ApiException when it refuses the conversation all the same
     */
    public RenderedPrompt prepare(Prompt.Chat chat) {
        ClientText marks = ClientText.of(tokenizer, TemplateVariables.everything(chat));
        String marked = renderMarked(chat, marks);
        int[] ids = tokenizer.encodeMarked(marked, marks.marker());
        if (tokenizer.specialTokens().addBegin() && !begin.isEmpty() && !marked.startsWith(begin)) {
            ids = withBegin(ids);
        }
        return new RenderedPrompt(marks.withoutMarkers(marked), ids, opensReasoning(marked));
    }

    private int[] withBegin(int[] ids) {
        int[] longer = new int[ids.length + 1];
        longer[0] = tokenizer.specialTokens().begin().orElseThrow();
        System.arraycopy(ids, 0, longer, 1, ids.length);
        return longer;
    }

    /** Whether nothing but white space follows a last {@code <think>}. Marked text of clients does not count. */
    private static boolean opensReasoning(String marked) {
        int open = marked.lastIndexOf("<think>");
        return open >= 0 && marked.substring(open + "<think>".length()).isBlank();
    }

    private String renderMarked(Prompt.Chat chat, ClientText marks) {
        if (template == null) {
            throw new ApiException(new ApiError(
                    ApiError.Kind.INVALID_REQUEST,
                    "no_chat_template",
                    "This model has no chat template. Use /v1/completions.",
                    "messages"));
        }
        TemplateVariables variables = new TemplateVariables(marks);
        TemplateException first = null;
        for (Map<String, Object> arguments : argumentAttempts(chat.templateArguments())) {
            Prompt.Chat attempt = new Prompt.Chat(
                    chat.messages(), chat.tools(), chat.toolChoice(), chat.parallelToolCalls(), arguments);
            for (List<Message> messages : TemplateVariables.attempts(chat.messages())) {
                try {
                    return template.render(variables.of(attempt, messages, begin, end), clock);
                } catch (TemplateException error) {
                    first = first == null ? error : first;
                }
            }
        }
        String message = first == null ? "" : marks.withoutMarkers(String.valueOf(first.getMessage()));
        throw new ApiException(new ApiError(
                ApiError.Kind.INVALID_REQUEST,
                "chat_template_error",
                "The model's chat template refuses this conversation: " + message,
                "messages"));
    }

    /** Templates know different words for efforts; one that refuses a word is given the nearest, or none. */
    private static List<Map<String, Object>> argumentAttempts(Map<String, Object> arguments) {
        Object effort = arguments.get("reasoning_effort");
        if (effort == null) {
            return List.of(arguments);
        }
        Map<String, Object> nearest = new HashMap<>(arguments);
        nearest.put(
                "reasoning_effort",
                switch (String.valueOf(effort)) {
                    case "high" -> "xhigh";
                    case "minimal", "none" -> "low";
                    default -> effort;
                });
        Map<String, Object> without = new HashMap<>(arguments);
        without.remove("reasoning_effort");
        return Arrays.asList(arguments, nearest, without);
    }
}
