package dev.strata.synth;

import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import java.nio.file.Path;

/** Opens what a model is named by: files, or a specification of a synthetic one. */
public final class ModelSource {
    private ModelSource() {}

    /** Whether the name is a specification ({@code synth:...}) rather than a path. */
    public static boolean isSynthetic(Path model) {
        return SynthSpec.matches(model.toString());
    }

    /**
     * Opens the model.
     *
     * @throws ModelFormatException naming the file, or the part of the specification, that is wrong
     */
    public static ModelFiles open(Path model) {
        if (!isSynthetic(model)) {
            return ModelFileOpener.open(model);
        }
        try {
            return SynthModelFiles.open(model.toString());
        } catch (IllegalArgumentException exception) {
            throw new ModelFormatException(model + ": " + exception.getMessage(), exception);
        }
    }
}
