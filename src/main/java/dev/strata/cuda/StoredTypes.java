package dev.strata.cuda;

import dev.strata.format.QuantType;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The types that kernels read as stored, and the kernels made for each of them. */
final class StoredTypes {
    /** Few-row product kernels take this many rows at once. */
    static final int[] ROWS = {1, 2, 4, 8};

    /** Kernels of one type. */
    record Entry(Kernel[] products, Kernel embed, Kernel expand, Kernel gateUp, Kernel down) {}

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

    StoredTypes(Kernels kernels) {
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
                                kernels.get("down_" + name)));
            }
        }
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

    Entry of(QuantType type) {
        Entry entry = entries.get(type);
        if (entry == null) {
            throw new IllegalArgumentException("no kernels read " + type);
        }
        return entry;
    }
}
