package dev.strata.decode;

import dev.strata.prefill.ChunkSetting;
import dev.strata.prefill.PrefillPlan;
import java.util.function.IntToLongFunction;

/**
 * What prompts borrow from the cache beside the ring.
 *
 * @param chunk rows of a pass that were asked for
 * @param bytes activations and workspaces of a pass, by its rows
 * @param keptSlots slots that no prompt may take
 */
public record PromptLoan(ChunkSetting chunk, IntToLongFunction bytes, int keptSlots) {
    public PromptLoan(ChunkSetting chunk, IntToLongFunction bytes) {
        this(chunk, bytes, PrefillPlan.KEPT_SLOTS);
    }
}
