package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

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
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/** Hyperparameters from the config.json of a safetensors folder; multimodal models keep them in {@code text_config}. */
final class HuggingFaceHyperparameters {
    private static final int DEFAULT_ATTENTION_INTERVAL = 4;
    private static final Pattern END_TOKENS = Pattern.compile("\"eos_token_id\"\\s*:\\s*(\\d+|\\[[\\d\\s,]*\\])");
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    private final ModelFiles files;
    private final Metadata whole;
    private final Metadata keys;
    private final Metadata rope;
    private final Architecture architecture;
    private final Family family;
    private final int layers;
    private final int draftLayers;
    private final int hidden;
    private final float epsilon;

    HuggingFaceHyperparameters(ModelFiles files) {
        Path path = configFile(files.path());
        this.files = files;
        this.whole = new Metadata(path, "", files.metadata());
        this.keys = whole.has("text_config") ? whole.section("text_config") : whole;
        String type = keys.text("model_type").replaceFirst("_text$", "");
        this.architecture = Arrays.stream(Architecture.values())
                .filter(candidate -> candidate.modelType().equals(type))
                .findFirst()
                .orElseThrow(() -> new ModelFormatException(path + ": model_type " + type
                        + " is not supported; known are "
                        + Arrays.stream(Architecture.values())
                                .map(Architecture::modelType)
                                .toList()));
        this.family = Family.of(architecture);
        this.rope = keys.has("rope_parameters") ? keys.section("rope_parameters") : keys.section("rope_scaling");
        this.layers = keys.positive("num_hidden_layers");
        this.hidden = keys.positive("hidden_size");
        this.epsilon = (float) keys.real("rms_norm_eps");
        this.draftLayers =
                files.tensors().stream().anyMatch(tensor -> tensor.name().startsWith("mtp.")) ? 1 : 0;
    }

    private static Path configFile(Path given) {
        Path folder =
                given.toString().endsWith(".safetensors") || given.toString().endsWith(".json")
                        ? given.toAbsolutePath().getParent()
                        : given;
        return folder == null ? Path.of("config.json") : folder.resolve("config.json");
    }

    Hyperparameters read() {
        boolean sparse = architecture == Architecture.QWEN4_EXP;
        return new Hyperparameters(
                config(),
                mixers(),
                attention(),
                family.gatedAttention() ? delta() : null,
                experts(),
                sparse ? new Hyper(keys.positive("hc_count"), keys.positive("hc_lowrank")) : null,
                sparse ? indexer() : null,
                sparse && !keys.list("ple_layer_ids").isEmpty() ? ngram() : null);
    }

    private ModelConfig config() {
        return new ModelConfig(
                architecture,
                folderName(),
                layers,
                hidden,
                keys.positive("vocab_size"),
                keys.positive("max_position_embeddings"),
                epsilon,
                endTokens(),
                draftLayers,
                files.tensors().stream()
                        .filter(tensor -> !tensor.name().startsWith("model.visual."))
                        .mapToLong(TensorEntry::elements)
                        .sum());
    }

    private String folderName() {
        Path folder = keys.source().toAbsolutePath().getParent();
        return folder == null ? architecture.modelType() : String.valueOf(folder.getFileName());
    }

    /** The turn ends of generation_config.json and of the configuration itself. */
    private List<Integer> endTokens() {
        TreeSet<Integer> tokens = new TreeSet<>();
        for (Metadata source : List.of(keys, whole)) {
            if (source.has("eos_token_id")) {
                source.integers("eos_token_id").forEach(token -> tokens.add(Math.toIntExact(token)));
            }
        }
        Matcher list =
                END_TOKENS.matcher(files.companion("generation_config.json").orElse(""));
        if (list.find()) {
            Matcher number = NUMBER.matcher(list.group(1));
            while (number.find()) {
                tokens.add(Integer.parseInt(number.group()));
            }
        }
        return List.copyOf(tokens);
    }

    private List<Mixer> mixers() {
        List<?> types = keys.list("layer_types");
        if (!types.isEmpty() && types.size() < layers) {
            throw keys.invalid("layer_types", types, "has to name all " + layers + " layers");
        }
        int interval = keys.positive("full_attention_interval", DEFAULT_ATTENTION_INTERVAL);
        List<Mixer> mixers = new ArrayList<>();
        for (int layer = 0; layer < layers + draftLayers; layer++) {
            boolean delta;
            if (!family.gatedAttention() || layer >= layers) {
                delta = false;
            } else if (!types.isEmpty()) {
                delta = "linear_attention".equals(types.get(layer));
            } else {
                delta = (layer + 1) % interval != 0;
            }
            mixers.add(delta ? Mixer.DELTA_NET : Mixer.ATTENTION);
        }
        return mixers;
    }

    /** What these families may have and no forward pass here computes. */
    private void refuse(String key, boolean asked) {
        if (asked) {
            throw new ModelFormatException(keys.source() + ": key " + key + " asks for what is not supported: "
                    + keys.values().get(keys.prefix() + key));
        }
    }

    private AttentionShape attention() {
        refuse("clip_qkv", keys.has("clip_qkv"));
        refuse("use_sliding_window", keys.flag("use_sliding_window", false));
        refuse("sliding_window", architecture == Architecture.MIXTRAL && keys.has("sliding_window"));
        int heads = keys.positive("num_attention_heads");
        int headSize = keys.positive("head_dim", hidden / heads);
        return new AttentionShape(
                heads,
                keys.positive("num_key_value_heads", heads),
                headSize,
                rope(headSize),
                family.gatedAttention(),
                epsilon);
    }

    private Rope rope(int headSize) {
        double partial = rope.has("partial_rotary_factor")
                ? rope.real("partial_rotary_factor")
                : keys.real("partial_rotary_factor", family.gatedAttention() ? 0.25 : 1);
        int width = (int) (headSize * partial);
        double base = rope.has("rope_theta") ? rope.real("rope_theta") : keys.real("rope_theta");
        String type = rope.text("rope_type", rope.text("type", "default"));
        return switch (type) {
            case "default" -> Rope.plain(width, base);
            case "yarn" ->
                new Rope(
                        width,
                        base,
                        rope.real("factor"),
                        rope.positive("original_max_position_embeddings", keys.positive("max_position_embeddings")),
                        rope.real("beta_fast", 32),
                        rope.real("beta_slow", 1));
            default -> throw rope.invalid("rope_type", type, "has to be default or yarn");
        };
    }

    private DeltaShape delta() {
        boolean sigmoid = architecture == Architecture.QWEN4_EXP
                && OutputGate.isSigmoid(keys, "output_gate_type", keys.text("output_gate_type", "sigmoid"));
        return new DeltaShape(
                keys.positive("linear_num_key_heads"),
                keys.positive("linear_num_value_heads"),
                keys.positive("linear_key_head_dim"),
                keys.positive("linear_value_head_dim"),
                keys.positive("linear_conv_kernel_dim"),
                false,
                sigmoid,
                epsilon);
    }

    private Experts experts() {
        if (keys.integer("decoder_sparse_step", 1) != 1
                || !keys.list("mlp_only_layers").isEmpty()) {
            throw new ModelFormatException(
                    keys.source()
                            + ": decoder_sparse_step and mlp_only_layers ask for dense layers, which this family does not have here");
        }
        int count = keys.has("num_local_experts") && !keys.has("num_experts")
                ? keys.positive("num_local_experts")
                : keys.positive("num_experts");
        boolean named = architecture != Architecture.MIXTRAL && architecture != Architecture.OLMOE;
        boolean shared = family.gatedAttention() || architecture == Architecture.QWEN2_MOE;
        int used = keys.positive("num_experts_per_tok");
        if (used > count) {
            throw keys.invalid("num_experts_per_tok", used, "cannot exceed num_experts " + count);
        }
        return new Experts(
                count,
                used,
                keys.has("moe_intermediate_size") || named
                        ? keys.positive("moe_intermediate_size")
                        : keys.positive("intermediate_size"),
                shared ? keys.positive("shared_expert_intermediate_size") : 0,
                keys.flag("norm_topk_prob", family.renormalise()),
                1);
    }

    private IndexerShape indexer() {
        int block = keys.positive("indexer_compress_ratio");
        Rope shared = attention().rope();
        return new IndexerShape(
                keys.positive("indexer_n_heads"),
                keys.positive("indexer_head_dim"),
                shared,
                block,
                keys.positive("indexer_budget") / block,
                epsilon);
    }

    private Ngram ngram() {
        List<Long> at = keys.integers("ple_layer_ids");
        if (at.size() != 1) {
            throw keys.invalid("ple_layer_ids", at, "has to name one layer");
        }
        // One-based in config.json, zero-based everywhere here.
        int layer = Math.toIntExact(at.getFirst()) - 1;
        int size = keys.positive("ngram_size");
        int perSize = keys.positive("heads_per_ngram");
        String place = HuggingFaceNames.basePrefix(files) + "layers." + layer + ".ple.ple_embedding.";
        return NgramCheck.check(
                keys.source(),
                new Ngram(
                        layer,
                        size,
                        perSize,
                        keys.positive("ple_conv_kernel_size"),
                        keys.positive("ple_embed_dim") / (perSize * (size - 1)),
                        Math.toIntExact((keys.has("eos_token_id") ? keys : whole)
                                .integers("eos_token_id")
                                .getFirst()),
                        longs(place + "layer_multipliers"),
                        longs(place + "ngram_heads_offsets"),
                        longs(place + "ngram_heads_vocab_sizes")),
                layers);
    }

    private List<Long> longs(String name) {
        TensorEntry tensor = files.find(name)
                .orElseThrow(() -> new ModelFormatException(
                        files.path() + ": tensor " + name + " is missing (the hash constants of the n-gram layer)"));
        MemorySegment data = files.data(tensor);
        return LongStream.range(0, tensor.bytes() / Long.BYTES)
                .map(i -> data.get(JAVA_LONG_UNALIGNED, i * Long.BYTES))
                .boxed()
                .toList();
    }
}
