package dev.strata.server.http;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.TokenLogprob;
import java.util.ArrayList;
import java.util.List;

/** One answer as far as it has come. */
public final class Answer {
    /** A tool call of the answer; the arguments are JSON text, cut off when the answer was. */
    public static final class Call {
        private final String id;
        private final String name;
        private final StringBuilder arguments = new StringBuilder();

        Call(String id, String name) {
            this.id = id;
            this.name = name;
        }

        public String id() {
            return id;
        }

        public String name() {
            return name;
        }

        public String arguments() {
            return arguments.toString();
        }
    }

    private final StringBuilder content = new StringBuilder();
    private final StringBuilder reasoning = new StringBuilder();
    private final List<TokenLogprob> logprobs = new ArrayList<>();
    private final List<Call> calls = new ArrayList<>();
    private FinishReason reason = FinishReason.STOP;

    void add(Delta delta) {
        switch (delta) {
            case Delta.Content piece -> {
                content.append(piece.text());
                logprobs.addAll(piece.logprobs());
            }
            case Delta.Reasoning piece -> reasoning.append(piece.text());
            case Delta.ToolCallStart start -> calls.add(new Call(start.id(), start.name()));
            case Delta.ToolCallArguments piece ->
                calls.get(piece.index()).arguments.append(piece.fragment());
            case Delta.Finished finished -> reason = finished.reason();
            case Delta.Progress _, Delta.Failed _ -> {}
        }
    }

    public String content() {
        return content.toString();
    }

    public String reasoning() {
        return reasoning.toString();
    }

    /** Of the content's tokens; empty unless asked for. */
    public List<TokenLogprob> logprobs() {
        return logprobs;
    }

    public List<Call> calls() {
        return calls;
    }

    public FinishReason reason() {
        return reason;
    }
}
