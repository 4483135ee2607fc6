package dev.strata.server.http;

import dev.strata.api.Timings;
import dev.strata.api.Usage;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** Token counts of all answers of one HTTP request: a prompt counts once however many answers it gets. */
public final class UsageTotal {
    private int prompt;
    private int cached;
    private int completion;
    private int reasoning;
    private final BitSet counted = new BitSet();
    private @Nullable Timings timings;

    public void add(int promptIndex, Usage usage, Timings spent) {
        if (!counted.get(promptIndex)) {
            counted.set(promptIndex);
            prompt += usage.promptTokens();
            cached += usage.cachedTokens();
        }
        completion += usage.completionTokens();
        reasoning += usage.reasoningTokens();
        Timings before = timings;
        timings = before == null ? spent : together(before, spent);
    }

    /** Answers are made at the same time, and all but one of a prompt find it read. */
    private static Timings together(Timings one, Timings other) {
        Timings read = one.promptTokens() >= other.promptTokens() ? one : other;
        return new Timings(
                read.cachedTokens(),
                read.promptTokens(),
                read.promptMillis(),
                one.predictedTokens() + other.predictedTokens(),
                Math.max(one.predictedMillis(), other.predictedMillis()),
                one.draftTokens() + other.draftTokens(),
                one.acceptedDraftTokens() + other.acceptedDraftTokens());
    }

    public Usage total() {
        return new Usage(prompt, cached, completion, reasoning);
    }

    /** Of all answers: the longest reading of a prompt, all that was generated, and the longest time that it took. */
    public @Nullable Timings timings() {
        return timings;
    }
}
