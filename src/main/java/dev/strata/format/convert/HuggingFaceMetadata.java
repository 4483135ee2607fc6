package dev.strata.format.convert;

import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufValueType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Metadata keys of a model from its config.json. */
final class HuggingFaceMetadata {
    private final Family family;
    private final HuggingFaceConfig config;
    private final int draftLayers;
    private final Map<String, GgufValue> entries = new LinkedHashMap<>();

    HuggingFaceMetadata(Family family, HuggingFaceConfig config, int draftLayers) {
        this.family = family;
        this.config = config;
        this.draftLayers = draftLayers;
    }

    Map<String, GgufValue> entries() {
        entries.put("general.architecture", GgufValue.string(family.architecture()));
        entries.put("general.type", GgufValue.string("model"));
        entries.put(
                "general.name", GgufValue.string(String.valueOf(config.folder().getFileName())));
        entries.put("general.quantization_version", GgufValue.uint32(2));
        trunk();
        experts();
        if (family.hasRecurrentLayers()) {
            recurrent();
        }
        if (family.gatedResidual()) {
            gatedResidual();
        }
        return entries;
    }

    private void trunk() {
        number("block_count", config.require("num_hidden_layers") + draftLayers);
        if (draftLayers > 0) {
            number("nextn_predict_layers", draftLayers);
        }
        copy("max_position_embeddings", "context_length");
        copy("hidden_size", "embedding_length");
        copyIfThere("intermediate_size", "feed_forward_length");
        copy("vocab_size", "vocab_size");
        copy("num_attention_heads", "attention.head_count");
        copy("num_key_value_heads", "attention.head_count_kv");
        int headWidth = config.number("head_dim").isPresent()
                ? config.require("head_dim")
                : config.require("hidden_size") / config.require("num_attention_heads");
        number("attention.key_length", headWidth);
        number("attention.value_length", headWidth);
        put("attention.layer_norm_rms_epsilon", GgufValue.float32(config.requireReal("rms_norm_eps")));
        put("rope.freq_base", GgufValue.float32(config.requireReal("rope_theta")));
        number(
                "rope.dimension_count",
                Math.round(headWidth * config.real("partial_rotary_factor").orElse(1.0)));
        List<Object> sections = new ArrayList<>();
        if (config.rope().get("mrope_section") instanceof List<?> list && !list.isEmpty()) {
            sections.addAll(list);
            sections.add(0L);
            put("rope.dimension_sections", GgufValue.array(GgufValueType.INT32, sections));
        }
        ropeScaling();
    }

    private void ropeScaling() {
        Object type = config.rope().getOrDefault("rope_type", config.rope().get("type"));
        if ("yarn".equals(type)) {
            put("rope.scaling.type", GgufValue.string("yarn"));
            config.real("factor").ifPresent(factor -> put("rope.scaling.factor", GgufValue.float32(factor)));
            if (config.rope().get("original_max_position_embeddings") instanceof Long original) {
                number("rope.scaling.original_context_length", original);
            }
            config.real("beta_fast").ifPresent(beta -> put("rope.scaling.yarn_beta_fast", GgufValue.float32(beta)));
            config.real("beta_slow").ifPresent(beta -> put("rope.scaling.yarn_beta_slow", GgufValue.float32(beta)));
        }
    }

    private void experts() {
        number(
                "expert_count",
                config.number("num_experts").isPresent()
                        ? config.require("num_experts")
                        : config.require("num_local_experts"));
        copy("num_experts_per_tok", "expert_used_count");
        copy("moe_intermediate_size", "expert_feed_forward_length");
        copyIfThere("shared_expert_intermediate_size", "expert_shared_feed_forward_length");
        if (config.text().getOrDefault("norm_topk_prob", true) instanceof Boolean normalised) {
            put("expert_weights_norm", GgufValue.bool(normalised));
        }
        number("expert_gating_func", 1);
    }

    private void recurrent() {
        int valueHeads = config.require("linear_num_value_heads");
        copy("linear_conv_kernel_dim", "ssm.conv_kernel");
        copy("linear_key_head_dim", "ssm.state_size");
        copy("linear_num_key_heads", "ssm.group_count");
        number("ssm.time_step_rank", valueHeads);
        number("ssm.inner_size", (long) valueHeads * config.require("linear_value_head_dim"));
        number(
                "full_attention_interval",
                config.number("full_attention_interval").orElse(4L));
        List<Boolean> recurrent = new ArrayList<>();
        boolean[] attention = config.attentionLayers(config.require("num_hidden_layers"));
        boolean regular = true;
        for (int i = 0; i < attention.length; i++) {
            recurrent.add(!attention[i]);
            regular &= attention[i] == ((i + 1) % 4 == 0);
        }
        if (!regular) {
            for (int i = 0; i < draftLayers; i++) {
                recurrent.add(false);
            }
            put("attention.recurrent_layers", GgufValue.array(GgufValueType.BOOL, recurrent));
        }
    }

    private void gatedResidual() {
        // GGUF files of this family have the sigmoid gate; the key is Strata's own, for models that differ.
        config.string("output_gate_type")
                .filter(gate -> !gate.equals("sigmoid"))
                .ifPresent(gate -> put("ssm.output_gate", GgufValue.string(gate)));
        copy("hc_count", "hyper_connection.count");
        copy("hc_lowrank", "hyper_connection.low_rank");
        copy("indexer_n_heads", "attention.indexer.head_count");
        copy("indexer_head_dim", "attention.indexer.key_length");
        copy("indexer_budget", "attention.indexer.top_k");
        long ratio = config.require("indexer_compress_ratio");
        List<Long> ratios = new ArrayList<>();
        for (boolean attention : config.attentionLayers(config.require("num_hidden_layers"))) {
            ratios.add(attention ? ratio : 0);
        }
        for (int i = 0; i < draftLayers; i++) {
            ratios.add(0L);
        }
        put("attention.compress_ratios", GgufValue.array(GgufValueType.INT32, ratios));
        List<Long> ngramLayers = HuggingFaceConfig.ids(config.text(), "ple_layer_ids").stream()
                .map(layer -> layer - 1)
                .toList();
        if (!ngramLayers.isEmpty()) {
            put("ple.layers", GgufValue.array(GgufValueType.INT32, ngramLayers));
            copy("ngram_size", "ple.ngram_size");
            copy("heads_per_ngram", "ple.heads_per_ngram");
            copy("ple_conv_kernel_size", "ple.conv_kernel");
            List<Long> ends = HuggingFaceConfig.ids(config.text(), "eos_token_id");
            if (!ends.isEmpty()) {
                number("ple.eos_token_id", ends.getFirst());
            }
            config.number("image_token_id").ifPresent(id -> number("ple.image_token_id", id));
        }
    }

    private void copy(String key, String result) {
        number(result, config.require(key));
    }

    private void copyIfThere(String key, String result) {
        config.number(key).filter(value -> value > 0).ifPresent(value -> number(result, value));
    }

    private void number(String key, long value) {
        put(key, GgufValue.uint32(value));
    }

    private void put(String key, GgufValue value) {
        entries.put(family.architecture() + "." + key, value);
    }
}
