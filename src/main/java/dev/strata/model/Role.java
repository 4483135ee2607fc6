package dev.strata.model;

import java.util.List;

/** What a tensor is for, with its names in both containers. */
enum Role {
    EMBEDDING(Scope.MODEL, "token_embd.weight", "embed_tokens.weight"),
    HEAD(Scope.TOP, "output.weight", "lm_head.weight"),
    FINAL_NORM(Scope.MODEL, "output_norm.weight", "norm.weight", Form.NORM),

    INPUT_NORM(Scope.LAYER, "attn_norm.weight", "input_layernorm.weight", Form.NORM),
    SECOND_NORM(
            Scope.LAYER,
            List.of("post_attention_norm.weight", "ffn_norm.weight"),
            List.of("post_attention_layernorm.weight"),
            Form.NORM),

    QUERY(Scope.LAYER, "attn_q.weight", "self_attn.q_proj.weight"),
    KEY(Scope.LAYER, "attn_k.weight", "self_attn.k_proj.weight"),
    VALUE(Scope.LAYER, "attn_v.weight", "self_attn.v_proj.weight"),
    ATTENTION_OUTPUT(Scope.LAYER, "attn_output.weight", "self_attn.o_proj.weight"),
    QUERY_BIAS(Scope.LAYER, "attn_q.bias", "self_attn.q_proj.bias"),
    KEY_BIAS(Scope.LAYER, "attn_k.bias", "self_attn.k_proj.bias"),
    VALUE_BIAS(Scope.LAYER, "attn_v.bias", "self_attn.v_proj.bias"),
    QUERY_NORM(Scope.LAYER, "attn_q_norm.weight", "self_attn.q_norm.weight", Form.NORM),
    KEY_NORM(Scope.LAYER, "attn_k_norm.weight", "self_attn.k_norm.weight", Form.NORM),

    DELTA_QKV(Scope.LAYER, "attn_qkv.weight", "linear_attn.in_proj_qkv.weight"),
    DELTA_Z(Scope.LAYER, "attn_gate.weight", "linear_attn.in_proj_z.weight"),
    DELTA_BETA(Scope.LAYER, "ssm_beta.weight", "linear_attn.in_proj_b.weight"),
    DELTA_ALPHA(Scope.LAYER, "ssm_alpha.weight", "linear_attn.in_proj_a.weight"),
    /** Queries, keys, values and gates of one key head after the other. */
    DELTA_QKVZ(Scope.LAYER, "ssm_in.weight", "linear_attn.in_proj_qkvz.weight"),
    /** Beta and alpha of one key head after the other. */
    DELTA_BETA_ALPHA(Scope.LAYER, "ssm_ba.weight", "linear_attn.in_proj_ba.weight"),
    DELTA_CONVOLUTION(Scope.LAYER, "ssm_conv1d.weight", "linear_attn.conv1d.weight"),
    DELTA_DECAY(Scope.LAYER, "ssm_a", "linear_attn.A_log", Form.DECAY),
    DELTA_TIME_BIAS(Scope.LAYER, "ssm_dt.bias", "linear_attn.dt_bias"),
    /** Used as it is in both containers, unlike all other norms. */
    DELTA_NORM(Scope.LAYER, "ssm_norm.weight", "linear_attn.norm.weight"),
    DELTA_OUTPUT(Scope.LAYER, "ssm_out.weight", "linear_attn.out_proj.weight"),

    ROUTER(
            Scope.LAYER,
            List.of("ffn_gate_inp.weight"),
            List.of("mlp.gate.weight", "block_sparse_moe.gate.weight"),
            Form.PLAIN),
    SHARED_GATE(Scope.LAYER, "ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight"),
    SHARED_UP(Scope.LAYER, "ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"),
    SHARED_DOWN(Scope.LAYER, "ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight"),
    SHARED_SCALAR(Scope.LAYER, "ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"),

    HYPER_ATTENTION_NORM(Scope.LAYER, "hc_attn_norm.weight", "attn_hyper_connection.hc_norm.weight", Form.NORM),
    HYPER_ATTENTION_DOWN(Scope.LAYER, "hc_attn_down.weight", "attn_hyper_connection.input_mix_weight_down.weight"),
    HYPER_ATTENTION_UP(Scope.LAYER, "hc_attn_up.weight", "attn_hyper_connection.input_mix_weight_up.weight"),
    HYPER_ATTENTION_INJECT(Scope.LAYER, "hc_attn_inject.weight", "attn_hyper_connection.block_inject_weight.weight"),
    HYPER_MLP_NORM(Scope.LAYER, "hc_ffn_norm.weight", "mlp_hyper_connection.hc_norm.weight", Form.NORM),
    HYPER_MLP_DOWN(Scope.LAYER, "hc_ffn_down.weight", "mlp_hyper_connection.input_mix_weight_down.weight"),
    HYPER_MLP_UP(Scope.LAYER, "hc_ffn_up.weight", "mlp_hyper_connection.input_mix_weight_up.weight"),
    HYPER_MLP_INJECT(Scope.LAYER, "hc_ffn_inject.weight", "mlp_hyper_connection.block_inject_weight.weight"),
    HYPER_FINAL_NORM(Scope.MODEL, "output_hc_norm.weight", "hyper_connection_mixer.hc_norm.weight", Form.NORM),
    HYPER_FINAL_DOWN(Scope.MODEL, "output_hc_down.weight", "hyper_connection_mixer.input_mix_weight_down.weight"),
    HYPER_FINAL_UP(Scope.MODEL, "output_hc_up.weight", "hyper_connection_mixer.input_mix_weight_up.weight"),

    INDEX_QUERY(Scope.LAYER, "indexer.q_proj.weight", "self_attn.indexer.q_proj.weight"),
    INDEX_KEY(Scope.LAYER, "indexer.k_proj.weight", "self_attn.indexer.k_proj.weight"),
    /** Rows of all index queries, then those of the index key. */
    INDEX_QUERY_KEY(Scope.LAYER, "indexer.qk_proj.weight", "self_attn.indexer.index_qk_proj.weight"),
    INDEX_QUERY_NORM(Scope.LAYER, "indexer.q_norm.weight", "self_attn.indexer.q_layernorm.weight", Form.NORM),
    INDEX_KEY_NORM(Scope.LAYER, "indexer.k_norm.weight", "self_attn.indexer.k_layernorm.weight", Form.NORM),

    NGRAM_KEY(Scope.LAYER, "ple_key.weight", "ple.key_proj.weight"),
    NGRAM_VALUE(Scope.LAYER, "ple_value.weight", "ple.value_proj.weight"),
    NGRAM_KEY_NORM(Scope.LAYER, "ple_norm_key.weight", "ple.norm_key.weight", Form.NORM),
    NGRAM_QUERY_NORM(Scope.LAYER, "ple_norm_query.weight", "ple.norm_query.weight", Form.NORM),
    NGRAM_CONVOLUTION_NORM(Scope.LAYER, "ple_norm_conv.weight", "ple.norm_conv.weight", Form.NORM),
    NGRAM_CONVOLUTION(Scope.LAYER, "ple_conv1d.weight", "ple.conv1d.weight"),

    /** Columns of the embedding, then those of the hidden state. */
    DRAFT_PROJECTION(Scope.DRAFT, "nextn.eh_proj.weight", "fc.weight"),
    DRAFT_EMBEDDING_PROJECTION(Scope.DRAFT, "nextn.e_proj.weight", "fc_embedding.weight"),
    DRAFT_HIDDEN_PROJECTION(Scope.DRAFT, "nextn.h_proj.weight", "fc_hidden.weight"),
    DRAFT_EMBEDDING_NORM(Scope.DRAFT, "nextn.enorm.weight", "pre_fc_norm_embedding.weight", Form.NORM),
    DRAFT_HIDDEN_NORM(Scope.DRAFT, "nextn.hnorm.weight", "pre_fc_norm_hidden.weight", Form.NORM),
    DRAFT_FINAL_NORM(Scope.DRAFT, "nextn.shared_head_norm.weight", "norm.weight", Form.NORM),
    DRAFT_EMBEDDING(Scope.DRAFT, "nextn.embed_tokens.weight", "embed_tokens.weight"),
    DRAFT_HEAD(Scope.DRAFT, "nextn.shared_head_head.weight", "shared_head.head.weight"),
    DRAFT_HYPER_NORM(Scope.DRAFT, "nextn.hc_head_norm.weight", "hyper_connection_mixer.hc_norm.weight", Form.NORM),
    DRAFT_HYPER_DOWN(Scope.DRAFT, "nextn.hc_head_down.weight", "hyper_connection_mixer.input_mix_weight_down.weight"),
    DRAFT_HYPER_UP(Scope.DRAFT, "nextn.hc_head_up.weight", "hyper_connection_mixer.input_mix_weight_up.weight");

    /** Which prefix the name takes. */
    enum Scope {
        /** None. */
        TOP,
        /** The model's in safetensors, none in GGUF. */
        MODEL,
        LAYER,
        /** {@code mtp.} in safetensors, the draft layer's in GGUF. */
        DRAFT
    }

    /** What safetensors hold instead of the value that the equations use; GGUF holds the value. */
    enum Form {
        PLAIN,
        /** w where families after Qwen3 use 1 + w. */
        NORM,
        /** A_log where the equations use -exp(A_log). */
        DECAY
    }

    private final Scope scope;
    private final List<String> gguf;
    private final List<String> huggingFace;
    private final Form form;

    Role(Scope scope, String gguf, String huggingFace) {
        this(scope, List.of(gguf), List.of(huggingFace), Form.PLAIN);
    }

    Role(Scope scope, String gguf, String huggingFace, Form form) {
        this(scope, List.of(gguf), List.of(huggingFace), form);
    }

    Role(Scope scope, List<String> gguf, List<String> huggingFace, Form form) {
        this.scope = scope;
        this.gguf = gguf;
        this.huggingFace = huggingFace;
        this.form = form;
    }

    Scope scope() {
        return scope;
    }

    Form form() {
        return form;
    }

    /** Names in GGUF files, without prefix, in the order to look for them. */
    List<String> gguf() {
        return gguf;
    }

    /** Names in safetensors, without prefix, in the order to look for them. */
    List<String> huggingFace() {
        return huggingFace;
    }
}
