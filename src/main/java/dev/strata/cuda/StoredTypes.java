package dev.strata.cuda;

import dev.strata.format.QuantType;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The types that kernels read as stored, and the kernels made for each of them. */
final class StoredTypes {
    /** Few-row product kernels take this many rows at once. */
    static final int[] ROWS = {1, 2, 4, 8};

    /** The types that short prompts read as stored: EACH_PROMPT_TYPE in gemm_stored.cu. */
    private static final Set<QuantType> PROMPT_TYPES = EnumSet.of(
            QuantType.BF16,
            QuantType.Q8_0,
            QuantType.Q4_0,
            QuantType.IQ4_NL,
            QuantType.MXFP4,
            QuantType.NVFP4,
            QuantType.Q4_K,
            QuantType.Q5_K,
            QuantType.Q6_K,
            QuantType.IQ4_XS,
            QuantType.IQ3_XXS,
            QuantType.IQ3_S);

    /** Kernels of a type for the products of short prompts: of routed experts, and of dense matrices. */
    record Prompt(Kernel group, Kernel dense) {}

    /** Kernels of one type; {@code prompt} is null where it is expanded for all prompts. */
    record Entry(
            Kernel[] products,
            Kernel embed,
            Kernel expand,
            Kernel gateUp,
            Kernel down,
            @Nullable Prompt prompt) {}

    /** The types that kernels read, in the order of EACH_STORED_TYPE in types.cuh. */
    private static final List<QuantType> CODES = List.of(
            QuantType.F32,
            QuantType.F16,
            QuantType.BF16,
            QuantType.Q8_0,
            QuantType.Q4_0,
            QuantType.IQ4_NL,
            QuantType.MXFP4,
            QuantType.NVFP4,
            QuantType.Q4_K,
            QuantType.Q5_K,
            QuantType.Q6_K,
            QuantType.IQ4_XS,
            QuantType.Q2_0,
            QuantType.IQ2_XS,
            QuantType.IQ3_XXS,
            QuantType.IQ3_S,
            QuantType.Q4_1,
            QuantType.Q5_0,
            QuantType.Q5_1);

    private final Map<QuantType, Entry> entries = new EnumMap<>(QuantType.class);

    /** @param sharedBytes the most shared memory that a block may ask for */
    StoredTypes(Kernels kernels, int sharedBytes) {
        for (QuantType type : QuantType.values()) {
            if (isFast(type)) {
                String name = type.name().toLowerCase(Locale.ROOT);
                Kernel[] products = new Kernel[ROWS.length];
                for (int i = 0; i < ROWS.length; i++) {
                    products[i] = kernels.get("product_" + name + "_" + ROWS[i]);
                }
                entries.put(
                        type,
                        new Entry(
                                products,
                                kernels.chained("embed_" + name, 0),
                                kernels.get("expand_" + name),
                                kernels.get("gate_up_" + name),
                                kernels.get("down_" + name),
                                prompt(kernels, type, name, sharedBytes)));
            }
        }
    }

    private static @Nullable Prompt prompt(Kernels kernels, QuantType type, String name, int sharedBytes) {
        StoredPiece piece = StoredPiece.of(type);
        int group = StoredGroups.sharedBytes(piece);
        int dense = StoredProducts.sharedBytes(piece);
        return PROMPT_TYPES.contains(type) && Math.max(group, dense) <= sharedBytes
                ? new Prompt(kernels.get("stored_group_" + name, group), kernels.get("stored_dense_" + name, dense))
                : null;
    }

    /** Whether products read the type as it is stored; others are decoded when they are loaded. */
    static boolean isFast(QuantType type) {
        return CODES.contains(type);
    }

    /** The number by which kernels tell the type at run time. */
    int code(QuantType type) {
        int code = CODES.indexOf(type);
        if (code < 0) {
            throw new IllegalArgumentException("no kernels read " + type);
        }
        return code;
    }

    /** Whether the products of short prompts read the type as it is stored. */
    boolean readByPrompts(QuantType type) {
        Entry entry = entries.get(type);
        return entry != null && entry.prompt() != null;
    }

    /** @throws IllegalArgumentException unless {@link #readByPrompts} */
    Prompt prompt(QuantType type) {
        Prompt prompt = of(type).prompt();
        if (prompt == null) {
            throw new IllegalArgumentException("short prompts do not read " + type);
        }
        return prompt;
    }

    Entry of(QuantType type) {
        Entry entry = entries.get(type);
        if (entry == null) {
            throw new IllegalArgumentException("no kernels read " + type);
        }
        return entry;
    }
}
