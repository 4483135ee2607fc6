package dev.strata.engine;

import dev.strata.config.EngineOptions;
import dev.strata.device.Batch;
import dev.strata.memory.Bytes;
import dev.strata.model.Model;
import dev.strata.model.Model.StateSizes;

/**
 * What keys, values and states take, for the memory plan.
 *
 * @param runningBytes of the sequences that may run at once
 * @param cacheTokens tokens of earlier texts that stay
 * @param cacheStates recurrent states of earlier texts that stay
 * @param cacheBytes of both
 */
record StateMemory(long runningBytes, int cacheTokens, int cacheStates, long cacheBytes) {
    /** @param context tokens that one sequence may have */
    static StateMemory of(Model model, EngineOptions options, int context) {
        StateSizes sizes = model.stateSizes();
        int tokens = options.cacheTokens() < 0 ? context : options.cacheTokens();
        int pages = Math.min(model.pages(), Math.ceilDiv(tokens, Batch.PAGE));
        int states =
                EngineParts.isRecurrent(model.config().architecture()) ? EngineParts.checkpoints(model, options) : 0;
        return new StateMemory(
                (model.pages() - pages) * sizes.page() + (model.slots() - states) * sizes.slot(),
                tokens,
                states,
                pages * sizes.page() + states * sizes.slot());
    }

    /** One line for the log. */
    String line(int parallel) {
        return "memory plan: keys, values and states of " + parallel + (parallel == 1 ? " sequence " : " sequences ")
                + Bytes.text(runningBytes) + ", prefix cache " + Bytes.text(cacheBytes) + " for " + cacheTokens
                + " tokens and " + cacheStates + " states";
    }
}
