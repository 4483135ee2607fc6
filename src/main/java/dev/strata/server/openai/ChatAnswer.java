package dev.strata.server.openai;

import dev.strata.server.http.Answer;
import dev.strata.server.http.AnswerCollector;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The whole answer of a chat completion. */
final class ChatAnswer {
    private ChatAnswer() {}

    static Map<String, @Nullable Object> of(Head head, ChatRequest request, AnswerCollector answers) {
        List<Object> choices = new ArrayList<>();
        boolean logprobs = request.generate().topLogprobs() >= 0;
        for (Answer answer : answers.answers()) {
            choices.add(Json.object(
                    "index",
                    choices.size(),
                    "message",
                    message(answer),
                    "logprobs",
                    logprobs ? Logprobs.chat(answer.logprobs()) : null,
                    "finish_reason",
                    Shapes.finish(answer.reason(), !answer.calls().isEmpty())));
        }
        return Shapes.whole(head.object("chat.completion"), choices, answers.usage());
    }

    private static Map<String, @Nullable Object> message(Answer answer) {
        boolean onlyCalls = answer.content().isEmpty() && !answer.calls().isEmpty();
        Map<String, @Nullable Object> message =
                Json.object("role", "assistant", "content", onlyCalls ? null : answer.content());
        if (!answer.reasoning().isEmpty()) {
            message.put("reasoning_content", answer.reasoning());
        }
        if (!answer.calls().isEmpty()) {
            message.put(
                    "tool_calls",
                    answer.calls().stream()
                            .map(call -> Json.object(
                                    "id",
                                    call.id(),
                                    "type",
                                    "function",
                                    "function",
                                    Json.object("name", call.name(), "arguments", call.arguments())))
                            .toList());
        }
        return message;
    }
}
