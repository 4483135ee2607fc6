package dev.strata.chat;

import dev.strata.api.Message;
import java.util.ArrayList;
import java.util.List;

/** Rearranges turns for templates that insist on one system turn at the start, or none, and on turns that alternate. */
final class MessageMerging {
    private MessageMerging() {}

    /** All system texts as one first turn. */
    static List<Message> systemFirst(List<Message> messages) {
        List<Message> others = new ArrayList<>();
        String system = systemText(messages, others);
        if (!system.isEmpty()) {
            others.addFirst(Message.of("system", system));
        }
        return others;
    }

    /** All system texts at the head of the first user turn. */
    static List<Message> withoutSystem(List<Message> messages) {
        List<Message> others = new ArrayList<>();
        String system = systemText(messages, others);
        if (system.isEmpty()) {
            return others;
        }
        for (int index = 0; index < others.size(); index++) {
            if (others.get(index).role().equals("user")) {
                others.set(
                        index,
                        withContent(
                                others.get(index),
                                joined(system, others.get(index).content())));
                return others;
            }
        }
        others.addFirst(Message.of("user", system));
        return others;
    }

    /** Neighbouring user turns as one. */
    static List<Message> alternating(List<Message> messages) {
        List<Message> merged = new ArrayList<>();
        for (Message message : messages) {
            Message last = merged.isEmpty() ? null : merged.getLast();
            boolean same =
                    last != null && last.role().equals("user") && message.role().equals("user");
            if (last != null && same) {
                merged.set(merged.size() - 1, withContent(last, joined(last.content(), message.content())));
            } else {
                merged.add(message);
            }
        }
        return merged;
    }

    private static String systemText(List<Message> messages, List<Message> others) {
        String system = "";
        for (Message message : messages) {
            if (message.role().equals("system")) {
                system = joined(system, message.content());
            } else {
                others.add(message);
            }
        }
        return system;
    }

    private static String joined(
            @org.jspecify.annotations.Nullable String first, @org.jspecify.annotations.Nullable String second) {
        if (first == null || first.isEmpty()) {
            return second == null ? "" : second;
        }
        return second == null || second.isEmpty() ? first : first + "\n\n" + second;
    }

    private static Message withContent(Message message, String content) {
        return new Message(
                message.role(),
                content,
                message.reasoning(),
                message.toolCalls(),
                message.toolCallId(),
                message.name());
    }
}
