package dev.strata.model;

import dev.strata.model.ModelConfig.Architecture;

/**
 * What the files of a family do not say themselves.
 *
 * @param addedNorms safetensors hold w where the equations multiply by 1 + w
 * @param gatedAttention the query projection holds output gates too, and rope covers a quarter of a head unless the file says otherwise
 * @param renormalise whether chosen experts' weights are divided by their sum when the file does not say
 * @param adjacentPairs GGUF files hold query and key rows in the order of rope over adjacent pairs
 */
record Family(boolean addedNorms, boolean gatedAttention, boolean renormalise, boolean adjacentPairs) {
    static Family of(Architecture architecture) {
        return switch (architecture) {
            case QWEN3_MOE -> new Family(false, false, true, false);
            case QWEN3_NEXT, QWEN3_5_MOE, QWEN4_EXP -> new Family(true, true, true, false);
            case QWEN2_MOE, OLMOE -> new Family(false, false, false, false);
            case MIXTRAL -> new Family(false, false, true, true);
        };
    }
}
