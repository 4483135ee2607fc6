package dev.strata.model;

import dev.strata.format.ModelFiles;

/** Reads what a model is from its files. */
public final class ModelConfigReader {
    private ModelConfigReader() {}

    /**
     * The model's description.
     *
     * @throws dev.strata.format.ModelFormatException naming the file and key when the architecture is unknown or a key is missing
     */
    public static ModelConfig read(ModelFiles files) {
        return hyperparameters(files).config();
    }

    /** Everything that the forward pass is built from. */
    public static Hyperparameters hyperparameters(ModelFiles files) {
        return switch (files.container()) {
            case GGUF -> new GgufHyperparameters(files).read();
            case SAFETENSORS -> new HuggingFaceHyperparameters(files).read();
        };
    }
}
