package dev.strata.chat;

import org.jspecify.annotations.Nullable;

/** What follows {@code <tool_call>}: a call in the dialect that its first character tells. */
final class TaggedCall implements CallReader {
    private final Sink sink;
    private final ParameterTypes types;
    private @Nullable CallReader dialect;

    TaggedCall(Sink sink, ParameterTypes types) {
        this.sink = sink;
        this.types = types;
    }

    @Override
    public Status accept(char unit) {
        if (dialect == null) {
            if (Character.isWhitespace(unit)) {
                return Status.UNDECIDED;
            }
            if (unit == '{') {
                dialect = new HermesCall(sink);
            } else if (unit == '<') {
                dialect = new XmlCall(sink, types, false);
            } else {
                return Status.REJECTED;
            }
        }
        return dialect.accept(unit);
    }

    @Override
    public void cut() {
        if (dialect != null) {
            dialect.cut();
        }
    }
}
