package dev.strata.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.Message;
import dev.strata.api.Prompt;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A conversation as the variables that chat templates expect. */
final class TemplateVariables {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final ClientText marks;

    TemplateVariables(ClientText marks) {
        this.marks = marks;
    }

    Map<String, @Nullable Object> of(Prompt.Chat chat, List<Message> messages, String begin, String end) {
        Map<String, @Nullable Object> variables = new LinkedHashMap<>();
        chat.templateArguments().forEach((name, value) -> variables.put(name, marks.plain(value)));
        variables.put("messages", messages.stream().map(this::message).toList());
        // With the choice "none" the model is not told of tools: it cannot call what it does not know.
        boolean tools = !chat.tools().isEmpty() && !(chat.toolChoice() instanceof ToolChoice.None);
        variables.put("tools", tools ? chat.tools().stream().map(this::tool).toList() : null);
        variables.putIfAbsent("add_generation_prompt", true);
        variables.put("bos_token", begin);
        variables.put("eos_token", end);
        return variables;
    }

    private Map<String, @Nullable Object> message(Message message) {
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        boolean fromModel = message.role().equals("assistant");
        String content = message.content() == null ? "" : message.content();
        map.put("role", marks.plain(message.role()));
        map.put("content", fromModel ? marks.fromModel(content) : marks.plain(content));
        if (message.reasoning() != null) {
            map.put("reasoning_content", marks.plain(message.reasoning()));
        }
        if (!message.toolCalls().isEmpty()) {
            map.put("tool_calls", message.toolCalls().stream().map(this::call).toList());
        }
        if (message.toolCallId() != null) {
            map.put("tool_call_id", marks.plain(message.toolCallId()));
        }
        if (message.name() != null) {
            map.put("name", marks.plain(message.name()));
        }
        return map;
    }

    private Map<String, @Nullable Object> call(Message.ToolCall call) {
        Map<String, @Nullable Object> function = new LinkedHashMap<>();
        function.put("name", marks.plain(call.name()));
        function.put("arguments", arguments(call.arguments()));
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        map.put("type", "function");
        map.put("id", marks.plain(call.id()));
        map.put("function", function);
        return map;
    }

    /** Templates want the object; text that is none stays text. */
    private @Nullable Object arguments(String json) {
        if (json.isBlank()) {
            return Map.of();
        }
        try {
            Object value = MAPPER.readValue(json, Object.class);
            return value instanceof Map<?, ?> ? marks.plain(value) : marks.plain(json);
        } catch (JsonProcessingException error) {
            return marks.plain(json);
        }
    }

    private @Nullable Object tool(Tool tool) {
        try {
            return marks.plain(MAPPER.readValue(tool.json(), Object.class));
        } catch (JsonProcessingException error) {
            Map<String, @Nullable Object> function = new LinkedHashMap<>();
            function.put("name", marks.plain(tool.name()));
            function.put("description", marks.plain(tool.description()));
            return Map.of("type", "function", "function", function);
        }
    }

    /** All that clients wrote in a conversation, in any order. */
    static String everything(Prompt.Chat chat) {
        StringBuilder all = new StringBuilder();
        for (Message message : chat.messages()) {
            all.append(message);
        }
        chat.tools().forEach(tool -> all.append(tool.json()));
        return all.append(chat.templateArguments()).toString();
    }

    /** One list of turns after the other to try when a template refuses: as given, system turns merged, system text in the user's turn. */
    static List<List<Message>> attempts(List<Message> messages) {
        List<List<Message>> attempts = new ArrayList<>();
        attempts.add(messages);
        attempts.add(MessageMerging.systemFirst(messages));
        attempts.add(MessageMerging.alternating(MessageMerging.systemFirst(messages)));
        attempts.add(MessageMerging.alternating(MessageMerging.withoutSystem(messages)));
        return attempts;
    }
}
