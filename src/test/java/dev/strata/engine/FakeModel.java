package dev.strata.engine;

import dev.strata.device.Batch;
import dev.strata.device.Picks;
import dev.strata.model.DraftedTokens;
import dev.strata.model.Model;
import dev.strata.model.ModelConfig;
import dev.strata.model.ModelConfig.Architecture;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A model whose next token is a function of the whole text before. Pages hold the tokens, slots a hash of them, and every pass checks that both
 * tell the same story, so that a page or state of another text is noticed at once.
 */
final class FakeModel implements Model {
    static final int VOCABULARY = 100;
    static final int HIDDEN = 4;
    /** Ends an answer. */
    static final int END = 1;

    private static final long MOST_LAYER_NANOS = 50_000_000;

    private final int[][] pages;
    private final long[] slots;
    private final long[] held;
    private final int maxRows;
    private final Architecture architecture;
    private final boolean drafts;

    final List<Batch> passes = new CopyOnWriteArrayList<>();

    /** A permit for every time that all prompts had been read. */
    final Semaphore promptsFinished = new Semaphore(0);

    /** How many first tokens of each prompt were announced. */
    final List<Integer> requested = new CopyOnWriteArrayList<>();

    /** Answers get this many tokens, counted from where the last prompt part ended, before the end token; negative: never. */
    int endAfter = -1;
    /** Called before each pass. */
    Consumer<Batch> before = batch -> {};

    /** Whether passes are computed beside the thread that runs them. */
    boolean ahead;

    private Runnable meanwhile = () -> {};

    /** Logits behind this position are not numbers. */
    int poisonedPosition = -1;

    boolean closed;
    private Batch last = new Batch(new int[0], List.of(), false);
    private long[] rowHashes = new long[0];

    @Nullable
    Integer constant;

    /** Whether it finds tokens itself, and reads passes before the host knows their tokens. */
    boolean foresees;

    /** Layers behind which a pass of many rows can wait; 0: none waits. */
    volatile int layers;

    /** Rows of passes that ran while another one waited. */
    final List<Integer> between = new CopyOnWriteArrayList<>();

    private boolean waits;

    int begunAhead;
    private final Queue<MemorySegment> begunPasses = new ArrayDeque<>();
    private MemorySegment lastLogits = MemorySegment.NULL;

    FakeModel(int maxRows, int pages, int slots, Architecture architecture, boolean drafts) {
        this.maxRows = maxRows;
        this.pages = new int[pages][Batch.PAGE];
        this.slots = new long[slots];
        this.held = new long[slots];
        this.architecture = architecture;
        this.drafts = drafts;
        for (int[] page : this.pages) {
            Arrays.fill(page, -1);
        }
        Arrays.fill(this.slots, -1);
    }

    @Override
    public ModelConfig config() {
        return new ModelConfig(
                architecture, "fake", 1, HIDDEN, VOCABULARY, 4096, 1e-6f, List.of(END), drafts ? 1 : 0, 1000);
    }

    @Override
    public boolean meanwhile(Runnable work) {
        meanwhile = () -> {
            if (ahead) {
                work.run();
            }
        };
        return ahead;
    }

    @Override
    public void request(int[] tokens, int count) {
        requested.add(count);
    }

    @Override
    public int maxRows() {
        return maxRows;
    }

    @Override
    public int pages() {
        return pages.length;
    }

    @Override
    public int slots() {
        return slots.length;
    }

    private static long step(long hash, int token) {
        long mixed = (hash ^ token) * 0x9E3779B97F4A7C15L;
        return mixed ^ (mixed >>> 29);
    }

    static long hash(int[] tokens, int length) {
        long hash = 0;
        for (int i = 0; i < length; i++) {
            hash = step(hash, tokens[i]);
        }
        return hash;
    }

    /** The likeliest token after a text; never the end token. */
    static int next(long hash) {
        return 2 + (int) Long.remainderUnsigned(hash >>> 8, VOCABULARY - 2);
    }

    /** The three largest logits after a text, largest first. */
    static double[] bestLogits(int[] text) {
        long hash = hash(text, text.length);
        double[] logits = new double[VOCABULARY];
        for (int token = 0; token < VOCABULARY; token++) {
            logits[token] = token == next(hash) ? 8 : token == END ? -20 : noise(hash, token);
        }
        Arrays.sort(logits);
        return new double[] {logits[VOCABULARY - 1], logits[VOCABULARY - 2], logits[VOCABULARY - 3]};
    }

    private static float noise(long hash, int token) {
        return (float) (Long.remainderUnsigned(step(hash, token + 1000), 1000) / 130.0);
    }

    /** What the model writes after a text at temperature 0. */
    static int[] continuation(int[] prompt, int count) {
        int[] text = Arrays.copyOf(prompt, prompt.length + count);
        for (int i = prompt.length; i < text.length; i++) {
            text[i] = next(hash(text, i));
        }
        return Arrays.copyOfRange(text, prompt.length, text.length);
    }

    @Override
    public boolean pauses(int rows) {
        return layers > 0 && rows > 32;
    }

    @Override
    public void forward(Batch batch, int[] logitRows, MemorySegment logits, Pause pause) {
        if (pauses(batch.rows())) {
            waits = true;
            for (int layer = 0; layer < layers; layer++) {
                // A layer takes as long as makes a step due.
                long end = System.nanoTime() + MOST_LAYER_NANOS;
                boolean due = pause.due();
                while (!due && System.nanoTime() < end) {
                    Thread.onSpinWait();
                    due = pause.due();
                }
                if (due) {
                    pause.run();
                }
            }
            waits = false;
        }
        forward(batch, logitRows, logits);
    }

    @Override
    public void forward(Batch batch, int[] logitRows, MemorySegment logits) {
        if (waits) {
            between.add(batch.rows());
        }
        before.accept(batch);
        passes.add(batch);
        last = batch;
        rowHashes = new long[batch.rows()];
        for (Batch.Segment segment : batch.segments()) {
            long hash = 0;
            for (int position = 0; position < segment.past(); position++) {
                hash = step(hash, pages[segment.pages()[position / Batch.PAGE]][position % Batch.PAGE]);
            }
            if (hash != slots[segment.slot()] && architecture != Architecture.QWEN3_MOE) {
                throw new AssertionError("slot " + segment.slot() + " does not belong to the text in the pages");
            }
            held[segment.slot()] = hash;
            for (int i = 0; i < segment.rows(); i++) {
                int position = segment.past() + i;
                int token = batch.tokens()[segment.firstRow() + i];
                pages[segment.pages()[position / Batch.PAGE]][position % Batch.PAGE] = token;
                hash = step(hash, token);
                rowHashes[segment.firstRow() + i] = hash;
            }
            if (!batch.hold()) {
                slots[segment.slot()] = hash;
            }
        }
        meanwhile.run();
        for (int i = 0; i < logitRows.length; i++) {
            write(logits, i, rowHashes[logitRows[i]], position(batch, logitRows[i]));
        }
    }

    @Override
    public boolean picks() {
        return foresees;
    }

    @Override
    public boolean foresees() {
        return foresees;
    }

    @Override
    public void forwardPicked(Batch batch, MemorySegment settings, MemorySegment results) {
        begunPasses.add(pick(batch, settings));
        endPicked(batch.rows(), results);
    }

    @Override
    public void beginPicked(Batch batch, MemorySegment settings, boolean behind) {
        if (begunPasses.size() > (behind ? 1 : 0)) {
            throw new AssertionError("too many passes begun");
        }
        if (behind) {
            MemorySegment before = Objects.requireNonNull(begunPasses.peek());
            Picks picks = new Picks(before);
            for (int row = 0; row < batch.rows(); row++) {
                batch.tokens()[row] = picks.chosen(row);
            }
        }
        begunPasses.add(pick(batch, settings));
        begunAhead += behind ? 1 : 0;
    }

    @Override
    public void endPicked(int rows, MemorySegment results) {
        MemorySegment first = begunPasses.remove();
        if (first.byteSize() != 4L * rows * Picks.COLUMNS) {
            throw new AssertionError("another pass was begun first");
        }
        MemorySegment.copy(first, 0, results, 0, first.byteSize());
    }

    private MemorySegment pick(Batch batch, MemorySegment settings) {
        int[] rows = new int[batch.rows()];
        Arrays.setAll(rows, row -> row);
        lastLogits = MemorySegment.ofArray(new float[batch.rows() * VOCABULARY]);
        forward(batch, rows, lastLogits);
        MemorySegment results = MemorySegment.ofArray(new float[batch.rows() * Picks.COLUMNS]);
        Picks.compute(lastLogits, VOCABULARY, settings, batch.rows(), results);
        return results;
    }

    @Override
    public void logits(int rows, MemorySegment target) {
        MemorySegment.copy(lastLogits, 0, target, 0, 4L * rows * VOCABULARY);
    }

    private int position(Batch batch, int row) {
        for (Batch.Segment segment : batch.segments()) {
            if (row >= segment.firstRow() && row < segment.firstRow() + segment.rows()) {
                return segment.past() + row - segment.firstRow();
            }
        }
        throw new AssertionError("row " + row);
    }

    private void write(MemorySegment logits, int row, long hash, int position) {
        for (int token = 0; token < VOCABULARY; token++) {
            float value = token == END ? -20 : noise(hash, token);
            logits.setAtIndex(ValueLayout.JAVA_FLOAT, (long) row * VOCABULARY + token, value);
        }
        int best = constant != null ? constant : next(hash);
        if (endAfter >= 0 && position >= endAfter) {
            best = END;
        }
        logits.setAtIndex(
                ValueLayout.JAVA_FLOAT, (long) row * VOCABULARY + best, position == poisonedPosition ? Float.NaN : 8);
    }

    @Override
    public void commit(Batch batch, int segment, int accepted) {
        if (batch != last || !batch.hold()) {
            throw new AssertionError("only the last held pass can be committed");
        }
        Batch.Segment part = batch.segments().get(segment);
        long hash = held[part.slot()];
        for (int i = 0; i < accepted; i++) {
            hash = step(hash, batch.tokens()[part.firstRow() + i]);
        }
        slots[part.slot()] = hash;
    }

    @Override
    public void promptFinished() {
        promptsFinished.release();
    }

    @Override
    public void clearSlot(int slot) {
        slots[slot] = 0;
    }

    @Override
    public void copySlot(int from, int to) {
        slots[to] = slots[from];
    }

    @Override
    public void copyPage(int from, int to) {
        pages[to] = pages[from].clone();
    }

    @Override
    public StateSizes stateSizes() {
        return new StateSizes(4L * Batch.PAGE, 8);
    }

    @Override
    public void readPage(int page, MemorySegment target) {
        MemorySegment.copy(pages[page], 0, target, ValueLayout.JAVA_INT_UNALIGNED, 0, Batch.PAGE);
    }

    @Override
    public void writePage(int page, MemorySegment source) {
        MemorySegment.copy(source, ValueLayout.JAVA_INT_UNALIGNED, 0, pages[page], 0, Batch.PAGE);
    }

    @Override
    public void readSlot(int slot, MemorySegment target) {
        target.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, slots[slot]);
    }

    @Override
    public void writeSlot(int slot, MemorySegment source) {
        slots[slot] = source.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    @Override
    public void hidden(int rows, MemorySegment target) {
        for (int row = 0; row < rows; row++) {
            for (int i = 0; i < HIDDEN; i++) {
                target.setAtIndex(
                        ValueLayout.JAVA_FLOAT, (long) row * HIDDEN + i, last.tokens()[row] + (i == 0 ? 1 : 0));
            }
        }
    }

    @Override
    public boolean canDraft() {
        return drafts;
    }

    @Override
    public void draft(Batch batch, int[] sourceRow, int[] logitRows, MemorySegment logits) {
        follow(batch, sourceRow);
    }

    /** Right in four of five cases. */
    @Override
    public void draftAhead(Batch batch, int[] sourceRow, int most, float least, DraftedTokens drafted) {
        long[] hashes = follow(batch, sourceRow);
        int[] last = batch.lastRows();
        for (int draft = 0; draft < most; draft++) {
            for (int segment = 0; segment < last.length; segment++) {
                long hash = hashes[last[segment]];
                boolean wrong = Long.remainderUnsigned(hash, 5) == 0;
                int token = wrong ? 2 + (next(hash) - 1) % (VOCABULARY - 2) : next(hash);
                drafted.set(segment, draft, token, 0.96f);
                hashes[last[segment]] = step(hash, token);
            }
        }
    }

    private long[] follow(Batch batch, int[] sourceRow) {
        long[] hashes = new long[batch.rows()];
        for (Batch.Segment segment : batch.segments()) {
            for (int i = 0; i < segment.rows(); i++) {
                int row = segment.firstRow() + i;
                hashes[row] = step(rowHashes[sourceRow[row]], batch.tokens()[row]);
                if (position(last, sourceRow[row]) != segment.past() + i) {
                    throw new AssertionError("a draft row has another position than its source row");
                }
            }
        }
        return hashes;
    }

    List<Integer> rowsOfPasses() {
        List<Integer> rows = new ArrayList<>();
        for (Batch pass : passes) {
            rows.add(pass.rows());
        }
        return rows;
    }

    @Override
    public void close() {
        closed = true;
    }
}
