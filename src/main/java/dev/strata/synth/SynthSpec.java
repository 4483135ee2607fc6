package dev.strata.synth;

import dev.strata.format.QuantType;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What to make: {@code SHAPE[:TYPE][:layers=N][:dense=TYPE][:skew=A][:ngram=N][:seed=N]}, with {@code synth:} before it allowed.
 *
 * @param expertType type of the routed experts (rows that are no whole blocks fall back to a type of about the same size)
 * @param denseType type of the other matrices
 * @param layers trunk layers, 0 for all of the shape's
 * @param skew how unevenly the router uses experts: expert of rank r is favoured by {@code -skew * ln(r + 1)}; 0 for evenly
 * @param ngramRows rows for each hash head of an n-gram table; the published one has 20 million
 */
public record SynthSpec(
        String shape, QuantType expertType, QuantType denseType, int layers, double skew, long ngramRows, long seed) {
    public static final String PREFIX = "synth:";
    private static final long FEW_NGRAM_ROWS = 100_000;

    /** Whether a model is named so rather than by a path. */
    public static boolean matches(String model) {
        return model.startsWith(PREFIX);
    }

    /**
     * Parses a specification.
     *
     * @throws IllegalArgumentException naming the part at fault and what is possible
     */
    public static SynthSpec parse(String text) {
        String rest = text.startsWith(PREFIX) ? text.substring(PREFIX.length()) : text;
        List<String> parts = Arrays.asList(rest.split(":", -1));
        QuantType expertType = QuantType.Q4_K;
        QuantType denseType = QuantType.Q8_0;
        int layers = 0;
        double skew = 0;
        long ngramRows = FEW_NGRAM_ROWS;
        long seed = 1;
        for (String part : parts.subList(1, parts.size())) {
            int equals = part.indexOf('=');
            String key = equals < 0 ? "" : part.substring(0, equals);
            String value = part.substring(equals + 1);
            switch (key) {
                case "" -> expertType = type(part);
                case "dense" -> denseType = type(value);
                case "layers" -> layers = (int) number(key, value, 1, 1000);
                case "ngram" -> ngramRows = number(key, value, 2, 100_000_000);
                case "seed" -> seed = number(key, value, 0, Long.MAX_VALUE);
                case "skew" -> skew = real(value);
                default ->
                    throw new IllegalArgumentException(
                            part + " is unknown; possible are a type, layers=N, dense=TYPE, skew=A, ngram=N, seed=N");
            }
        }
        SynthShape.load(parts.getFirst());
        return new SynthSpec(parts.getFirst(), expertType, denseType, layers, skew, ngramRows, seed);
    }

    private static double real(String value) {
        try {
            double real = Double.parseDouble(value);
            if (real >= 0 && real <= 10) {
                return real;
            }
        } catch (NumberFormatException exception) {
            // Told below, with the numbers out of range.
        }
        throw new IllegalArgumentException("skew=" + value + " is not a number of 0 to 10");
    }

    private static long number(String key, String value, long least, long most) {
        try {
            long number = Long.parseLong(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException exception) {
            // Told below, with the numbers out of range.
        }
        throw new IllegalArgumentException(key + "=" + value + " is not a whole number of " + least + " to " + most);
    }

    private static QuantType type(String name) {
        Optional<QuantType> type = Arrays.stream(QuantType.values())
                .filter(candidate -> candidate.name().equals(name.toUpperCase(Locale.ROOT)))
                .filter(BlockPool::canMake)
                .findFirst();
        return type.orElseThrow(() -> new IllegalArgumentException("type " + name + " is unknown; possible are "
                + Arrays.stream(QuantType.values())
                        .filter(BlockPool::canMake)
                        .map(Enum::name)
                        .collect(Collectors.joining(", "))));
    }
}
