package dev.strata.model;

import dev.strata.format.ModelFiles;

/** Prefixes of tensor names in safetensors folders. */
final class HuggingFaceNames {
    private HuggingFaceNames() {}

    /** {@code model.language_model.} in multimodal checkpoints, else {@code model.}. */
    static String basePrefix(ModelFiles files) {
        return files.find("model.language_model.embed_tokens.weight").isPresent() ? "model.language_model." : "model.";
    }
}
