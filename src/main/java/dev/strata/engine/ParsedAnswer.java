package dev.strata.engine;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.TokenLogprob;
import dev.strata.chat.OutputEvent;
import dev.strata.chat.OutputParser;
import dev.strata.chat.OutputSyntax;
import dev.strata.chat.StopMatcher;
import dev.strata.sampling.Logprobs;
import dev.strata.sampling.TokenConstraint;
import dev.strata.tokenizer.IncrementalDecoder;
import dev.strata.tokenizer.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** An answer whose bytes become characters, are watched for stop strings and split into reasoning, text and tool calls. */
final class ParsedAnswer implements TextSide.Answer {
    private final Tokenizer tokenizer;
    private final int choice;
    private final @Nullable TokenConstraint constraint;
    private final IncrementalDecoder decoder = new IncrementalDecoder();
    private final StopMatcher stops;
    private final OutputParser parser;
    /** Log probabilities of tokens whose text is still held back. */
    private final List<TokenLogprob> untold = new ArrayList<>();

    private int reasoningTokens;

    ParsedAnswer(
            Tokenizer tokenizer,
            OutputSyntax syntax,
            List<String> stop,
            int choice,
            @Nullable TokenConstraint constraint) {
        this.tokenizer = tokenizer;
        this.choice = choice;
        this.constraint = constraint;
        stops = new StopMatcher(stop);
        parser = new OutputParser(syntax, ParsedAnswer::newCallId);
    }

    private static String newCallId() {
        byte[] random = new byte[12];
        ThreadLocalRandom.current().nextBytes(random);
        return "call_" + HexFormat.of().formatHex(random);
    }

    @Override
    public @Nullable TokenConstraint constraint() {
        return constraint;
    }

    @Override
    public boolean token(int id, @Nullable Logprobs logprobs, List<Delta> out) {
        boolean reasoning = parser.inReasoning();
        if (logprobs != null) {
            untold.add(named(logprobs));
        }
        if (!tokenizer.isControl(id)) {
            tell(parser.push(stops.push(decoder.push(tokenizer.bytes(id)))), out);
        }
        if (reasoning || parser.inReasoning()) {
            reasoningTokens++;
        }
        return stops.matched() || parser.callsComplete();
    }

    @Override
    public FinishReason end(FinishReason reason, List<Delta> out) {
        boolean cut = reason != FinishReason.STOP;
        if (cut) {
            decoder.dropRest();
        } else {
            tell(parser.push(stops.push(decoder.replaceRest())), out);
        }
        if (!stops.matched()) {
            tell(parser.push(stops.flush()), out);
        }
        tell(parser.finish(cut), out);
        if (!untold.isEmpty()) {
            out.add(new Delta.Content(choice, "", takeUntold()));
        }
        return reason == FinishReason.STOP && parser.calls() > 0 ? FinishReason.TOOL_CALLS : reason;
    }

    @Override
    public @Nullable String stopString() {
        return stops.match();
    }

    @Override
    public int reasoningTokens() {
        return reasoningTokens;
    }

    private void tell(List<OutputEvent> events, List<Delta> out) {
        for (OutputEvent event : events) {
            out.add(
                    switch (event) {
                        case OutputEvent.Content content -> new Delta.Content(choice, content.text(), takeUntold());
                        case OutputEvent.Reasoning text -> new Delta.Reasoning(choice, text.text(), takeUntold());
                        case OutputEvent.CallStart call ->
                            new Delta.ToolCallStart(choice, call.index(), call.id(), call.name());
                        case OutputEvent.CallArguments more ->
                            new Delta.ToolCallArguments(choice, more.index(), more.fragment());
                    });
        }
    }

    private List<TokenLogprob> takeUntold() {
        if (untold.isEmpty()) {
            return List.of();
        }
        List<TokenLogprob> told = List.copyOf(untold);
        untold.clear();
        return told;
    }

    private TokenLogprob named(Logprobs logprobs) {
        List<TokenLogprob> top = new ArrayList<>(logprobs.topTokens().length);
        for (int i = 0; i < logprobs.topTokens().length; i++) {
            top.add(named(logprobs.topTokens()[i], logprobs.topLogprobs()[i], List.of()));
        }
        return named(logprobs.token(), logprobs.logprob(), top);
    }

    private TokenLogprob named(int token, float logprob, List<TokenLogprob> top) {
        byte[] bytes = tokenizer.bytes(token);
        return new TokenLogprob(token, new String(bytes, StandardCharsets.UTF_8), bytes, logprob, top);
    }
}
