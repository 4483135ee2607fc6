package dev.strata.engine;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** What the engine has done so far; written by the step loop, read by anyone. */
final class EngineCounters {
    final LongAdder accepted = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder finished = new LongAdder();
    final LongAdder cancelled = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder promptTokensRead = new LongAdder();
    final LongAdder promptTokensReused = new LongAdder();
    final LongAdder tokensGenerated = new LongAdder();
    final LongAdder readPasses = new LongAdder();
    final LongAdder decodePasses = new LongAdder();
    final LongAdder decodeRows = new LongAdder();
    final LongAdder readNanos = new LongAdder();
    final LongAdder decodeNanos = new LongAdder();
    final LongAdder draftsOffered = new LongAdder();
    final LongAdder draftsAccepted = new LongAdder();
    final LongAdder preemptions = new LongAdder();
    /** Longest time between two decode passes while answers were being generated. */
    final AtomicLong longestGapNanos = new AtomicLong();

    final SharingWindow sharing = new SharingWindow();

    void gap(long now, long nanos) {
        longestGapNanos.accumulateAndGet(nanos, Math::max);
        sharing.gap(now, nanos);
    }

    /** All figures by name, for status pages and metrics. */
    Map<String, Object> snapshot() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("requests_accepted", accepted.sum());
        values.put("requests_refused", refused.sum());
        values.put("requests_finished", finished.sum());
        values.put("requests_cancelled", cancelled.sum());
        values.put("requests_failed", failed.sum());
        values.put("prompt_tokens_read", promptTokensRead.sum());
        values.put("prompt_tokens_reused", promptTokensReused.sum());
        values.put("tokens_generated", tokensGenerated.sum());
        values.put("prompt_passes", readPasses.sum());
        values.put("decode_passes", decodePasses.sum());
        values.put("prompt_seconds", readNanos.sum() / 1e9);
        values.put("decode_seconds", decodeNanos.sum() / 1e9);
        values.put("drafts_offered", draftsOffered.sum());
        values.put("drafts_accepted", draftsAccepted.sum());
        values.put("tokens_per_decode_row", ratio(tokensGenerated.sum(), decodeRows.sum()));
        values.put("preemptions", preemptions.sum());
        values.put("longest_gap_ms", longestGapNanos.get() / 1e6);
        values.put("last_10_s", sharing.figures(System.nanoTime()));
        return values;
    }

    private static double ratio(long part, long whole) {
        return whole == 0 ? 0 : (double) part / whole;
    }
}
