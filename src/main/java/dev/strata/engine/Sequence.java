package dev.strata.engine;

import dev.strata.decode.ExpertTotals;
import dev.strata.decode.PromptLookup;
import dev.strata.device.Batch;
import dev.strata.sampling.Sampler;
import dev.strata.tokenizer.IncrementalDecoder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One text that the model reads and continues: its tokens and what of it lies in the model. Used by the step loop alone. */
final class Sequence {
    private static final int NONE = -1;
    /** N-grams of any model are shorter. */
    static final int HISTORY = 8;

    final ActiveRequest request;
    final int choice;
    final TextSide.Answer answer;
    final Sampler sampler;
    /** Tokens that the answer may have. */
    final int mostTokens;

    private int[] tokens;
    private int length;
    final int promptLength;
    /** Tokens whose keys, values and states the model has. */
    int past;

    int[] pages = new int[0];
    int pageCount;
    int slot = NONE;

    int reused;
    boolean begun;
    boolean ended;
    /** A pass with other sequences failed; the next one is run alone. */
    boolean suspect;

    long startedNanos;

    /** What decode had used of the expert cache then. */
    @Nullable
    ExpertTotals expertsBefore;

    long firstTokenNanos;
    int readTokens;
    int passes;
    int draftsOffered;
    int draftsAccepted;

    final int[] drafts = new int[Batch.MAX_WINDOW];
    int draftCount;

    @Nullable
    PromptLookup lookup;

    final IncrementalDecoder echoed = new IncrementalDecoder();

    private int equalTokens;
    private int lastToken = NONE;

    Sequence(ActiveRequest request, int choice, TextSide.Answer answer, Sampler sampler, int mostTokens) {
        this.request = request;
        this.choice = choice;
        this.answer = answer;
        this.sampler = sampler;
        this.mostTokens = mostTokens;
        this.promptLength = request.prompt.tokens().length;
        this.tokens = Arrays.copyOf(request.prompt.tokens(), promptLength + 64);
        this.length = promptLength;
    }

    int[] tokens() {
        return tokens;
    }

    int length() {
        return length;
    }

    int generated() {
        return length - promptLength;
    }

    /** Tokens that the model has not read yet; the last one's logits are what comes next. */
    int unread() {
        return length - past;
    }

    /** Whether the text is still being read; one unread token behind an answer's beginning is decoding. */
    boolean reading() {
        return generated() == 0 || unread() > 1;
    }

    /** Adds a sampled token; returns how many equal ones end the text now. */
    int append(int token) {
        if (length == tokens.length) {
            tokens = Arrays.copyOf(tokens, length * 2);
        }
        tokens[length++] = token;
        equalTokens = token == lastToken ? equalTokens + 1 : 1;
        lastToken = token;
        return equalTokens;
    }

    /** The tokens before {@code position} that n-gram hashing may need, newest last. */
    int[] history(int position) {
        return Arrays.copyOfRange(tokens, Math.max(0, position - HISTORY), position);
    }

    /** A page table that covers {@code positions}. */
    int[] pageTable(int positions) {
        return Arrays.copyOf(pages, (positions + Batch.PAGE - 1) / Batch.PAGE);
    }

    void addPage(int page) {
        if (pageCount == pages.length) {
            pages = Arrays.copyOf(pages, Math.max(8, pageCount * 2));
        }
        pages[pageCount++] = page;
    }

    boolean hasSlot() {
        return slot != NONE;
    }

    void dropSlot() {
        slot = NONE;
    }
}
