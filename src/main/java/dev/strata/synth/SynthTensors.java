package dev.strata.synth;

import dev.strata.format.QuantType;
import dev.strata.format.TensorRole;
import dev.strata.format.convert.OutputTensor;
import dev.strata.format.convert.Rows;
import dev.strata.format.convert.TypePlan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongToDoubleFunction;

/**
 * The tensors of a shape under their GGUF names. Matrices keep the size of what passes through them, what is added to the residual is
 * small, so that activations and logits stay finite and in order in any number of layers.
 */
final class SynthTensors {
    /** Mean and deviation of the embedding: the common mean is what lets the router prefer some experts always. */
    private static final double EMBEDDING_MEAN = 0.5;

    private final SynthShape shape;
    private final SynthSpec spec;
    private final List<OutputTensor> tensors = new ArrayList<>();
    private final Map<String, BlockPool> pools = new HashMap<>();
    private final int hidden;
    private final int layers;

    private SynthTensors(SynthShape shape, SynthSpec spec) {
        this.shape = shape;
        this.spec = spec;
        this.hidden = shape.size("hidden_size");
        this.layers = shape.size("num_hidden_layers");
    }

    static List<OutputTensor> of(SynthShape shape, SynthSpec spec, long ngramRows) {
        SynthTensors tensors = new SynthTensors(shape, spec);
        tensors.global(ngramRows);
        for (int layer = 0; layer < tensors.layers; layer++) {
            tensors.block(layer);
        }
        return tensors.tensors;
    }

    private boolean wide() {
        return shape.has("hc_count");
    }

    private boolean attention(int layer) {
        return !shape.has("linear_num_key_heads") || (layer + 1) % 4 == 0;
    }

    private void global(long ngramRows) {
        int vocabulary = shape.size("vocab_size");
        matrix("token_embd.weight", vocabulary, hidden, EMBEDDING_MEAN, 1, spec.denseType());
        matrix("output.weight", vocabulary, hidden, 0, 2 / Math.sqrt(hidden), spec.denseType());
        if (wide()) {
            mixer("output_hc_");
            int width = shape.size("ple_embed_dim") / heads();
            matrix("per_layer_token_embd.weight", ngramRows, width, 0, 1, QuantType.IQ4_NL);
        } else {
            constant("output_norm.weight", hidden, 1);
        }
    }

    private int heads() {
        return shape.size("heads_per_ngram") * (shape.size("ngram_size") - 1);
    }

    private void block(int layer) {
        String to = "blk." + layer + ".";
        if (wide()) {
            mixer(to + "hc_attn_");
            inject(to + "hc_attn_inject.weight");
            mixer(to + "hc_ffn_");
            inject(to + "hc_ffn_inject.weight");
        } else {
            constant(to + "attn_norm.weight", hidden, 1);
            boolean plain = !shape.has("linear_num_key_heads");
            constant(to + (plain ? "ffn_norm.weight" : "post_attention_norm.weight"), hidden, 1);
        }
        if (attention(layer)) {
            attention(to);
        } else {
            delta(to);
        }
        if (wide() && layer == 1) {
            ngramProjections(to);
        }
        experts(to);
    }

    private void mixer(String to) {
        int wide = hidden * shape.size("hc_count");
        int rank = shape.size("hc_lowrank");
        constant(to + "norm.weight", wide, 1);
        dense(to + "down.weight", rank, wide, 1);
        dense(to + "up.weight", wide, rank, 1);
    }

    private void inject(String name) {
        dense(name, shape.size("hc_count"), hidden * shape.size("hc_count"), 1);
    }

    private void attention(String to) {
        int width = shape.size("head_dim");
        int queries = shape.size("num_attention_heads") * width;
        int keys = shape.size("num_key_value_heads") * width;
        boolean gated = shape.has("linear_num_key_heads");
        dense(to + "attn_q.weight", gated ? 2 * queries : queries, hidden, 1);
        dense(to + "attn_k.weight", keys, hidden, 1);
        dense(to + "attn_v.weight", keys, hidden, 1);
        dense(to + "attn_output.weight", hidden, queries, residual());
        constant(to + "attn_q_norm.weight", width, 1);
        constant(to + "attn_k_norm.weight", width, 1);
        if (wide()) {
            int indexWidth = shape.size("indexer_head_dim");
            dense(to + "indexer.q_proj.weight", shape.size("indexer_n_heads") * indexWidth, hidden, 1);
            dense(to + "indexer.k_proj.weight", indexWidth, hidden, 1);
            constant(to + "indexer.q_norm.weight", indexWidth, 1);
            constant(to + "indexer.k_norm.weight", indexWidth, 1);
        }
    }

    private void delta(String to) {
        int keyHeads = shape.size("linear_num_key_heads");
        int valueHeads = shape.size("linear_num_value_heads");
        int keys = keyHeads * shape.size("linear_key_head_dim");
        int values = valueHeads * shape.size("linear_value_head_dim");
        int kernel = shape.size("linear_conv_kernel_dim");
        dense(to + "attn_qkv.weight", 2L * keys + values, hidden, 1);
        dense(to + "attn_gate.weight", values, hidden, 1);
        if (shape.modelType().equals("qwen3_next")) {
            dense(to + "ssm_ba.weight", 2L * valueHeads, hidden, 1);
        } else {
            dense(to + "ssm_beta.weight", valueHeads, hidden, 1);
            dense(to + "ssm_alpha.weight", valueHeads, hidden, 1);
        }
        long seed = seed(to + "ssm");
        parameter(to + "ssm_conv1d.weight", 2L * keys + values, kernel, i -> Mix.normal(seed, i) * 0.5);
        parameter(to + "ssm_a", 1, valueHeads, i -> -1 - 7 * Mix.uniform(seed + 1, i));
        parameter(to + "ssm_dt.bias", 1, valueHeads, i -> -6 + 3 * Mix.uniform(seed + 2, i));
        constant(to + "ssm_norm.weight", shape.size("linear_value_head_dim"), 1);
        dense(to + "ssm_out.weight", hidden, values, residual());
    }

    private void ngramProjections(String to) {
        int wide = hidden * shape.size("hc_count");
        int embedded = shape.size("ple_embed_dim");
        dense(to + "ple_key.weight", wide, embedded, 1);
        dense(to + "ple_value.weight", hidden, embedded, residual());
        constant(to + "ple_norm_key.weight", wide, 1);
        constant(to + "ple_norm_query.weight", wide, 1);
        constant(to + "ple_norm_conv.weight", wide, 1);
        long seed = seed(to + "ple_conv1d");
        parameter(to + "ple_conv1d.weight", wide, shape.size("ple_conv_kernel_size"), i -> Mix.normal(seed, i) * 0.1);
    }

    private void experts(String to) {
        int experts = shape.size("num_experts");
        int intermediate = shape.size("moe_intermediate_size");
        router(to + "ffn_gate_inp.weight", experts);
        stacked(to + "ffn_gate_exps.weight", experts, intermediate, hidden, 2);
        stacked(to + "ffn_up_exps.weight", experts, intermediate, hidden, 2);
        stacked(to + "ffn_down_exps.weight", experts, hidden, intermediate, residual());
        if (shape.has("shared_expert_intermediate_size")) {
            int shared = shape.size("shared_expert_intermediate_size");
            dense(to + "ffn_gate_shexp.weight", shared, hidden, 1);
            dense(to + "ffn_up_shexp.weight", shared, hidden, 1);
            dense(to + "ffn_down_shexp.weight", hidden, shared, residual());
            long seed = seed(to + "gate_shexp");
            parameter(to + "ffn_gate_inp_shexp.weight", 1, hidden, i -> Mix.normal(seed, i) / Math.sqrt(hidden));
        }
    }

    /**
     * Router rows, with the favour of each expert along the direction that all tokens' embeddings have in common. Normalised rows have
     * about {@code mean / sqrt(mean^2 + 1)} of their length in it.
     */
    private void router(String name, int experts) {
        long seed = seed(name);
        double common = EMBEDDING_MEAN / Math.sqrt(EMBEDDING_MEAN * EMBEDDING_MEAN + 1);
        int[] ranks = ranks(experts, seed + 1);
        parameter(name, experts, hidden, i -> {
            double favour = -spec.skew() * Math.log(ranks[(int) (i / hidden)] + 1.0);
            return Mix.normal(seed, i) / Math.sqrt(hidden) + favour / common / hidden;
        });
    }

    private static int[] ranks(int count, long seed) {
        int[] ranks = new int[count];
        for (int i = 0; i < count; i++) {
            int other = (int) Long.remainderUnsigned(Mix.hash(seed, i), i + 1L);
            ranks[i] = ranks[other];
            ranks[other] = i;
        }
        return ranks;
    }

    /** How much of its input's size a branch adds to the residual. */
    private double residual() {
        return 1 / Math.sqrt(2.0 * layers);
    }

    private long seed(String name) {
        return Mix.hash(spec.seed(), name.hashCode());
    }

    private void dense(String name, long rows, int width, double gain) {
        matrix(name, rows, width, 0, gain / Math.sqrt(width), spec.denseType());
    }

    private void matrix(String name, long rows, int width, double mean, double deviation, QuantType wanted) {
        QuantType type = TypePlan.fitting(wanted, width);
        boolean factored = type == QuantType.NVFP4 && mean == 0;
        Rows made = rows(name, type, rows, width, mean, deviation, factored);
        tensors.add(new OutputTensor(name, List.of(rows, (long) width), made, TensorRole.of(name), false));
    }

    private void stacked(String name, long experts, long rows, int width, double gain) {
        QuantType type = TypePlan.fitting(spec.expertType(), width);
        Rows made = rows(name, type, experts * rows, width, 0, gain / Math.sqrt(width), type == QuantType.NVFP4);
        tensors.add(new OutputTensor(name, List.of(experts, rows, (long) width), made, TensorRole.EXPERTS, false));
    }

    private Rows rows(
            String name, QuantType type, long rows, int width, double mean, double deviation, boolean factored) {
        // Block scales of NVFP4 are coarse near zero: numbers of size one with the deviation as the tensor's factor.
        BlockPool pool = pools.computeIfAbsent(
                type + " " + BlockPool.unit(type, width) + " " + mean + " " + (factored ? 1 : deviation),
                key -> BlockPool.of(type, width, mean, factored ? 1 : deviation, spec.seed()));
        return new PoolRows(pool, type, rows, width, seed(name), factored ? (float) deviation : 1);
    }

    private void constant(String name, int width, float value) {
        parameter(name, 1, width, i -> value);
    }

    private void parameter(String name, long rows, int width, LongToDoubleFunction values) {
        Rows made = new Rows.Derived(rows, width, QuantType.F32, (row, target, at) -> {
            for (int i = 0; i < width; i++) {
                target[at + i] = (float) values.applyAsDouble(row * width + i);
            }
        });
        List<Long> sizes = rows == 1 ? List.of((long) width) : List.of(rows, (long) width);
        tensors.add(new OutputTensor(name, sizes, made, TensorRole.of(name), false));
    }
}
