package dev.strata.format.convert;

import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.LongUnaryOperator;

/** The tensors of one block, renamed and transformed. {@code from} and {@code to} are the prefixes of the block in source and result. */
record BlockTensors(
        Family family,
        HuggingFaceConfig config,
        HuggingFaceTensors source,
        ConversionPlan.Builder plan,
        String from,
        String to) {

    void norm(String name, String result) {
        plan.vector(to + result, fromOne(source.rows(from + name)));
    }

    private Rows fromOne(Rows rows) {
        return family.normsFromOne() ? rows.mapped(weight -> weight + 1) : rows;
    }

    void matrix(String name, String result) {
        plan.matrix(to + result, source.rows(from + name));
    }

    void attention() {
        matrix("self_attn.q_proj.weight", "attn_q.weight");
        matrix("self_attn.k_proj.weight", "attn_k.weight");
        matrix("self_attn.v_proj.weight", "attn_v.weight");
        matrix("self_attn.o_proj.weight", "attn_output.weight");
        norm("self_attn.q_norm.weight", "attn_q_norm.weight");
        norm("self_attn.k_norm.weight", "attn_k_norm.weight");
        if (source.has(from + "self_attn.indexer.index_qk_proj.weight")) {
            int queryRows = config.require("indexer_n_heads") * config.require("indexer_head_dim");
            Rows both = source.rows(from + "self_attn.indexer.index_qk_proj.weight");
            plan.matrix(to + "indexer.q_proj.weight", both.slice(0, queryRows));
            plan.matrix(to + "indexer.k_proj.weight", both.slice(queryRows, both.count() - queryRows));
            norm("self_attn.indexer.q_layernorm.weight", "indexer.q_norm.weight");
            norm("self_attn.indexer.k_layernorm.weight", "indexer.k_norm.weight");
        }
    }

    void delta() {
        int keyHeads = config.require("linear_num_key_heads");
        int valueHeads = config.require("linear_num_value_heads");
        int keyWidth = config.require("linear_key_head_dim");
        int valueWidth = config.require("linear_value_head_dim");
        HeadOrder order = new HeadOrder(keyHeads, valueHeads, family.tiledHeads());
        int hidden = config.require("hidden_size");
        long keyRows = 2L * keyHeads * keyWidth;
        long valueRows = (long) valueHeads * valueWidth;
        String linear = from + "linear_attn.";
        if (source.has(linear + "in_proj_qkvz.weight")) {
            Rows grouped = source.rows(linear + "in_proj_qkvz.weight", keyRows + 2 * valueRows, hidden);
            HeadGroups groups = new HeadGroups(keyHeads, valueHeads / keyHeads, keyWidth, valueWidth);
            plan.matrix(to + "attn_qkv.weight", grouped.picked(keyRows + valueRows, groups::queryKeyValueRow));
            plan.matrix(to + "attn_gate.weight", grouped.picked(valueRows, groups::gateRow));
            plan.matrix(to + "ssm_ba.weight", source.rows(linear + "in_proj_ba.weight", 2L * valueHeads, hidden));
        } else {
            Rows all = source.rows(linear + "in_proj_qkv.weight", keyRows + valueRows, hidden);
            plan.matrix(to + "attn_qkv.weight", all.picked(all.count(), order.rowsAfter(keyRows, valueWidth)));
            Rows gate = source.rows(linear + "in_proj_z.weight", valueRows, hidden);
            plan.matrix(to + "attn_gate.weight", gate.picked(valueRows, order.rowsAfter(0, valueWidth)));
            plan.matrix(to + "ssm_beta.weight", perHead(linear + "in_proj_b.weight", order, valueHeads, hidden));
            plan.matrix(to + "ssm_alpha.weight", perHead(linear + "in_proj_a.weight", order, valueHeads, hidden));
        }
        Rows convolution = source.rows(linear + "conv1d.weight");
        plan.matrix(
                to + "ssm_conv1d.weight",
                convolution.picked(convolution.count(), order.rowsAfter(keyRows, valueWidth)));
        IntUnaryOperator head = order::source;
        plan.vector(to + "ssm_a", source.rows(linear + "A_log").columns(head).mapped(a -> -Math.exp(a)));
        plan.vector(to + "ssm_dt.bias", source.rows(linear + "dt_bias").columns(head));
        plan.vector(to + "ssm_norm.weight", source.rows(linear + "norm.weight"));
        Rows out = source.rows(linear + "out_proj.weight", hidden, Math.toIntExact(valueRows));
        plan.matrix(to + "ssm_out.weight", order.tiled() ? out.columns(order.columns(valueWidth)) : out);
    }

    private Rows perHead(String name, HeadOrder order, int valueHeads, int hidden) {
        return source.rows(name, valueHeads, hidden).picked(valueHeads, order.rowsAfter(0, 1));
    }

    /** Router, experts (packed or one by one) and the shared expert. */
    void experts() {
        int experts = config.number("num_experts").isPresent()
                ? config.require("num_experts")
                : config.require("num_local_experts");
        matrix("mlp.gate.weight", "ffn_gate_inp.weight");
        if (source.has(from + "mlp.experts.gate_up_proj")) {
            packedExperts(experts);
        } else {
            for (String part : List.of("gate", "up", "down")) {
                List<Rows> parts = new ArrayList<>(experts);
                for (int expert = 0; expert < experts; expert++) {
                    parts.add(source.rows(from + "mlp.experts." + expert + "." + part + "_proj.weight"));
                }
                plan.experts(to + "ffn_" + part + "_exps.weight", Rows.stacked(parts), experts);
            }
        }
        if (source.has(from + "mlp.shared_expert.gate_proj.weight")) {
            matrix("mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight");
            matrix("mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight");
            matrix("mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight");
            plan.vector(to + "ffn_gate_inp_shexp.weight", source.rows(from + "mlp.shared_expert_gate.weight"));
        }
    }

    private void packedExperts(int experts) {
        TensorEntry packed = source.entry(from + "mlp.experts.gate_up_proj");
        if (packed.shape().size() != 3
                || packed.shape().getFirst() != experts
                || packed.shape().get(1) % 2 != 0) {
            throw new ModelFormatException(packed.file() + ": tensor " + packed.name() + " has the shape "
                    + packed.shape() + " where [" + experts + ", 2 x intermediate, hidden] is needed");
        }
        long rows = packed.shape().get(1) / 2;
        Rows both = source.rows(from + "mlp.experts.gate_up_proj");
        LongUnaryOperator gate = row -> row / rows * 2 * rows + row % rows;
        plan.experts(to + "ffn_gate_exps.weight", both.picked(experts * rows, gate), experts);
        plan.experts(
                to + "ffn_up_exps.weight", both.picked(experts * rows, row -> gate.applyAsLong(row) + rows), experts);
        plan.experts(to + "ffn_down_exps.weight", source.rows(from + "mlp.experts.down_proj"), experts);
    }

    /** The two gated-residual modules of a block. */
    void gatedResiduals() {
        mixer("attn_hyper_connection.", "hc_attn_");
        matrix("attn_hyper_connection.block_inject_weight.weight", "hc_attn_inject.weight");
        mixer("mlp_hyper_connection.", "hc_ffn_");
        matrix("mlp_hyper_connection.block_inject_weight.weight", "hc_ffn_inject.weight");
    }

    void mixer(String module, String result) {
        norm(module + "hc_norm.weight", result + "norm.weight");
        matrix(module + "input_mix_weight_down.weight", result + "down.weight");
        matrix(module + "input_mix_weight_up.weight", result + "up.weight");
    }

    /** Projections, norms and convolution of the hashed n-gram embedding. */
    void ngramProjections() {
        matrix("ple.key_proj.weight", "ple_key.weight");
        matrix("ple.value_proj.weight", "ple_value.weight");
        norm("ple.norm_key.weight", "ple_norm_key.weight");
        norm("ple.norm_query.weight", "ple_norm_query.weight");
        norm("ple.norm_conv.weight", "ple_norm_conv.weight");
        matrix("ple.conv1d.weight", "ple_conv1d.weight");
    }
}
