package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufValueType;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Plans the conversion of a Hugging Face folder of safetensors. */
final class HuggingFacePlan {
    private final Family family;
    private final HuggingFaceConfig config;
    private final HuggingFaceTensors source;
    private final ConversionPlan.Builder plan;
    private final int layers;
    private final int draftLayers;

    private HuggingFacePlan(ModelFiles files) {
        Path folder = Files.isDirectory(files.path())
                ? files.path()
                : files.path().toAbsolutePath().normalize().getParent();
        this.config = HuggingFaceConfig.of(folder == null ? files.path() : folder, files.metadata());
        this.family = Family.of(config);
        this.source = new HuggingFaceTensors(files);
        this.layers = config.require("num_hidden_layers");
        this.draftLayers = source.has("mtp.layers.0.mlp.gate.weight") ? 1 : 0;
        this.plan = new ConversionPlan.Builder(layers);
    }

    /**
     * Plans names, transforms and metadata.
     *
     * @throws ModelFormatException when the family is unknown or a tensor or key is missing
     */
    static ConversionPlan of(ModelFiles files) {
        HuggingFacePlan plan = new HuggingFacePlan(files);
        plan.plan.metadata().putAll(new HuggingFaceMetadata(plan.family, plan.config, plan.draftLayers).entries());
        plan.plan.metadata().putAll(TokenizerMetadata.of(files));
        plan.global();
        boolean[] attention = plan.family.hasRecurrentLayers() ? plan.config.attentionLayers(plan.layers) : null;
        for (int layer = 0; layer < plan.layers; layer++) {
            plan.block("layers." + layer + ".", layer, attention == null || attention[layer]);
        }
        if (plan.draftLayers > 0) {
            plan.draft();
        }
        return plan.plan.build(plan.source.unused());
    }

    private BlockTensors block(String from, int index) {
        return new BlockTensors(family, config, source, plan, from, "blk." + index + ".");
    }

    private void global() {
        BlockTensors global = new BlockTensors(family, config, source, plan, "", "");
        int hidden = config.require("hidden_size");
        plan.matrix("token_embd.weight", source.rows("embed_tokens.weight", config.require("vocab_size"), hidden));
        if (source.has("lm_head.weight")) {
            plan.matrix("output.weight", source.rows("lm_head.weight"));
        }
        if (family.gatedResidual()) {
            global.mixer("hyper_connection_mixer.", "output_hc_");
        } else {
            global.norm("norm.weight", "output_norm.weight");
        }
    }

    private void block(String from, int index, boolean attention) {
        BlockTensors block = block(from, index);
        if (family.gatedResidual()) {
            block.gatedResiduals();
        } else {
            block.norm("input_layernorm.weight", "attn_norm.weight");
            block.norm(
                    "post_attention_layernorm.weight",
                    family == Family.QWEN3_MOE ? "ffn_norm.weight" : "post_attention_norm.weight");
        }
        if (attention) {
            block.attention();
        } else {
            block.delta();
        }
        if (source.has(from + "ple.key_proj.weight")) {
            block.ngramProjections();
            ngramTable(from + "ple.ple_embedding.");
        }
        block.experts();
    }

    private void ngramTable(String from) {
        List<Rows> shards = new ArrayList<>();
        for (int i = 0; source.has(from + "ngram_embedding.shard_" + i + ".weight"); i++) {
            shards.add(source.rows(from + "ngram_embedding.shard_" + i + ".weight"));
        }
        if (shards.isEmpty()) {
            shards.add(source.rows(from + "ngram_embedding.weight"));
        }
        Rows table = Rows.stacked(shards);
        plan.matrix("per_layer_token_embd.weight", table);
        String prefix = family.architecture() + ".";
        plan.metadata().put(prefix + "embedding_length_per_layer_input", GgufValue.uint32(table.width()));
        plan.metadata().put(prefix + "ple.layer_multipliers", integers(from + "layer_multipliers"));
        plan.metadata().put(prefix + "ple.head_offsets", integers(from + "ngram_heads_offsets"));
        plan.metadata().put(prefix + "ple.head_vocab_sizes", integers(from + "ngram_heads_vocab_sizes"));
    }

    private GgufValue integers(String name) {
        TensorEntry tensor = source.entry(name);
        source.use(name);
        if (!tensor.dtype().equals("I64")) {
            throw new ModelFormatException(
                    tensor.file() + ": tensor " + tensor.name() + " is " + tensor.dtype() + ", I64 is needed");
        }
        long[] values =
                source.files().data(tensor).toArray(ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN));
        List<Long> list = new ArrayList<>();
        for (long value : values) {
            list.add(value);
        }
        return GgufValue.array(GgufValueType.UINT64, list);
    }

    private void draft() {
        BlockTensors outer = block("mtp.", layers);
        block("mtp.layers.0.", layers, true);
        if (family.gatedResidual()) {
            plan.matrix(
                    "blk." + layers + ".nextn.eh_proj.weight",
                    Rows.beside(source.rows("mtp.fc_embedding.weight"), source.rows("mtp.fc_hidden.weight")));
            outer.mixer("hyper_connection_mixer.", "nextn.hc_head_");
        } else {
            outer.matrix("fc.weight", "nextn.eh_proj.weight");
            outer.norm("norm.weight", "nextn.shared_head_norm.weight");
        }
        outer.norm("pre_fc_norm_embedding.weight", "nextn.enorm.weight");
        outer.norm("pre_fc_norm_hidden.weight", "nextn.hnorm.weight");
    }
}
