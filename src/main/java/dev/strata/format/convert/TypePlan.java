package dev.strata.format.convert;

import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorRole;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Which type each tensor is written in: a default and overrides by role ({@code experts}, {@code experts-down}, {@code attention},
 * {@code embedding}, ... and {@code draft}, {@code draft-experts} for the draft layer's block) or by tensor name with {@code *}.
 * Parameters and routers stay float32 unless named.
 */
public final class TypePlan {
    private final Optional<QuantType> standard;
    private final Map<String, Optional<QuantType>> byRole;
    private final Map<String, Optional<QuantType>> byName;

    private TypePlan(
            Optional<QuantType> standard,
            Map<String, Optional<QuantType>> byRole,
            Map<String, Optional<QuantType>> byName) {
        this.standard = standard;
        this.byRole = byRole;
        this.byName = byName;
    }

    /**
     * Parses {@code TYPE[,ROLE=TYPE]...}; {@code keep} stands for the stored type.
     *
     * @throws IllegalArgumentException naming the part that is wrong and what is possible
     */
    public static TypePlan parse(String text) {
        Optional<QuantType> standard = Optional.empty();
        Map<String, Optional<QuantType>> byRole = new LinkedHashMap<>();
        Map<String, Optional<QuantType>> byName = new LinkedHashMap<>();
        for (String part : text.split(",", -1)) {
            int equals = part.indexOf('=');
            if (equals < 0) {
                standard = type(part.trim());
                continue;
            }
            String key = part.substring(0, equals).trim();
            Optional<QuantType> type = type(part.substring(equals + 1).trim());
            if (key.contains(".") || key.contains("*")) {
                byName.put(key, type);
            } else if (isRole(key)) {
                byRole.put(key, type);
            } else {
                throw new IllegalArgumentException("unknown role " + key + "; known are experts-down, draft-experts, "
                        + Arrays.stream(TensorRole.values())
                                .map(TensorRole::label)
                                .collect(Collectors.joining(", "))
                        + ", or a tensor name with *");
            }
        }
        return new TypePlan(standard, byRole, byName);
    }

    private static boolean isRole(String key) {
        return key.equals("experts-down")
                || key.equals("draft-experts")
                || TensorRole.byLabel(key).isPresent();
    }

    private static Optional<QuantType> type(String name) {
        if (name.equalsIgnoreCase("keep")) {
            return Optional.empty();
        }
        Optional<QuantType> type = Arrays.stream(QuantType.values())
                .filter(candidate -> candidate.name().equals(name.toUpperCase(Locale.ROOT)))
                .filter(Quants::canEncode)
                .findFirst();
        if (type.isEmpty()) {
            throw new IllegalArgumentException("type " + name + " cannot be written; these can: "
                    + Arrays.stream(QuantType.values())
                            .filter(Quants::canEncode)
                            .map(Enum::name)
                            .collect(Collectors.joining(", "))
                    + ", keep");
        }
        return type;
    }

    /** The type for a tensor, fallen back to one whose blocks divide its rows; {@code stored} is its present type. */
    public QuantType choose(OutputTensor tensor, QuantType stored) {
        QuantType type = wanted(tensor).orElse(stored);
        boolean table = tensor.role() == TensorRole.EMBEDDING || tensor.role() == TensorRole.NGRAM;
        // Rows of tables are read, not multiplied, and readers apply NVFP4's factor to products only.
        return fitting(
                table && type == QuantType.NVFP4 ? QuantType.IQ4_NL : type,
                tensor.rows().width());
    }

    private Optional<QuantType> wanted(OutputTensor tensor) {
        for (Map.Entry<String, Optional<QuantType>> override : byName.entrySet()) {
            String pattern = ("\\Q" + override.getKey() + "\\E").replace("*", "\\E.*\\Q");
            if (tensor.name().matches(pattern)) {
                return override.getValue();
            }
        }
        TensorRole role = tensor.role();
        if (role == TensorRole.PARAMETER || tensor.shape().size() == 1) {
            return byRole.getOrDefault(TensorRole.PARAMETER.label(), Optional.of(QuantType.F32));
        }
        if (role == TensorRole.ROUTER) {
            return byRole.getOrDefault(role.label(), Optional.of(QuantType.F32));
        }
        boolean experts = role == TensorRole.EXPERTS;
        String draft = experts ? "draft-experts" : TensorRole.DRAFT.label();
        if (tensor.draft() && byRole.containsKey(draft)) {
            return byRole.getOrDefault(draft, standard);
        }
        if (experts && tensor.name().contains("down_exps") && byRole.containsKey("experts-down")) {
            return byRole.getOrDefault("experts-down", standard);
        }
        return byRole.getOrDefault(role.label(), standard);
    }

    /** The nearest type of about the same size whose blocks divide rows of {@code width}. */
    public static QuantType fitting(QuantType type, int width) {
        QuantType fitting = type;
        while (!fitting.divides(width)) {
            fitting = switch (fitting) {
                case Q6_K -> QuantType.Q8_0;
                case Q5_K -> QuantType.Q5_1;
                case Q4_K -> QuantType.Q4_1;
                case IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, Q2_K, TQ1_0, TQ2_0, Q1_0 -> QuantType.Q2_0;
                case Q3_K, IQ3_XXS, IQ3_S, IQ4_XS, Q2_0, NVFP4 -> QuantType.IQ4_NL;
                default -> QuantType.F16;
            };
        }
        return fitting;
    }
}
