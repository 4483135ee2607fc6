package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Tensors of a Hugging Face model by their names below the text model's prefix; remembers which were used. */
final class HuggingFaceTensors {
    private static final List<String> PREFIXES =
            List.of("model.language_model.", "language_model.model.", "model.", "");

    /** Parts of multimodal checkpoints and saved buffers that a text model does without. */
    private static final List<String> IGNORED =
            List.of("model.visual.", "visual.", "vision_tower.", "model.vision_tower.", "multi_modal_projector.");

    private final ModelFiles files;
    private final String prefix;
    private final Set<String> used = new HashSet<>();

    HuggingFaceTensors(ModelFiles files) {
        this.files = files;
        this.prefix = PREFIXES.stream()
                .filter(candidate ->
                        files.find(candidate + "embed_tokens.weight").isPresent())
                .findFirst()
                .orElseThrow(() -> new ModelFormatException(files.path()
                        + ": has no tensor model.embed_tokens.weight or model.language_model.embed_tokens.weight"));
    }

    /** The full name of a tensor: below the prefix, or as given for those that stand beside it (lm_head, mtp). */
    String fullName(String name) {
        return name.startsWith("lm_head.") || name.startsWith("mtp.") ? name : prefix + name;
    }

    boolean has(String name) {
        return files.find(fullName(name)).isPresent()
                || files.find(fullName(name) + "_packed").isPresent();
    }

    Optional<TensorEntry> find(String name) {
        return files.find(fullName(name));
    }

    TensorEntry entry(String name) {
        return find(name)
                .orElseThrow(() -> new ModelFormatException(files.path() + ": has no tensor " + fullName(name)));
    }

    /** The rows of a tensor that has to be there, dequantized where its checkpoint is FP8 or NVFP4. */
    Rows rows(String name) {
        return PackedRows.of(files, fullName(name), used);
    }

    /** Checks and gives the rows of a matrix of this shape. */
    Rows rows(String name, long count, int width) {
        Rows rows = rows(name);
        if (rows.count() != count || rows.width() != width) {
            throw new ModelFormatException(files.path() + ": tensor " + fullName(name) + " is " + rows.count() + " x "
                    + rows.width() + " where config.json asks for " + count + " x " + width);
        }
        return rows;
    }

    /** Names of tensors that no part of the plan took. */
    List<String> unused() {
        List<String> names = new ArrayList<>();
        for (TensorEntry tensor : files.tensors()) {
            String name = tensor.name();
            if (!used.contains(name)
                    && IGNORED.stream().noneMatch(name::startsWith)
                    && !name.endsWith(".inv_freq")
                    && !name.endsWith("input_scale")
                    && !name.endsWith("input_global_scale")
                    && !name.endsWith(".k_scale")
                    && !name.endsWith(".v_scale")) {
                names.add(name);
            }
        }
        return names;
    }

    ModelFiles files() {
        return files;
    }

    void use(String name) {
        used.add(fullName(name));
    }
}
