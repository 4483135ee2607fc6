package dev.strata.format;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a tensor is for, by its GGUF name: the parts that sizes are summed over and types are chosen for. */
public enum TensorRole {
    EMBEDDING,
    OUTPUT,
    EXPERTS,
    SHARED,
    ROUTER,
    ATTENTION,
    INDEXER,
    RECURRENT,
    RESIDUAL,
    NGRAM,
    NGRAM_PROJECTION,
    DRAFT,
    PARAMETER,
    OTHER;

    private static final Pattern BLOCK = Pattern.compile("blk\\.(\\d+)\\.(.+)");

    /** Name for people and for options: lower case with hyphens. */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    public static Optional<TensorRole> byLabel(String label) {
        return Arrays.stream(values())
                .filter(role -> role.label().equals(label))
                .findFirst();
    }

    /** The block that a tensor belongs to, or empty for a global one. */
    public static Optional<Integer> block(String name) {
        Matcher matcher = BLOCK.matcher(name);
        return matcher.matches() && matcher.group(1).length() < 9
                ? Optional.of(Integer.parseInt(matcher.group(1)))
                : Optional.empty();
    }

    /** The role of a tensor; small vectors (norms, biases, convolutions, scales) are parameters wherever they stand. */
    public static TensorRole of(String name) {
        Matcher matcher = BLOCK.matcher(name);
        return matcher.matches() ? inBlock(matcher.group(2)) : global(name);
    }

    /** The role of a tensor by its Hugging Face name, with or without a prefix. */
    public static TensorRole ofHuggingFace(String name) {
        if (name.contains("embed_tokens.")) {
            return EMBEDDING;
        }
        if (name.startsWith("lm_head.")) {
            return OUTPUT;
        }
        if (name.contains(".ngram_embedding.")) {
            return NGRAM;
        }
        if (name.contains("mlp.experts.") || name.contains("moe.experts.")) {
            return EXPERTS;
        }
        if (name.contains("norm.weight")
                || name.contains("norm_")
                || name.contains("conv1d")
                || name.endsWith("A_log")
                || name.endsWith("dt_bias")
                || name.contains("shared_expert_gate")
                || name.contains(".ple_embedding.")) {
            return PARAMETER;
        }
        if (name.contains("shared_expert.")) {
            return SHARED;
        }
        if (name.contains("mlp.gate.")) {
            return ROUTER;
        }
        if (name.contains(".indexer.")) {
            return INDEXER;
        }
        if (name.contains("self_attn.")) {
            return ATTENTION;
        }
        if (name.contains("linear_attn.")) {
            return RECURRENT;
        }
        if (name.contains("hyper_connection")) {
            return RESIDUAL;
        }
        if (name.contains(".ple.")) {
            return NGRAM_PROJECTION;
        }
        return name.startsWith("mtp.fc") ? DRAFT : OTHER;
    }

    private static TensorRole global(String name) {
        if (name.startsWith("token_embd.")) {
            return EMBEDDING;
        }
        if (name.startsWith("per_layer_token_embd.")) {
            return NGRAM;
        }
        if (isParameter(name)) {
            return PARAMETER;
        }
        if (name.startsWith("output_hc_")) {
            return RESIDUAL;
        }
        return name.startsWith("output.") ? OUTPUT : OTHER;
    }

    private static TensorRole inBlock(String part) {
        if (isParameter(part)) {
            return PARAMETER;
        }
        if (part.startsWith("ffn_gate_inp.")) {
            return ROUTER;
        }
        if (part.contains("_exps.")) {
            return EXPERTS;
        }
        if (part.contains("_shexp.")) {
            return SHARED;
        }
        if (part.startsWith("attn_qkv.") || part.startsWith("attn_gate.") || part.startsWith("ssm_")) {
            return RECURRENT;
        }
        if (part.startsWith("attn_")) {
            return ATTENTION;
        }
        if (part.startsWith("indexer.")) {
            return INDEXER;
        }
        if (part.startsWith("hc_")) {
            return RESIDUAL;
        }
        if (part.startsWith("ple_")) {
            return NGRAM_PROJECTION;
        }
        return part.startsWith("nextn.") ? DRAFT : OTHER;
    }

    private static boolean isParameter(String part) {
        return part.endsWith("norm.weight")
                || part.endsWith(".bias")
                || part.endsWith("scale")
                || part.endsWith("ssm_a")
                || part.contains("conv1d")
                || part.startsWith("ple_norm_")
                || part.startsWith("ffn_gate_inp_shexp.");
    }
}
