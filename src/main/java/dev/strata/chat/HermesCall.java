package dev.strata.chat;

/**
 * A call as JSON: {@code {"name": "f", "arguments": {...}}}. The arguments are passed on as they were written. Keys may come in any order;
 * other keys are skipped; arguments written as a string of JSON are unpacked.
 */
final class HermesCall implements CallReader {
    private enum State {
        START,
        KEY,
        IN_KEY,
        COLON,
        VALUE,
        IN_NAME,
        IN_ARGUMENTS,
        IN_QUOTED_ARGUMENTS,
        IN_OTHER,
        BEHIND_VALUE
    }

    private final Sink sink;
    private final JsonSpan span = new JsonSpan();
    private final JsonUnquoter unquoter = new JsonUnquoter();
    private final StringBuilder key = new StringBuilder();
    private final StringBuilder name = new StringBuilder();
    /** Arguments that came before the name. */
    private final StringBuilder early = new StringBuilder();

    private State state = State.START;
    private boolean hasName;
    private boolean hasArguments;
    private boolean committed;

    HermesCall(Sink sink) {
        this.sink = sink;
    }

    @Override
    public Status accept(char unit) {
        return switch (state) {
            case START -> unit == '{' ? go(State.KEY) : blank(unit);
            case KEY -> {
                if (unit == '"') {
                    key.setLength(0);
                    unquoter.begin();
                    yield go(State.IN_KEY);
                }
                yield unit == '}' ? end() : blank(unit);
            }
            case IN_KEY -> {
                if (!unquoter.accept(unit, key)) {
                    yield go(State.COLON);
                }
                yield unquoter.failed() || key.length() > 64 ? Status.REJECTED : status();
            }
            case COLON -> unit == ':' ? go(State.VALUE) : blank(unit);
            case VALUE -> isBlank(unit) ? status() : value(unit);
            case IN_NAME -> {
                if (!unquoter.accept(unit, name)) {
                    hasName = name.length() > 0;
                    yield hasName ? go(State.BEHIND_VALUE) : Status.REJECTED;
                }
                yield unquoter.failed() || name.length() > 256 ? Status.REJECTED : status();
            }
            case IN_ARGUMENTS -> inArguments(unit);
            case IN_QUOTED_ARGUMENTS -> {
                StringBuilder text = new StringBuilder();
                boolean more = unquoter.accept(unit, text);
                arguments(text.toString());
                yield more ? status() : go(State.BEHIND_VALUE);
            }
            case IN_OTHER ->
                switch (span.accept(unit)) {
                    case INSIDE -> status();
                    case ENDED -> go(State.BEHIND_VALUE);
                    case ENDED_BEFORE -> {
                        state = State.BEHIND_VALUE;
                        yield accept(unit);
                    }
                    case BROKEN -> broken();
                };
            case BEHIND_VALUE -> unit == ',' ? go(State.KEY) : unit == '}' ? end() : blank(unit);
        };
    }

    private Status value(char unit) {
        String field = key.toString();
        if (field.equals("name") && !hasName) {
            unquoter.begin();
            return unit == '"' ? go(State.IN_NAME) : Status.REJECTED;
        }
        boolean arguments = (field.equals("arguments") || field.equals("parameters")) && !hasArguments;
        if (arguments && (unit == '{' || unit == '"')) {
            hasArguments = true;
            if (hasName) {
                commit();
            }
            if (unit == '"') {
                unquoter.begin();
                return go(State.IN_QUOTED_ARGUMENTS);
            }
            span.begin();
            state = State.IN_ARGUMENTS;
            return inArguments(unit);
        }
        if (arguments && unit != 'n') {
            return Status.REJECTED;
        }
        span.begin();
        state = State.IN_OTHER;
        return accept(unit);
    }

    private Status inArguments(char unit) {
        JsonSpan.Place place = span.accept(unit);
        if (place == JsonSpan.Place.BROKEN || place == JsonSpan.Place.ENDED_BEFORE) {
            return broken();
        }
        arguments(String.valueOf(unit));
        return place == JsonSpan.Place.ENDED ? go(State.BEHIND_VALUE) : status();
    }

    private void arguments(String fragment) {
        if (committed) {
            sink.arguments(fragment);
        } else {
            early.append(fragment);
        }
    }

    private void commit() {
        committed = true;
        sink.start(name.toString());
        if (early.length() > 0) {
            sink.arguments(early.toString());
            early.setLength(0);
        }
    }

    private Status end() {
        if (!hasName) {
            return Status.REJECTED;
        }
        if (!committed) {
            commit();
        }
        if (!hasArguments) {
            sink.arguments("{}");
        }
        return Status.DONE;
    }

    private Status go(State next) {
        state = next;
        return status();
    }

    private Status status() {
        return committed ? Status.COMMITTED : Status.UNDECIDED;
    }

    private Status blank(char unit) {
        return isBlank(unit) ? status() : broken();
    }

    private Status broken() {
        return committed ? Status.DONE_BEFORE : Status.REJECTED;
    }

    private static boolean isBlank(char unit) {
        return unit == ' ' || unit == '\n' || unit == '\r' || unit == '\t';
    }

    @Override
    public void cut() {
        if (hasName && !committed) {
            commit();
        }
    }
}
