package dev.strata.os;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** A file that is read at given positions by many threads. */
public interface BlockFile extends AutoCloseable {
    /** Positions, addresses and lengths of reads have to be multiples of this; 1 when they may be anything. */
    int alignment();

    /** Whether reads go past the page cache. */
    boolean isDirect();

    /** Length now. */
    long size() throws IOException;

    /** Something that differs once the file was written to or replaced: its length and time of change. */
    Object stamp() throws IOException;

    /**
     * Reads into all of {@code target}, or less at the end of the file or when the system likes it.
     *
     * @return bytes read, -1 at the end of the file
     */
    int read(MemorySegment target, long position) throws IOException;

    /**
     * Reads consecutive bytes into {@code targets}, one behind the other, with one request where the system can do that.
     *
     * @return bytes read; fewer than asked for at the end of the file or when the system likes it
     */
    default long read(MemorySegment[] targets, long position) throws IOException {
        long done = 0;
        for (MemorySegment target : targets) {
            int got = Math.max(0, read(target, position + done));
            done += got;
            if (got < target.byteSize()) {
                break;
            }
        }
        return done;
    }

    @Override
    void close() throws IOException;
}
