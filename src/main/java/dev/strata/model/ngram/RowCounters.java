package dev.strata.model.ngram;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Counts reads of table rows; any thread. */
final class RowCounters {
    private final AtomicLong rows = new AtomicLong();
    private final AtomicLong hits = new AtomicLong();
    private final AtomicLong ahead = new AtomicLong();
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong directBytes = new AtomicLong();
    private final AtomicLong waitedNanos = new AtomicLong();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger deepest = new AtomicInteger();

    void begin() {
        deepest.accumulateAndGet(running.incrementAndGet(), Math::max);
    }

    void end(long length, boolean direct) {
        running.decrementAndGet();
        requests.incrementAndGet();
        bytes.addAndGet(length);
        if (direct) {
            directBytes.addAndGet(length);
        }
    }

    void asked(long count, long found) {
        rows.addAndGet(count);
        hits.addAndGet(found);
    }

    void ahead(long count) {
        ahead.addAndGet(count);
    }

    /** A pass waited for its rows. */
    void waited(long nanos) {
        waitedNanos.addAndGet(nanos);
    }

    Map<String, Object> figures() {
        Map<String, Object> figures = new LinkedHashMap<>();
        figures.put("rows", rows.get());
        figures.put("rows_in_cache", hits.get());
        figures.put("rows_read_ahead", ahead.get());
        figures.put("waited_seconds", waitedNanos.get() / 1e9);
        figures.put("file_requests", requests.get());
        figures.put("file_bytes_read", bytes.get());
        figures.put("file_bytes_unbuffered", directBytes.get());
        figures.put("file_queue_depth", deepest.get());
        return figures;
    }
}
