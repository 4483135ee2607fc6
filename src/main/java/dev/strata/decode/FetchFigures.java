package dev.strata.decode;

import java.util.Locale;

/** Where the time of passes went that fetch what their rows chose, for {@code STRATA_PREFILL_TIMING=1}. One thread uses it. */
final class FetchFigures {
    private int experts;
    private long bytes;
    private double millis;
    private int readings;
    private double processorMillis;

    /** A layer's missed experts came over the link and were computed beside the residents. */
    void fetched(int count, long countBytes, double countMillis) {
        experts += count;
        bytes += countBytes;
        millis += countMillis;
    }

    /** The processor has read experts' weights so many times for a layer. */
    void helped(int count, double countMillis) {
        readings += count;
        processorMillis += countMillis;
    }

    /** Counting begins anew. */
    void clear() {
        experts = 0;
        bytes = 0;
        millis = 0;
        readings = 0;
        processorMillis = 0;
    }

    /** What a pass of {@code rows} rows did that took {@code passMillis}. */
    String text(int rows, double passMillis) {
        return String.format(
                Locale.ROOT,
                "prefill timing: %d rows in %.1f ms, in %.1f of which %d missed experts (%.2f GB, %.1f GB/s) came over the link and products ran;"
                        + " beside them the processor read experts %d times in %.1f ms",
                rows,
                passMillis,
                millis,
                experts,
                bytes / 1e9,
                millis == 0 ? 0 : bytes / 1e6 / millis,
                readings,
                processorMillis);
    }
}
