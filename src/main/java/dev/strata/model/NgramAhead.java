package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the table rows of large passes on a thread of its own: those of a prompt's first pass from the time on when its tokens are known,
 * those of later passes while the device computes the ones before, all others beside the layers in front of the n-gram layer. One thread
 * runs passes; {@link #request} may come from any.
 */
final class NgramAhead implements AutoCloseable {
    /** Positions that are read beyond a pass, so that a prompt whose beginning turns out to be cached still finds its first pass. */
    static final int SLACK = 1024;

    /** Texts behind the one that is being read whose rows are brought into the table's cache. */
    private static final int MOST_WAITING = 4;

    private final NgramTable table;
    private final NgramRows rows;
    private final int leastRows;
    private final int mostRows;
    private final Supplier<MemorySegment> allocate;
    /** Its thread's while that reads. */
    private @Nullable MemorySegment memory;

    private @Nullable ExecutorService thread;
    private @Nullable Text current;
    private final ArrayDeque<Text> waiting = new ArrayDeque<>();
    private @Nullable Read read;
    private boolean inPass;
    /** Rows of the passes that texts are read by. */
    private int usual;

    private boolean closed;

    /**
     * @param leastRows passes of fewer rows do without it
     * @param mostRows rows of the largest pass
     * @param allocate memory for so many rows and {@value #SLACK} more; asked once, when the first rows are read
     */
    NgramAhead(NgramTable table, NgramRows rows, int leastRows, int mostRows, Supplier<MemorySegment> allocate) {
        this.table = table;
        this.rows = rows;
        this.leastRows = leastRows;
        this.mostRows = mostRows;
        this.usual = mostRows;
        this.allocate = allocate;
    }

    /**
     * A text that will be read or is being read.
     *
     * @param next position of the first token that no pass has read
     * @param reach position up to which rows are read at once
     * @param begun whether a pass has read some of it
     */
    private record Text(int[] tokens, int next, int reach, boolean begun) {}

    /**
     * What the memory holds, or will hold.
     *
     * @param tokens the text whose positions {@code from} to {@code to} they are; null: those of one pass
     */
    private record Read(int @Nullable [] tokens, int from, int to, Future<?> done) {}

    /** The first {@code count} tokens of a text are known, whose turn will come; any thread. */
    synchronized void request(int[] tokens, int count) {
        if (closed) {
            return;
        }
        int first = Math.min(count, mostRows + SLACK);
        Text text = new Text(Arrays.copyOf(tokens, first), 0, first, false);
        if (!inPass && current == null) {
            begin(text);
        } else if (waiting.size() < MOST_WAITING) {
            waiting.addLast(text);
            fetch(text.tokens, 0, first);
        }
    }

    /** Passes over positions {@code from} to {@code to} of a text begin soon. */
    synchronized void expect(int[] tokens, int from, int to) {
        Text text = new Text(Arrays.copyOf(tokens, to), from, reach(from, to), false);
        waiting.removeIf(request -> begins(text.tokens, request.tokens, request.tokens.length));
        Read now = read;
        if (to - from < leastRows) {
            if (current != null && !current.begun && now != null && isOf(now, text.tokens)) {
                current = null;
            }
        } else if (now != null && now.from <= from && from < now.to && isOf(now, text.tokens)) {
            current = text;
            read = new Read(text.tokens, now.from, now.to, now.done);
            fetch(text.tokens, now.to, to);
        } else if (!inPass && (current == null || !current.begun)) {
            begin(text);
            fetch(text.tokens, text.reach, to);
        } else {
            waiting.addFirst(text);
            fetch(text.tokens, from, to);
        }
    }

    private int reach(int from, int end) {
        return Math.min(end, from + usual);
    }

    /** Whether what is being read is of {@code tokens}, as far as it goes. */
    private static boolean isOf(Read now, int[] tokens) {
        return now.tokens != null && begins(tokens, now.tokens, now.to);
    }

    private static boolean begins(int[] tokens, int[] other, int count) {
        return count <= tokens.length && Arrays.equals(other, 0, count, tokens, 0, count);
    }

    /** A pass begins: what it needs is on its way from now on. */
    synchronized void begin(Batch batch) {
        inPass = true;
        Batch.Segment last = batch.segments().getLast();
        if (current == null || !rows.areOf(current.tokens, batch, last)) {
            Optional<Text> found = waiting.stream()
                    .filter(text -> rows.areOf(text.tokens, batch, last))
                    .findFirst();
            found.ifPresent(waiting::remove);
            current = found.orElse(null);
        }
        if (!holds(batch, last)) {
            Text own = current;
            if (own != null && batch.segments().size() == 1) {
                usual = Math.max(usual, last.rows());
                begin(goingOn(own, last.past()));
            } else {
                start(null, 0, batch.rows(), () -> rows.of(batch));
            }
        }
    }

    private boolean holds(Batch batch, Batch.Segment last) {
        Read now = read;
        Text text = current;
        return now != null
                && text != null
                && text.tokens == now.tokens
                && batch.segments().size() == 1
                && now.from <= last.past()
                && last.past() + last.rows() <= now.to;
    }

    /** The rows of the pass that has begun, after waiting for them. Valid until {@link #end}. */
    MemorySegment take(Batch batch) {
        Read now;
        synchronized (this) {
            now = Objects.requireNonNull(read);
        }
        long start = System.nanoTime();
        boolean done = await(now.done);
        table.waited(System.nanoTime() - start);
        int first = now.tokens == null ? 0 : batch.segments().getLast().past() - now.from;
        MemorySegment target = memory();
        if (!done) {
            // Reading it again reports why.
            first = 0;
            long[] wanted = rows.of(batch);
            table.read(wanted, wanted.length, target);
            synchronized (this) {
                read = null;
            }
        }
        long bytes = 4L * rows.heads() * table.rowElements();
        return target.asSlice(first * bytes, batch.rows() * bytes);
    }

    /** What was taken has been used: goes on with the text, or with the next one. */
    synchronized void end(Batch batch) {
        inPass = false;
        Batch.Segment last = batch.segments().getLast();
        int next = last.past() + last.rows();
        if (current == null || next >= current.tokens.length) {
            Text coming = waiting.pollFirst();
            current = null;
            if (coming != null && !closed) {
                begin(coming);
            }
            return;
        }
        usual = batch.rows();
        Text text = goingOn(current, next);
        current = text;
        Read now = read;
        boolean enough = now != null && now.tokens == text.tokens && now.to >= text.reach;
        if (!enough && !closed) {
            begin(text);
        }
    }

    private Text goingOn(Text text, int position) {
        return new Text(text.tokens, position, reach(position, text.tokens.length), true);
    }

    private void begin(Text text) {
        current = text;
        int[] tokens = text.tokens;
        int from = text.next;
        int to = text.reach;
        start(tokens, from, to, () -> rows.of(tokens, from, to));
    }

    private void start(int @Nullable [] tokens, int from, int to, Supplier<long[]> which) {
        Future<?> done = thread().submit(() -> {
            long[] wanted = which.get();
            table.readAhead(wanted, wanted.length, memory());
        });
        read = new Read(tokens, from, to, done);
    }

    /** Lets the table fetch what it keeps in a cache. */
    private void fetch(int[] tokens, int from, int to) {
        if (from < to) {
            thread().execute(() -> {
                long[] coming = rows.of(tokens, from, to);
                table.expect(coming, coming.length);
            });
        }
    }

    private MemorySegment memory() {
        MemorySegment there = memory == null ? allocate.get() : memory;
        memory = there;
        return there;
    }

    private ExecutorService thread() {
        ExecutorService there = thread == null
                ? Executors.newSingleThreadExecutor(
                        Thread.ofPlatform().daemon().name("ngram-rows").factory())
                : thread;
        thread = there;
        return there;
    }

    private static boolean await(Future<?> running) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    running.get();
                    return true;
                } catch (InterruptedException stop) {
                    // The thread writes into the memory until it is done.
                    interrupted = true;
                } catch (ExecutionException failed) {
                    return false;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        ExecutorService last;
        synchronized (this) {
            closed = true;
            last = thread;
        }
        if (last != null) {
            last.close();
        }
    }
}
