package dev.strata.model;

import dev.strata.device.Batch;
import java.lang.foreign.MemorySegment;

/**
 * A loaded model on a backend. One thread uses it. Sequences are described by {@link Batch} segments: the caller owns pages and
 * slots, the model owns what is stored in them.
 */
public interface Model extends AutoCloseable {
    ModelConfig config();

    /**
     * Has {@code work} done from now on by the calling thread in every pass that gives logits, drafts included: after the pass has been handed to the backend
     * and before its results are waited for.
     *
     * @return false, and the work is never done, where the backend computes on the calling thread, so that nothing would be gained
     */
    default boolean meanwhile(Runnable work) {
        return false;
    }

    /** Largest number of rows one pass can take. */
    int maxRows();

    /** Key-value pages and state slots that were laid out. */
    int pages();

    int slots();

    /**
     * Runs the pass and writes float32 logits of the rows named in {@code logitRows} (ascending), [logitRows.length, vocabulary], to
     * {@code logits}. With an empty array only states and caches advance.
     */
    void forward(Batch batch, int[] logitRows, MemorySegment logits);

    /** What other sequences do while a long pass is between two of its layers. */
    interface Pause {
        /** Most rows of a pass that {@link #run} runs. */
        int mostRows();

        /** Whether there is something to do now. */
        boolean due();

        /** Runs passes, over sequences that are not in the one that waits. */
        void run();
    }

    /** Whether a pass of so many rows can wait between its layers. */
    default boolean pauses(int rows) {
        return false;
    }

    /** As {@link #forward(Batch, int[], MemorySegment)}, waiting for {@code pause} between layers where {@link #pauses} says so. */
    default void forward(Batch batch, int[] logitRows, MemorySegment logits, Pause pause) {
        forward(batch, logitRows, logits);
    }

    /** No prompt is being read any more: memory lent to prompts may go back before the next pass. */
    default void promptFinished() {}

    /** Whether {@link #forwardPicked} is there: sampling then needs no logits on the host. */
    default boolean picks() {
        return false;
    }

    /**
     * Runs the pass with logits for all rows, which stay on the backend, and sums them up as {@link dev.strata.device.Picks} describes.
     *
     * @param settings float32 [rows, Picks.SETTINGS]
     * @param results receives [rows, Picks.COLUMNS]
     */
    default void forwardPicked(Batch batch, MemorySegment settings, MemorySegment results) {
        throw new UnsupportedOperationException("logits are read as a whole here");
    }

    /** Whether passes may be begun behind each other ({@link #beginPicked}). */
    default boolean foresees() {
        return false;
    }

    /**
     * As {@link #forwardPicked}, but returns when the pass has been handed over; {@link #endPicked} waits for it. One more may be begun before that,
     * so that the backend goes on at once.
     *
     * @param behind rows get the tokens that the pass begun before chooses for the same rows, drawn or likeliest, instead of the batch's
     */
    default void beginPicked(Batch batch, MemorySegment settings, boolean behind) {
        throw new UnsupportedOperationException("passes are not begun ahead here");
    }

    /** Waits for the pass of {@code rows} rows that was begun first; {@code results} as of {@link #forwardPicked}. */
    default void endPicked(int rows, MemorySegment results) {
        throw new UnsupportedOperationException("passes are not begun ahead here");
    }

    /** Float32 logits of the first {@code rows} rows of the last {@link #forwardPicked}, [rows, vocabulary]. */
    default void logits(int rows, MemorySegment target) {
        throw new UnsupportedOperationException("logits are given by every pass here");
    }

    /** After a held pass: advances the states of segment {@code segment} by its first {@code accepted} rows. */
    void commit(Batch batch, int segment, int accepted);

    /** {@link #commit(Batch, int, int)} for all segments. */
    default void commit(Batch batch, int[] accepted) {
        for (int segment = 0; segment < accepted.length; segment++) {
            commit(batch, segment, accepted[segment]);
        }
    }

    /**
     * Tells that positions {@code from} to {@code to} of a text will be read soon, so that what depends on its tokens alone can be fetched
     * meanwhile; returns at once.
     */
    default void expect(int[] tokens, int from, int to) {}

    /**
     * Tells that a text has come whose first {@code count} tokens will be read when its turn comes, so that what depends on its tokens alone
     * can be fetched meanwhile. Unlike everything else here any thread may call it, also beside a pass; returns at once.
     */
    default void request(int[] tokens, int count) {}

    /** Zeroes the recurrent states of a slot: the start of a new sequence. */
    void clearSlot(int slot);

    /** Copies all recurrent states of a slot, for checkpoints. */
    void copySlot(int from, int to);

    /** Copies what a page holds in every layer, so that a partly filled page can be shared by value. */
    void copyPage(int from, int to);

    /** Bytes that one page and one slot hold over all layers, in the backend's layout. */
    StateSizes stateSizes();

    /** Copies what a page holds in every layer to {@code target}. */
    void readPage(int page, MemorySegment target);

    /** Puts back what {@link #readPage} gave, into any page. */
    void writePage(int page, MemorySegment source);

    /** Copies all recurrent states of a slot to {@code target}. */
    void readSlot(int slot, MemorySegment target);

    /** Puts back what {@link #readSlot} gave, into any slot. */
    void writeSlot(int slot, MemorySegment source);

    /** Sizes of a page and a slot in bytes. */
    record StateSizes(long page, long slot) {}

    /**
     * Final hidden states (what the output head reads) of the rows of the last pass, [rows, hidden].
     */
    void hidden(int rows, MemorySegment target);

    /** Whether drafts can be made by {@link #draft}. */
    boolean canDraft();

    /**
     * Runs the draft layer (MTP) over rows whose next tokens are known and gives logits for the token after that.
     *
     * <p>Row r of the batch fuses the trunk's residual state of row {@code sourceRow[r]} of the last {@link #forward} with the embedding of
     * {@code batch.tokens()[r]}, the token that follows it. Positions are those of the source rows.
     */
    void draft(Batch batch, int[] sourceRow, int[] logitRows, MemorySegment logits);

    /**
     * Runs the draft layer as {@link #draft} does and goes on behind the last row of every segment: each draft is the likeliest token, which
     * the layer reads with its own state of the draft before.
     *
     * @param most drafts wanted; the pages of every segment reach {@code most - 1} positions behind its rows
     * @param least drafting may end early when no segment's last draft has this probability; unlikely drafts are given all the same
     */
    void draftAhead(Batch batch, int[] sourceRow, int most, float least, DraftedTokens drafted);

    @Override
    void close();
}
