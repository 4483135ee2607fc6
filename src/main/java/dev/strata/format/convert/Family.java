package dev.strata.format.convert;

import dev.strata.format.ModelFormatException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Architecture families that can be converted: their names and what their GGUF files do differently. */
enum Family {
    QWEN3_MOE(List.of("qwen3_moe"), "qwen3moe", false, false),
    QWEN3_NEXT(List.of("qwen3_next"), "qwen3next", true, false),
    QWEN3_5_MOE(List.of("qwen3_5_moe_text", "qwen3_5_moe"), "qwen35moe", true, true),
    QWEN4_EXP(List.of("qwen4_exp_text", "qwen4_exp"), "qwen4exp", true, true);

    private final List<String> modelTypes;
    private final String architecture;
    private final boolean normsFromOne;
    private final boolean tiledHeads;

    Family(List<String> modelTypes, String architecture, boolean normsFromOne, boolean tiledHeads) {
        this.modelTypes = modelTypes;
        this.architecture = architecture;
        this.normsFromOne = normsFromOne;
        this.tiledHeads = tiledHeads;
    }

    static Family of(HuggingFaceConfig config) {
        String type = config.string("model_type").orElse("(none)");
        return Arrays.stream(values())
                .filter(family -> family.modelTypes.contains(type))
                .findFirst()
                .orElseThrow(() -> new ModelFormatException(config.folder().resolve("config.json") + ": model_type "
                        + type + " cannot be converted; these can: "
                        + Arrays.stream(values())
                                .map(family -> family.modelTypes.getLast())
                                .collect(Collectors.joining(", "))));
    }

    /** {@code general.architecture} and prefix of the keys. */
    String architecture() {
        return architecture;
    }

    /** Whether stored norm weights are differences from one, which GGUF files contain in full. */
    boolean normsFromOne() {
        return normsFromOne;
    }

    /** Whether value heads are stored interleaved, so that head j reads key head j mod K. */
    boolean tiledHeads() {
        return tiledHeads;
    }

    /** Whether the residual is several streams with gates instead of norms before each block. */
    boolean gatedResidual() {
        return this == QWEN4_EXP;
    }

    boolean hasRecurrentLayers() {
        return this != QWEN3_MOE;
    }
}
