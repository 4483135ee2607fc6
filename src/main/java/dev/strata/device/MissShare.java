package dev.strata.device;

import org.jspecify.annotations.Nullable;

/**
 * How the missed experts of a layer's decode steps are shared out on the device, without the host: which memory the kernels read and
 * write. A miss is a routed expert whose entry in {@code table} lies outside the cache.
 *
 * @param table int64 address of every expert, 0 where no kernel can read it
 * @param planned receives the address by which products read each routed expert; 0: the processor computes it
 * @param cacheAddress where slots start
 * @param cacheBytes size of the cache; addresses inside are hits
 * @param spareAddress where missed blobs are pulled to
 * @param spareStride bytes from one spare slot to the next
 * @param spares spare slots, taken in turn over the layers of a pass; what a layer misses beyond them is read in place, all of it with 0
 * @param pulls scratch memory of 1 + 2 spares int64
 * @param tailSkip rank from which on missed experts are left out, 0: none are; the routing of their pairs is changed
 * @param notes address of memory that receives a note for every pair: the expert chosen and, {@value #NOTED_EXPERT_BITS} bits higher, one more than the
 *     number of the spare slot that it was pulled into; 0 when nobody wants them
 * @param mostNotes pairs that there is room for; the ids of larger passes are not noted
 * @param state {@value #STATE_BYTES} bytes that the kernels of a device share, zero at first
 * @param meeting the host's part, or null when the card takes all misses
 * @param guess what the host brings ahead of the layers, or null when it does not
 */
public record MissShare(
        int layer,
        ExpertLayout layout,
        Buffer table,
        Buffer planned,
        long cacheAddress,
        long cacheBytes,
        long spareAddress,
        long spareStride,
        int spares,
        Buffer pulls,
        int tailSkip,
        long notes,
        int mostNotes,
        Buffer state,
        @Nullable Meeting meeting,
        @Nullable Guess guess) {
    /** Bytes of {@code state}. */
    public static final int STATE_BYTES = 64;

    /** Bits of a note that tell the expert. */
    public static final int NOTED_EXPERT_BITS = 16;

    /** Most experts of a layer that can be shared. */
    public static final int MOST_EXPERTS = 1024;

    /** Most (row, expert) pairs of a pass. */
    public static final int MOST_PAIRS = 512;

    /** Bytes in front of the rows of a question. */
    public static final long QUESTION_HEADER = 64 + 4L * MOST_EXPERTS + 4L * MOST_PAIRS;

    /** Bytes in front of the rows of an answer. */
    public static final long ANSWER_HEADER = 64;

    /** Bytes of what is said of an expert that is coming. */
    public static final long ENTRY_BYTES = 16;

    /** Most experts of a layer that come at once. */
    public static final int MOST_COMING = 4;

    /** Bytes of what is said of a layer's experts that are coming. */
    public static final long COMING_BYTES = MOST_COMING * ENTRY_BYTES;

    /** Low bits of a guess's number that tell the layer which it is for; those above count guesses. */
    public static final int GUESSED_LAYER_BITS = 10;

    /** Layers that a row guesses: the next one and the one behind it. */
    public static final int GUESSED_LAYERS = 2;

    /**
     * How the card guesses what the next layers of a step of one row will need, and finds what the host has brought of it.
     *
     * @param layers how many are guessed; 0: none
     * @param products pinned memory that the card writes, for each of {@value #GUESSED_LAYERS} layers the same part: for every expert a float32, the product with its
     *     router's row, and the int32 number of the guess, which is of the next layer; the layer behind it has the number that the next guess will have
     * @param comingAddress device memory that says what comes for this layer, {@value #MOST_COMING} times int32 number of the guess, an expert and, 16 bits higher,
     *     its spare slot, its ticket, the number again
     * @param arrived device memory: int32 ticket of the last blob that came
     */
    public record Guess(int layers, Buffer products, long comingAddress, Buffer arrived) {
        /** Where the products of a layer are, 0 being the next one. */
        public long products(int behind) {
            return products.address() + behind * products.bytes() / GUESSED_LAYERS;
        }
    }

    /**
     * Where card and host meet.
     *
     * @param shares device memory: uint16 experts for the processor by number of misses, {@code mostMisses + 1} entries
     * @param question pinned memory that the card writes: int32 number (last), layer, rows, used, count, missed on the card, number of the
     *     last timed answer, its nanoseconds; at 64 the processor's experts, then ids, then the rows
     * @param answer pinned memory that the host writes: int32 number (last), at 64 the results of pairs
     */
    public record Meeting(Buffer shares, int mostMisses, Buffer question, Buffer answer) {}
}
