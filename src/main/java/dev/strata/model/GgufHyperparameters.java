package dev.strata.model;

import dev.strata.device.AttentionShape;
import dev.strata.device.DeltaShape;
import dev.strata.device.IndexerShape;
import dev.strata.device.Rope;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import dev.strata.model.Hyperparameters.Experts;
import dev.strata.model.Hyperparameters.Hyper;
import dev.strata.model.Hyperparameters.Mixer;
import dev.strata.model.Hyperparameters.Ngram;
import dev.strata.model.ModelConfig.Architecture;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Hyperparameters from GGUF keys. Source of the keys: the GGUF specification and the converters' conventions. */
final class GgufHyperparameters {
    private static final int DEFAULT_ATTENTION_INTERVAL = 4;
    private static final double DEFAULT_ROPE_BASE = 10000;

    private final ModelFiles files;
    private final Metadata general;
    private final Architecture architecture;
    private final Family family;
    private final Metadata keys;
    private final int draftLayers;
    private final int layers;
    private final int hidden;
    private final float epsilon;

    GgufHyperparameters(ModelFiles files) {
        Path path = files.files().getFirst();
        this.files = files;
        this.general = new Metadata(path, "", files.metadata());
        String name = general.text("general.architecture");
        this.architecture = Arrays.stream(Architecture.values())
                .filter(candidate -> candidate.ggufName().equals(name))
                .findFirst()
                .orElseThrow(() -> new ModelFormatException(path + ": general.architecture " + name
                        + " is not supported; known are "
                        + Arrays.stream(Architecture.values())
                                .map(Architecture::ggufName)
                                .toList()));
        this.family = Family.of(architecture);
        this.keys = new Metadata(path, name + ".", files.metadata());
        int blocks = keys.positive("block_count");
        this.draftLayers = keys.integer("nextn_predict_layers", hasDraftTensors(blocks - 1) ? 1 : 0);
        this.layers = blocks - draftLayers;
        this.hidden = keys.positive("embedding_length");
        this.epsilon = (float) keys.real("attention.layer_norm_rms_epsilon");
    }

    /** Files that have a draft layer but not the key that says so. */
    private boolean hasDraftTensors(int block) {
        return files.find("blk." + block + ".nextn.eh_proj.weight").isPresent();
    }

    Hyperparameters read() {
        boolean sparse = architecture == Architecture.QWEN4_EXP;
        return new Hyperparameters(
                config(),
                mixers(),
                attention(),
                family.gatedAttention() ? delta() : null,
                experts(),
                sparse
                        ? new Hyper(keys.positive("hyper_connection.count"), keys.positive("hyper_connection.low_rank"))
                        : null,
                sparse ? indexer() : null,
                sparse && keys.has("ple.layers") ? ngram() : null);
    }

    private ModelConfig config() {
        TensorEntry embedding = files.find("token_embd.weight")
                .orElseThrow(
                        () -> new ModelFormatException(general.source() + ": tensor token_embd.weight is missing"));
        return new ModelConfig(
                architecture,
                general.text("general.name", String.valueOf(files.path().getFileName())),
                layers,
                hidden,
                Math.toIntExact(embedding.shape().getFirst()),
                keys.positive("context_length"),
                epsilon,
                endTokens(),
                draftLayers,
                files.tensors().stream()
                        .filter(tensor -> !tensor.name().startsWith("v.")
                                && !tensor.name().startsWith("mm."))
                        .mapToLong(TensorEntry::elements)
                        .sum());
    }

    private List<Integer> endTokens() {
        TreeSet<Integer> tokens = new TreeSet<>();
        for (String key : List.of("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id")) {
            if (general.has(key)) {
                tokens.add(general.integer(key));
            }
        }
        List<?> vocabulary = general.list("tokenizer.ggml.tokens");
        for (String turnEnd : List.of("<|im_end|>", "<|endoftext|>")) {
            int id = vocabulary.indexOf(turnEnd);
            if (id >= 0) {
                tokens.add(id);
            }
        }
        return List.copyOf(tokens);
    }

    private List<Mixer> mixers() {
        List<Mixer> mixers = new ArrayList<>();
        List<?> recurrent = keys.list("attention.recurrent_layers");
        List<?> kvHeads = keys.list("attention.head_count_kv");
        int interval = keys.positive("full_attention_interval", DEFAULT_ATTENTION_INTERVAL);
        for (int layer = 0; layer < layers + draftLayers; layer++) {
            boolean delta;
            if (!family.gatedAttention() || layer >= layers) {
                delta = false;
            } else if (layer < recurrent.size()) {
                delta = Boolean.TRUE.equals(recurrent.get(layer));
            } else if (layer < kvHeads.size()) {
                delta = Long.valueOf(0).equals(kvHeads.get(layer));
            } else {
                delta = (layer + 1) % interval != 0;
            }
            mixers.add(delta ? Mixer.DELTA_NET : Mixer.ATTENTION);
        }
        return mixers;
    }

    private AttentionShape attention() {
        int heads = keys.uniform("attention.head_count");
        int headSize = keys.positive("attention.key_length", hidden / heads);
        int valueSize = keys.positive("attention.value_length", headSize);
        if (valueSize != headSize) {
            throw keys.invalid("attention.value_length", valueSize, "has to equal attention.key_length " + headSize);
        }
        return new AttentionShape(
                heads,
                keys.uniform("attention.head_count_kv"),
                headSize,
                rope(headSize),
                family.gatedAttention(),
                epsilon);
    }

    private Rope rope(int headSize) {
        int width = keys.positive("rope.dimension_count", headSize);
        double base = keys.real("rope.freq_base", DEFAULT_ROPE_BASE);
        String scaling = keys.text("rope.scaling.type", "none");
        return switch (scaling) {
            case "none" -> Rope.plain(width, base);
            case "yarn" ->
                new Rope(
                        width,
                        base,
                        keys.real("rope.scaling.factor"),
                        keys.positive("rope.scaling.original_context_length"),
                        keys.real("rope.scaling.yarn_beta_fast", 32),
                        keys.real("rope.scaling.yarn_beta_slow", 1));
            default -> throw keys.invalid("rope.scaling.type", scaling, "has to be none or yarn");
        };
    }

    /** Files of this family have the sigmoid gate; Strata's own converter names the gate of those that differ. */
    private boolean sigmoidGate() {
        return architecture == Architecture.QWEN4_EXP
                && OutputGate.isSigmoid(keys, "ssm.output_gate", keys.text("ssm.output_gate", "sigmoid"));
    }

    private DeltaShape delta() {
        int valueHeads = keys.positive("ssm.time_step_rank");
        boolean tiled = architecture != Architecture.QWEN3_NEXT && keys.flag("ssm.v_head_reordered", true);
        return new DeltaShape(
                keys.positive("ssm.group_count"),
                valueHeads,
                keys.positive("ssm.state_size"),
                keys.positive("ssm.inner_size") / valueHeads,
                keys.positive("ssm.conv_kernel"),
                tiled,
                sigmoidGate(),
                epsilon);
    }

    private Experts experts() {
        int count = keys.positive("expert_count");
        int used = keys.positive("expert_used_count");
        if (used > count) {
            throw keys.invalid("expert_used_count", used, "cannot exceed expert_count " + count);
        }
        boolean named = architecture != Architecture.MIXTRAL && architecture != Architecture.OLMOE;
        boolean shared = family.gatedAttention() || architecture == Architecture.QWEN2_MOE;
        int function = keys.integer("expert_gating_func", 1);
        if (function != 1) {
            throw keys.invalid("expert_gating_func", function, "has to be 1 (softmax) in this family");
        }
        double scale = keys.real("expert_weights_scale", 1);
        return new Experts(
                count,
                used,
                keys.has("expert_feed_forward_length") || named
                        ? keys.uniform("expert_feed_forward_length")
                        : keys.uniform("feed_forward_length"),
                shared ? keys.uniform("expert_shared_feed_forward_length") : 0,
                keys.flag("expert_weights_norm", family.renormalise()),
                scale == 0 ? 1 : (float) scale);
    }

    private @Nullable IndexerShape indexer() {
        if (!keys.has("attention.indexer.head_count")) {
            return null;
        }
        int block = keys.uniform("attention.compress_ratios");
        int headSize = keys.positive("attention.indexer.key_length");
        Rope rope = rope(keys.positive("attention.key_length"));
        return new IndexerShape(
                keys.positive("attention.indexer.head_count"),
                headSize,
                rope,
                block,
                keys.positive("attention.indexer.top_k") / block,
                epsilon);
    }

    private Ngram ngram() {
        List<Long> at = keys.integers("ple.layers");
        if (at.size() != 1) {
            throw keys.invalid("ple.layers", at, "has to name one layer");
        }
        int size = keys.positive("ple.ngram_size");
        int perSize = keys.positive("ple.heads_per_ngram");
        return NgramCheck.check(
                general.source(),
                new Ngram(
                        Math.toIntExact(at.getFirst()),
                        size,
                        perSize,
                        keys.positive("ple.conv_kernel"),
                        keys.positive("embedding_length_per_layer_input"),
                        keys.integer("ple.eos_token_id"),
                        keys.integers("ple.layer_multipliers"),
                        keys.integers("ple.head_offsets"),
                        keys.integers("ple.head_vocab_sizes")),
                layers);
    }
}
