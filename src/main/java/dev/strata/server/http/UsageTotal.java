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
        timings = spent;
    }

    public Usage total() {
        return new Usage(prompt, cached, completion, reasoning);
    }

    /** Of the answer that ended last. */
    public @Nullable Timings timings() {
        return timings;
    }
}
