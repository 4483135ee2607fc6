package dev.strata.chat;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads a model's text: reasoning, visible text, tool calls in Hermes' JSON and in the XML dialect. It looks at one character after the
 * other, so the result does not depend on how the text was cut. Not thread-safe.
 *
 * <p>{@code <think>} counts only at the beginning. A tool tag begins a call only when a call really follows; otherwise it is text. Half a
 * tag or half a call at the end of a cut text is never shown.
 */
public final class OutputParser {
    private static final String THINK = "<think>";
    private static final String END_THINK = "</think>";
    private static final String CALL = "<tool_call>";
    private static final String END_CALL = "</tool_call>";
    private static final String FUNCTION = "<function=";
    /** A call that is not certain after so many characters is none. */
    private static final int LONGEST_DOUBT = 1 << 16;

    private enum Mode {
        BEGINNING,
        REASONING,
        CONTENT,
        CALL,
        BEHIND_CALL,
        CLOSED
    }

    private final OutputSyntax syntax;
    private final ParameterTypes types;
    private final Supplier<String> ids;
    private final EventBuffer events = new EventBuffer();
    /** White space whose part is not decided yet. */
    private final StringBuilder blank = new StringBuilder();
    /** What may be the beginning of a tag. */
    private final StringBuilder held = new StringBuilder();
    /** The text of a call that may turn out to be none. */
    private final StringBuilder doubtful = new StringBuilder();

    private Mode mode;
    private @Nullable CallReader call;
    private int calls;
    private boolean anything;

    /** @param ids makes ids of calls */
    public OutputParser(OutputSyntax syntax, Supplier<String> ids) {
        this.syntax = syntax;
        this.types = new ParameterTypes(syntax.tools());
        this.ids = ids;
        this.mode = syntax.startsInReasoning() && syntax.reasoning()
                ? Mode.REASONING
                : syntax.reasoning() ? Mode.BEGINNING : Mode.CONTENT;
    }

    /** Takes more text and returns what can be said of it. */
    public List<OutputEvent> push(String text) {
        for (int at = 0; at < text.length(); at++) {
            accept(text.charAt(at));
        }
        return events.take();
    }

    /**
     * Ends the text.
     *
     * @param cut whether it was cut (length limit, cancelled) rather than ended by the model
     */
    public List<OutputEvent> finish(boolean cut) {
        if (mode == Mode.CALL && call != null) {
            call.cut();
        } else if (cut && held.length() > 1) {
            blank.setLength(0);
        } else if (!held.isEmpty()) {
            String rest = held.toString();
            held.setLength(0);
            for (int at = 0; at < rest.length(); at++) {
                text(rest.charAt(at));
            }
        }
        if (mode == Mode.CONTENT && calls == 0 && (anything || !syntax.reasoning())) {
            events.content(blank);
        }
        mode = Mode.CLOSED;
        return events.take();
    }

    /** Whether the text is in the reasoning block now. */
    public boolean inReasoning() {
        return mode == Mode.REASONING;
    }

    /** Calls so far, complete or not. */
    public int calls() {
        return calls;
    }

    /** Whether all calls that are allowed have been made: nothing that follows would be shown. */
    public boolean callsComplete() {
        return calls > 0 && calls >= syntax.mostCalls() && mode != Mode.CALL;
    }

    private void accept(char unit) {
        switch (mode) {
            case CALL -> inCall(unit);
            case CLOSED -> {}
            default -> {
                if (mode == Mode.BEHIND_CALL && unit == '{' && held.isEmpty()) {
                    // Several calls between one pair of tags.
                    beginCall("");
                    inCall(unit);
                } else if (held.isEmpty() && unit != '<') {
                    text(unit);
                } else {
                    held.append(unit);
                    matchTags();
                }
            }
        }
    }

    /** Gives out what is held as far as it cannot be a tag any more. */
    private void matchTags() {
        while (!held.isEmpty()) {
            String tag = held.toString();
            if (isTag(tag)) {
                held.setLength(0);
                tag(tag);
                return;
            }
            if (canBecomeTag(tag)) {
                return;
            }
            held.deleteCharAt(0);
            text(tag.charAt(0));
        }
    }

    private boolean isTag(String text) {
        return switch (mode) {
            case BEGINNING -> text.equals(THINK) || isCallTag(text);
            case REASONING -> text.equals(END_THINK);
            case CONTENT -> isCallTag(text);
            case BEHIND_CALL -> text.equals(END_CALL) || isCallTag(text);
            case CALL, CLOSED -> false;
        };
    }

    private boolean canBecomeTag(String text) {
        boolean calling = !syntax.tools().isEmpty() && (CALL.startsWith(text) || FUNCTION.startsWith(text));
        return switch (mode) {
            case BEGINNING -> THINK.startsWith(text) || calling;
            case REASONING -> END_THINK.startsWith(text);
            case CONTENT -> calling;
            case BEHIND_CALL -> END_CALL.startsWith(text) || calling;
            case CALL, CLOSED -> false;
        };
    }

    private boolean isCallTag(String text) {
        return !syntax.tools().isEmpty() && (text.equals(CALL) || text.equals(FUNCTION));
    }

    private void tag(String tag) {
        switch (tag) {
            case THINK -> {
                mode = Mode.REASONING;
                blank.setLength(0);
            }
            case END_THINK -> {
                mode = Mode.CONTENT;
                blank.setLength(0);
                anything = false;
            }
            // The call is closed; white space up to the next one, or the end, belongs to nothing.
            case END_CALL -> mode = Mode.CONTENT;
            default -> beginCall(tag);
        }
    }

    private void beginCall(String tag) {
        mode = Mode.CALL;
        doubtful.setLength(0);
        doubtful.append(tag);
        Sink sink = new Sink();
        call = tag.equals(FUNCTION) ? new XmlCall(sink, types, true) : new TaggedCall(sink, types);
    }

    private void inCall(char unit) {
        CallReader reader = java.util.Objects.requireNonNull(call);
        switch (reader.accept(unit)) {
            case UNDECIDED -> {
                doubtful.append(unit);
                if (doubtful.length() > LONGEST_DOUBT) {
                    reject();
                }
            }
            case COMMITTED -> doubtful.setLength(0);
            case DONE -> endCall();
            case DONE_BEFORE -> {
                endCall();
                accept(unit);
            }
            case REJECTED -> {
                doubtful.append(unit);
                reject();
            }
        }
    }

    private void endCall() {
        call = null;
        doubtful.setLength(0);
        mode = callsAreUsedUp() ? Mode.CLOSED : Mode.BEHIND_CALL;
    }

    private boolean callsAreUsedUp() {
        return calls >= syntax.mostCalls();
    }

    /** It was no call: its tag is text, and what followed is looked at again. */
    private void reject() {
        call = null;
        mode = Mode.CONTENT;
        String text = doubtful.toString();
        doubtful.setLength(0);
        int tag = text.startsWith(CALL) ? CALL.length() : text.startsWith(FUNCTION) ? FUNCTION.length() : 1;
        for (int at = 0; at < text.length(); at++) {
            if (at < tag) {
                text(text.charAt(at));
            } else {
                accept(text.charAt(at));
            }
        }
    }

    /** A character that is part of no tag. */
    private void text(char unit) {
        boolean isBlank = Character.isWhitespace(unit);
        switch (mode) {
            case BEGINNING -> {
                if (isBlank) {
                    blank.append(unit);
                } else {
                    mode = Mode.CONTENT;
                    visible(unit);
                }
            }
            case REASONING -> {
                if (isBlank) {
                    blank.append(unit);
                } else {
                    visible(unit);
                }
            }
            case CONTENT, BEHIND_CALL -> {
                mode = isBlank ? mode : Mode.CONTENT;
                if (!isBlank) {
                    visible(unit);
                } else if (holdsBlanks() || !anything) {
                    blank.append(unit);
                } else {
                    events.content(String.valueOf(unit));
                }
            }
            case CALL, CLOSED -> {}
        }
    }

    private boolean holdsBlanks() {
        return !syntax.tools().isEmpty();
    }

    private void visible(char unit) {
        if (!anything && syntax.reasoning()) {
            // Line breaks behind a tag belong to the tag; the indentation of the first line does not.
            blank.delete(0, Math.max(blank.lastIndexOf("\n"), blank.lastIndexOf("\r")) + 1);
        }
        anything = true;
        blank.append(unit);
        if (mode == Mode.REASONING) {
            events.reasoning(blank);
        } else {
            events.content(blank);
        }
        blank.setLength(0);
    }

    /** Turns a call into events. */
    private final class Sink implements CallReader.Sink {
        @Override
        public void start(String name) {
            blank.setLength(0);
            anything = true;
            events.callStart(calls++, ids.get(), name);
        }

        @Override
        public void arguments(String fragment) {
            events.arguments(fragment);
        }
    }
}
