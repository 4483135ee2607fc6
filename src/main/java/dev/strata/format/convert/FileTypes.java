package dev.strata.format.convert;

import dev.strata.format.QuantType;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** {@code general.file_type}: llama.cpp's number for the type that most weights of a file have. Informative only. */
final class FileTypes {
    private static final Map<QuantType, Integer> NUMBERS = new EnumMap<>(QuantType.class);

    static {
        NUMBERS.put(QuantType.F32, 0);
        NUMBERS.put(QuantType.F16, 1);
        NUMBERS.put(QuantType.Q4_0, 2);
        NUMBERS.put(QuantType.Q4_1, 3);
        NUMBERS.put(QuantType.Q8_0, 7);
        NUMBERS.put(QuantType.Q5_0, 8);
        NUMBERS.put(QuantType.Q5_1, 9);
        NUMBERS.put(QuantType.Q2_K, 10);
        NUMBERS.put(QuantType.Q3_K, 12);
        NUMBERS.put(QuantType.Q4_K, 15);
        NUMBERS.put(QuantType.Q5_K, 17);
        NUMBERS.put(QuantType.Q6_K, 18);
        NUMBERS.put(QuantType.IQ2_XS, 20);
        NUMBERS.put(QuantType.IQ3_XXS, 23);
        NUMBERS.put(QuantType.IQ4_NL, 25);
        NUMBERS.put(QuantType.IQ3_S, 26);
        NUMBERS.put(QuantType.IQ4_XS, 30);
        NUMBERS.put(QuantType.BF16, 32);
    }

    private FileTypes() {}

    static Optional<Integer> of(List<Conversion.Item> items) {
        Map<QuantType, Long> elements = new EnumMap<>(QuantType.class);
        for (Conversion.Item item : items) {
            elements.merge(item.target().type(), item.source().elements(), Long::sum);
        }
        return elements.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .flatMap(most -> Optional.ofNullable(NUMBERS.get(most.getKey())));
    }
}
