package dev.strata.tokenizer;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;

/** Makes the tokenizer that belongs to a model's files. */
public final class TokenizerLoader {
    private TokenizerLoader() {}

    /**
     * Reads {@code tokenizer.ggml.*} of a GGUF file, or tokenizer.json of a safetensors folder.
     *
     * @throws ModelFormatException when there is no tokenizer, or one of a kind that is not supported
     */
    public static Tokenizer load(ModelFiles files) {
        return switch (files.container()) {
            case GGUF -> GgufTokenizer.read(files.metadata(), String.valueOf(files.path()));
            case SAFETENSORS ->
                JsonTokenizer.read(
                        files.companion("tokenizer.json")
                                .orElseThrow(
                                        () -> new ModelFormatException(
                                                files.path()
                                                        + " has no tokenizer.json. Copy it from the model's repository into the folder.")),
                        new JsonTokenizer.Companions(
                                files.companion("tokenizer_config.json"),
                                files.companion("generation_config.json"),
                                files.metadata()),
                        files.path() + "/tokenizer.json");
        };
    }
}
