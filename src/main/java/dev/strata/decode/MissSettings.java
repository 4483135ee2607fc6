package dev.strata.decode;

import dev.strata.device.ExpertWorkers;
import java.util.OptionalDouble;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What happens with experts that a decode step needs and the cache does not have.
 *
 * @param pull whether the card copies them over the link once for a step; else its products read them in place
 * @param ahead whether experts that the next layer will probably miss are brought while a layer computes
 * @param linkShare part of them that the card takes, 0 to 1; empty: by measured rates
 * @param balanced whether the split by rates is refined while running
 * @param promptRows passes of short prompts with fewer rows are shared with the processor; 0: none
 * @param tailSkip rank from which on missed experts are left out, which changes results; 0: none are
 * @param workers starts the processor's threads; null: the card takes all
 */
public record MissSettings(
        boolean pull,
        boolean ahead,
        OptionalDouble linkShare,
        boolean balanced,
        int promptRows,
        int tailSkip,
        @Nullable Supplier<ExpertWorkers> workers) {
    /** The card takes all misses, and nothing is brought ahead. */
    public static final MissSettings CARD_ONLY =
            new MissSettings(true, false, OptionalDouble.empty(), false, 0, 0, null);

    /** Whether the link has a part in which it may bring experts ahead. */
    boolean bringsAhead() {
        return pull && ahead && linkShare.orElse(1) > 0;
    }
}
