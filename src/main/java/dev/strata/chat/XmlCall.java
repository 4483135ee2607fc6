package dev.strata.chat;

/**
 * A call in the dialect of Qwen3-Coder and later:
 *
 * <pre>&lt;function=NAME&gt;\n&lt;parameter=KEY&gt;\nVALUE\n&lt;/parameter&gt;\n&lt;/function&gt;</pre>
 *
 * Values are text; the tool's schema says which of them are meant as JSON. Text values are passed on while they arrive.
 */
final class XmlCall implements CallReader {
    private static final String FUNCTION = "<function=";
    private static final String PARAMETER = "<parameter=";
    private static final String END_PARAMETER = "</parameter>";
    private static final String END_FUNCTION = "</function>";

    private static final String END_CALL = "</tool_call>";

    private enum State {
        START,
        NAME,
        BODY,
        KEY,
        VALUE
    }

    private final Sink sink;
    private final ParameterTypes types;
    private final boolean knownNamesOnly;
    private final StringBuilder word = new StringBuilder();
    /** Part of a tag, or of the line break in front of one. */
    private final StringBuilder held = new StringBuilder();
    /** A value that is not plain text, or not known to be. */
    private final StringBuilder whole = new StringBuilder();

    private State state;
    private String name = "";
    private String key = "";
    private int parameters;
    private boolean committed;
    private boolean streamed;
    private boolean atValueStart;

    /** @param afterTag whether the text {@code <function=} has been read already */
    XmlCall(Sink sink, ParameterTypes types, boolean afterTag) {
        this.sink = sink;
        this.types = types;
        this.knownNamesOnly = afterTag;
        this.state = afterTag ? State.NAME : State.START;
    }

    @Override
    public Status accept(char unit) {
        return switch (state) {
            case START -> {
                held.append(unit);
                if (held.isEmpty() || FUNCTION.startsWith(held.toString())) {
                    if (held.length() == FUNCTION.length()) {
                        held.setLength(0);
                        state = State.NAME;
                    }
                    yield Status.UNDECIDED;
                }
                yield Status.REJECTED;
            }
            case NAME -> name(unit);
            case BODY -> body(unit);
            case KEY -> {
                if (unit == '>') {
                    beginValue();
                } else {
                    word.append(unit);
                }
                yield Status.COMMITTED;
            }
            case VALUE -> value(unit);
        };
    }

    private Status name(char unit) {
        if (unit != '>') {
            word.append(unit);
            return unit == '<' || unit == '\n' || word.length() > 256 ? Status.REJECTED : Status.UNDECIDED;
        }
        name = word.toString().strip();
        word.setLength(0);
        if (name.isEmpty() || knownNamesOnly && !types.knows(name)) {
            return Status.REJECTED;
        }
        committed = true;
        sink.start(name);
        sink.arguments("{");
        state = State.BODY;
        return Status.COMMITTED;
    }

    /** Between parameters: white space and tags. */
    private Status body(char unit) {
        if (held.isEmpty() && Character.isWhitespace(unit)) {
            return Status.COMMITTED;
        }
        held.append(unit);
        String tag = held.toString();
        if (tag.equals(PARAMETER)) {
            held.setLength(0);
            state = State.KEY;
        } else if (tag.equals(END_FUNCTION)) {
            held.setLength(0);
            sink.arguments("}");
            return Status.DONE;
        } else if (tag.equals(END_CALL)) {
            sink.arguments("}");
            return Status.DONE;
        } else if (tag.equals(END_PARAMETER)) {
            held.setLength(0);
        } else if (!PARAMETER.startsWith(tag) && !END_FUNCTION.startsWith(tag) && !END_PARAMETER.startsWith(tag)) {
            // Neither a parameter nor the end: the call is over, and what follows is not part of it.
            if (END_CALL.startsWith(tag)) {
                return Status.COMMITTED;
            }
            sink.arguments("}");
            return Status.DONE_BEFORE;
        }
        return Status.COMMITTED;
    }

    private void beginValue() {
        key = word.toString().strip();
        word.setLength(0);
        whole.setLength(0);
        streamed = types.isText(name, key);
        atValueStart = true;
        sink.arguments((parameters++ > 0 ? ", " : "") + JsonStrings.quoted(key) + ": " + (streamed ? "\"" : ""));
        state = State.VALUE;
    }

    /** Text up to a closing tag; one line break at either end belongs to the tags. */
    private Status value(char unit) {
        if (atValueStart) {
            atValueStart = false;
            if (unit == '\n') {
                return Status.COMMITTED;
            }
        }
        held.append(unit);
        while (!held.isEmpty()) {
            String text = held.toString();
            String tag = text.startsWith("\n") ? text.substring(1) : text;
            if (tag.equals(END_PARAMETER)) {
                held.setLength(0);
                endValue();
                return Status.COMMITTED;
            }
            if (tag.equals(PARAMETER) && text.startsWith("\n")) {
                held.setLength(0);
                endValue();
                state = State.KEY;
                return Status.COMMITTED;
            }
            if (tag.equals(END_FUNCTION) && text.startsWith("\n")) {
                held.setLength(0);
                endValue();
                sink.arguments("}");
                return Status.DONE;
            }
            if (END_PARAMETER.startsWith(tag)
                    || text.startsWith("\n") && (PARAMETER.startsWith(tag) || END_FUNCTION.startsWith(tag))) {
                return Status.COMMITTED;
            }
            piece(text.charAt(0));
            held.deleteCharAt(0);
        }
        return Status.COMMITTED;
    }

    private void piece(char unit) {
        if (streamed) {
            StringBuilder escaped = new StringBuilder();
            JsonStrings.escape(unit, escaped);
            sink.arguments(escaped.toString());
        } else {
            whole.append(unit);
        }
    }

    private void endValue() {
        sink.arguments(streamed ? "\"" : types.json(name, key, whole.toString()));
        state = State.BODY;
    }

    @Override
    public void cut() {
        if (committed && state == State.VALUE && !streamed) {
            sink.arguments(whole.toString());
        }
    }
}
