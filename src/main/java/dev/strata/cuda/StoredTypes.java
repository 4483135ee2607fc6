package dev.strata.cuda;

import dev.strata.format.QuantType;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** The types that kernels read as stored, and the kernels made for each of them. */
final class StoredTypes {
    /** Few-row product kernels take this many rows at once. */
    static final int[] ROWS = {1, 2, 4, 8};

    /** Kernels of one type. */
    record Entry(Kernel[] products, Kernel embed, Kernel expand, Kernel gateUp, Kernel down) {}

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
                                kernels.get("embed_" + name),
                                kernels.get("expand_" + name),
                                kernels.get("gate_up_" + name),
                                kernels.get("down_" + name)));
            }
        }
    }

    /** Whether products read the type as it is stored; others are decoded when they are loaded. */
    static boolean isFast(QuantType type) {
        return switch (type) {
            case F32,
                    F16,
                    BF16,
                    Q8_0,
                    Q4_0,
                    Q4_K,
                    Q5_K,
                    Q6_K,
                    IQ4_NL,
                    IQ4_XS,
                    NVFP4,
                    MXFP4,
                    Q2_0,
                    IQ2_XS,
                    IQ3_XXS,
                    IQ3_S -> true;
            default -> false;
        };
    }

    Entry of(QuantType type) {
        Entry entry = entries.get(type);
        if (entry == null) {
            throw new IllegalArgumentException("no kernels read " + type);
        }
        return entry;
    }
}
