package dev.strata.model;

import java.util.List;

/**
 * Everything the forward passes need to know of a model, from its metadata alone.
 *
 * @param layers trunk layers, draft layers not counted
 * @param vocabulary rows of the output head
 * @param draftLayers MTP layers, 0 or 1
 * @param endTokens tokens that end a turn
 */
public record ModelConfig(
        Architecture architecture,
        String name,
        int layers,
        int hidden,
        int vocabulary,
        int trainedContext,
        float normEpsilon,
        List<Integer> endTokens,
        int draftLayers,
        long parameters) {
    /** The families with a forward pass. */
    public enum Architecture {
        QWEN3_MOE("qwen3_moe", "qwen3moe"),
        QWEN3_NEXT("qwen3_next", "qwen3next"),
        QWEN3_5_MOE("qwen3_5_moe", "qwen35moe"),
        QWEN4_EXP("qwen4_exp", "qwen4exp"),
        QWEN2_MOE("qwen2_moe", "qwen2moe"),
        OLMOE("olmoe", "olmoe"),
        MIXTRAL("mixtral", "llama");

        private final String modelType;
        private final String ggufName;

        Architecture(String modelType, String ggufName) {
            this.modelType = modelType;
            this.ggufName = ggufName;
        }

        /** {@code model_type} of config.json (text part). */
        public String modelType() {
            return modelType;
        }

        /** {@code general.architecture} of GGUF files. */
        public String ggufName() {
            return ggufName;
        }
    }
}
