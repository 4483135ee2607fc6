package dev.strata.chat;

import java.util.ArrayList;
import java.util.List;

/** Collects events, pieces of one kind in a row as one. */
final class EventBuffer {
    private enum Kind {
        CONTENT,
        REASONING,
        ARGUMENTS
    }

    private final List<OutputEvent> events = new ArrayList<>();
    private final StringBuilder run = new StringBuilder();
    private Kind kind = Kind.CONTENT;
    private int index;

    void content(CharSequence text) {
        begin(Kind.CONTENT);
        run.append(text);
    }

    void reasoning(CharSequence text) {
        begin(Kind.REASONING);
        run.append(text);
    }

    void callStart(int call, String id, String name) {
        endRun();
        index = call;
        events.add(new OutputEvent.CallStart(call, id, name));
    }

    /** More arguments of the call that began last. */
    void arguments(String fragment) {
        begin(Kind.ARGUMENTS);
        run.append(fragment);
    }

    List<OutputEvent> take() {
        endRun();
        List<OutputEvent> taken = List.copyOf(events);
        events.clear();
        return taken;
    }

    private void begin(Kind next) {
        if (kind != next) {
            endRun();
            kind = next;
        }
    }

    private void endRun() {
        if (!run.isEmpty()) {
            String text = run.toString();
            run.setLength(0);
            events.add(
                    switch (kind) {
                        case CONTENT -> new OutputEvent.Content(text);
                        case REASONING -> new OutputEvent.Reasoning(text);
                        case ARGUMENTS -> new OutputEvent.CallArguments(index, text);
                    });
        }
    }
}
