package dev.strata.engine;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.SamplingOptions;
import dev.strata.sampling.Logprobs;
import dev.strata.sampling.Sampler;
import dev.strata.sampling.SamplerScratch;
import dev.strata.sampling.SamplingSettings;
import dev.strata.sampling.TokenConstraint;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Sequences that are only read. */
final class Unanswered implements TextSide.Answer {
    private Unanswered() {}

    static Sequence sequence(TextSide.Prepared prompt, SamplerScratch scratch) {
        GenerateRequest request = new GenerateRequest(
                new Prompt.Tokens(List.of()),
                SamplingOptions.DEFAULTS,
                new OutputFormat.Text(),
                0,
                List.of(),
                -1,
                1,
                false,
                false,
                false,
                null);
        ActiveRequest active = new ActiveRequest(request, prompt, delta -> {}, Long.MAX_VALUE / 4, () -> {});
        Sampler sampler = new Sampler(SamplingSettings.GREEDY, scratch, null, -1);
        return new Sequence(active, 0, new Unanswered(), sampler, 0);
    }

    @Override
    public @Nullable TokenConstraint constraint() {
        return null;
    }

    @Override
    public boolean token(int id, @Nullable Logprobs logprobs, List<Delta> out) {
        return false;
    }

    @Override
    public FinishReason end(FinishReason reason, List<Delta> out) {
        return reason;
    }

    @Override
    public int reasoningTokens() {
        return 0;
    }
}
