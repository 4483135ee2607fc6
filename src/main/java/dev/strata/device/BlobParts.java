package dev.strata.device;

/**
 * Where the bytes of one blob lie in the memory that they were read to: consecutive parts of the blob, each at a place of its own. Filled
 * anew for every blob, so that hot paths allocate nothing.
 */
public final class BlobParts {
    /** Most parts of a blob. */
    public static final int MOST = 8;

    private final long[] places = new long[MOST];
    private final long[] lengths = new long[MOST];
    private int count;

    /** The whole blob lies at the start of its memory. */
    public void whole(long bytes) {
        count = 0;
        add(0, bytes);
    }

    /** Forgets all parts. */
    public void clear() {
        count = 0;
    }

    /** The next {@code bytes} of the blob lie at {@code place}; they belong to the last part when they follow it. */
    public void add(long place, long bytes) {
        if (count > 0 && places[count - 1] + lengths[count - 1] == place) {
            lengths[count - 1] += bytes;
            return;
        }
        places[count] = place;
        lengths[count++] = bytes;
    }

    public int count() {
        return count;
    }

    /** Offset of a part in the memory. */
    public long place(int part) {
        return places[part];
    }

    /** Length of a part. */
    public long bytes(int part) {
        return lengths[part];
    }

    /** Where byte {@code offset} of the blob lies in the memory. */
    public long find(long offset) {
        long from = offset;
        for (int part = 0; part < count; part++) {
            if (from < lengths[part]) {
                return places[part] + from;
            }
            from -= lengths[part];
        }
        throw new IndexOutOfBoundsException("byte " + offset + " lies in none of " + count + " parts");
    }
}
