package dev.strata.engine;

import dev.strata.api.Delta;
import dev.strata.api.TokenLogprob;
import dev.strata.sampling.Logprobs;
import dev.strata.sampling.Sampler;
import dev.strata.sampling.SamplerScratch;
import dev.strata.tokenizer.IncrementalDecoder;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Gives a prompt back in front of its answer, with the log probabilities of its tokens: what completions call echo. */
final class PromptEcho {
    private final TextSide text;
    private final SamplerScratch scratch;
    private final Outcomes outcomes;

    PromptEcho(TextSide text, SamplerScratch scratch, Outcomes outcomes) {
        this.text = text;
        this.scratch = scratch;
        this.outcomes = outcomes;
    }

    /** Whether logits of all prompt tokens are needed. */
    boolean wanted(Sequence sequence) {
        return wanted(sequence.request) && sequence.generated() == 0;
    }

    static boolean wanted(ActiveRequest request) {
        return request.request.echo() && request.request.topLogprobs() >= 0;
    }

    /** Gives back a prompt without log probabilities, before it is read. */
    static void plain(Sequence sequence, TextSide text, Outcomes outcomes) {
        if (sequence.request.request.echo() && !wanted(sequence.request)) {
            outcomes.deliver(
                    sequence,
                    new Delta.Content(sequence.choice, text.detokenize(sequence.request.prompt.tokens()), List.of()));
        }
    }

    /** Gives back the tokens that the part's logits tell of; the prompt's first token has no probability (NaN). */
    void rows(Part part, MemorySegment logits) {
        Sequence sequence = part.sequence();
        int top = sequence.request.request.topLogprobs();
        int[] tokens = sequence.tokens();
        IncrementalDecoder decoder = sequence.echoed;
        StringBuilder said = new StringBuilder();
        List<TokenLogprob> logprobs = new ArrayList<>();
        if (part.past() == 0) {
            said.append(decoder.push(text.bytes(tokens[0])));
            logprobs.add(named(tokens[0], Float.NaN, List.of()));
        }
        int last = Math.min(part.rows(), sequence.promptLength - 1 - part.past());
        for (int row = 0; row < last; row++) {
            int token = tokens[part.past() + row + 1];
            Logprobs measured = Sampler.measure(scratch, logits, row, token, top);
            List<TokenLogprob> best = new ArrayList<>();
            for (int i = 0; i < measured.topTokens().length; i++) {
                best.add(named(measured.topTokens()[i], measured.topLogprobs()[i], List.of()));
            }
            said.append(decoder.push(text.bytes(token)));
            logprobs.add(named(token, measured.logprob(), best));
        }
        if (part.past() + part.rows() >= sequence.promptLength) {
            said.append(decoder.replaceRest());
        }
        outcomes.deliver(sequence, new Delta.Content(sequence.choice, said.toString(), logprobs));
    }

    private TokenLogprob named(int token, float logprob, List<TokenLogprob> top) {
        byte[] bytes = text.bytes(token);
        return new TokenLogprob(token, new String(bytes, StandardCharsets.UTF_8), bytes, logprob, top);
    }
}
