package dev.strata.expert;

/** What a source that reads files can tell of its reads. */
public interface FileReads {
    /** Whether reads go past the page cache. */
    boolean isUnbuffered();

    /** Counters of the reads so far. */
    ReadCounters counters();
}
