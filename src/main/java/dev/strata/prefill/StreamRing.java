package dev.strata.prefill;

/**
 * A ring of bytes that hands out contiguous ranges in order and takes them back in order. An allocation never wraps: what does not fit
 * before the end starts at 0 again. Positions depend on the sizes only, not on when ranges come back.
 */
public final class StreamRing {
    private final long bytes;
    private final long[] ends;
    private int first;
    private int count;
    private long head;
    private long tail;

    /**
     * A ring of {@code bytes} with at most {@code ranges} ranges in flight.
     */
    public StreamRing(long bytes, int ranges) {
        this.bytes = bytes;
        ends = new long[ranges];
    }

    public long bytes() {
        return bytes;
    }

    /** Where a range of {@code size} bytes starts that follows one ending at {@code end}. */
    public static long place(long end, long size, long ringBytes) {
        long position = end % ringBytes;
        return position + size > ringBytes ? 0 : position;
    }

    /**
     * Takes a range.
     *
     * @return its start, or -1 when ranges have to come back first
     * @throws IllegalArgumentException when it can never fit
     */
    public long take(long size) {
        if (size > bytes) {
            throw new IllegalArgumentException("a range of " + size + " bytes does not fit into a ring of " + bytes);
        }
        long start = place(head, size, bytes);
        long from = head - head % bytes + (start < head % bytes ? bytes : 0) + start;
        if (count == 0) {
            tail = from;
        }
        if (count == ends.length || from + size - tail > bytes) {
            return -1;
        }
        head = from + size;
        ends[(first + count) % ends.length] = head;
        count++;
        return start;
    }

    /** Gives the oldest range back. */
    public void release() {
        if (count == 0) {
            throw new IllegalStateException("no range is taken");
        }
        tail = ends[first];
        first = (first + 1) % ends.length;
        count--;
    }

    /** Continues at the start of the ring: what follows lies at the same positions as the first time. */
    public void rewind() {
        if (head % bytes != 0) {
            head += bytes - head % bytes;
            if (count > 0) {
                ends[(first + count - 1) % ends.length] = head;
            }
        }
    }

    /** Ranges in flight. */
    public int taken() {
        return count;
    }
}
