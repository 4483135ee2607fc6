package dev.strata.device;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * What sampling needs of a row of logits, so that the others need not leave the device. A row of results is {@value #COLUMNS} words: the
 * likeliest token (int32, the lowest id among equals), its logit, the sum of e^((logit - largest) * inverse temperature) over the vocabulary, how
 * many logits are not finite (int32), a token drawn from all with those weights (int32, -1 when none was asked for), the number of
 * candidates (int32); then the ids of the candidates, likeliest first, and their logits. A row of settings is {@value #SETTINGS} float32:
 * the inverse temperature, the random number in [0, 1) of the draw, below 0 for none, and whether candidates are wanted, 1 or 0.
 */
public final class Picks {
    /** Candidates that are looked for. There may be none when very many logits are equal. */
    public static final int CANDIDATES = 64;

    public static final int SETTINGS = 3;

    private static final int HEADER = 6;
    public static final int COLUMNS = HEADER + 2 * CANDIDATES;

    private final MemorySegment results;

    /** @param results rows of results */
    public Picks(MemorySegment results) {
        this.results = results;
    }

    private int integer(int row, int column) {
        return results.getAtIndex(JAVA_INT, (long) row * COLUMNS + column);
    }

    private float real(int row, int column) {
        return results.getAtIndex(JAVA_FLOAT, (long) row * COLUMNS + column);
    }

    public int likeliest(int row) {
        return integer(row, 0);
    }

    public float largest(int row) {
        return real(row, 1);
    }

    public float sum(int row) {
        return real(row, 2);
    }

    public int notFinite(int row) {
        return integer(row, 3);
    }

    public int drawn(int row) {
        return integer(row, 4);
    }

    /** The token drawn, or the likeliest one where none was to be drawn. */
    public int chosen(int row) {
        return drawn(row) < 0 ? likeliest(row) : drawn(row);
    }

    public int candidates(int row) {
        return integer(row, 5);
    }

    public int candidate(int row, int index) {
        return integer(row, HEADER + index);
    }

    public float logit(int row, int index) {
        return real(row, HEADER + CANDIDATES + index);
    }

    /** Writes a row of settings to place {@code row} of {@code target}. */
    public static void set(MemorySegment target, int row, float inverseTemperature, float uniform, boolean candidates) {
        target.setAtIndex(JAVA_FLOAT, (long) row * SETTINGS, inverseTemperature);
        target.setAtIndex(JAVA_FLOAT, (long) row * SETTINGS + 1, uniform);
        target.setAtIndex(JAVA_FLOAT, (long) row * SETTINGS + 2, candidates ? 1 : 0);
    }

    /** Computes the results of {@code rows} rows on the host from their settings and float32 logits, [rows, vocabulary]. */
    public static void compute(
            MemorySegment logits, int vocabulary, MemorySegment settings, int rows, MemorySegment results) {
        for (int row = 0; row < rows; row++) {
            compute(
                    logits.asSlice(4L * row * vocabulary, 4L * vocabulary),
                    vocabulary,
                    settings.asSlice(4L * row * SETTINGS, 4L * SETTINGS),
                    results.asSlice(4L * row * COLUMNS, 4L * COLUMNS));
        }
    }

    private static void compute(MemorySegment logits, int vocabulary, MemorySegment settings, MemorySegment result) {
        float inverseTemperature = settings.getAtIndex(JAVA_FLOAT, 0);
        float uniform = settings.getAtIndex(JAVA_FLOAT, 1);
        boolean candidates = settings.getAtIndex(JAVA_FLOAT, 2) > 0;
        float[] values = logits.toArray(JAVA_FLOAT);
        int likeliest = 0;
        int notFinite = 0;
        for (int token = 0; token < vocabulary; token++) {
            likeliest = values[token] > values[likeliest] ? token : likeliest;
            notFinite += Float.isFinite(values[token]) ? 0 : 1;
        }
        float largest = values[likeliest];
        double sum = 0;
        for (int token = 0; token < vocabulary; token++) {
            sum += Math.exp((values[token] - largest) * inverseTemperature);
        }
        int drawn = -1;
        if (uniform >= 0) {
            double left = uniform * sum;
            for (int token = 0; token < vocabulary && (drawn < 0 || left >= 0); token++) {
                double weight = Math.exp((values[token] - largest) * inverseTemperature);
                drawn = weight > 0 ? token : drawn;
                left -= weight;
            }
        }
        int[] order = IntStream.range(0, vocabulary)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer token) -> -values[token]))
                .mapToInt(Integer::intValue)
                .limit(candidates ? CANDIDATES : 0)
                .toArray();
        result.setAtIndex(JAVA_INT, 0, likeliest);
        result.setAtIndex(JAVA_FLOAT, 1, largest);
        result.setAtIndex(JAVA_FLOAT, 2, (float) sum);
        result.setAtIndex(JAVA_INT, 3, notFinite);
        result.setAtIndex(JAVA_INT, 4, drawn);
        result.setAtIndex(JAVA_INT, 5, order.length);
        for (int i = 0; i < CANDIDATES; i++) {
            result.setAtIndex(JAVA_INT, HEADER + i, i < order.length ? order[i] : 0);
            result.setAtIndex(JAVA_FLOAT, HEADER + CANDIDATES + i, i < order.length ? values[order[i]] : 0);
        }
    }
}
