package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.FinishReason;
import dev.strata.device.Batch;
import dev.strata.model.Model;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that uses the model. Each turn takes in what has arrived, ends what should end, lets waiting sequences begin, and runs one
 * pass: either the next chunk of prompts or one step of all sequences that decode.
 */
final class StepLoop implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(StepLoop.class);
    /** So many failed passes without a good one between them mean that the model itself is broken. */
    private static final int MOST_FAILURES = 8;

    private final Model model;
    private final Passes passes;
    private final SequenceStore store;
    private final Reading reading;
    private final Decoding decoding;
    private final Outcomes outcomes;
    private final Balance balance;
    private final ChunkPauses pauses;
    private final EngineCounters counters;
    private final TextSide text;
    private final int parallel;
    private final int chunk;
    private final int window;
    /** Whether sequences go on from cached texts. */
    private final boolean reuse;

    private final Consumer<Throwable> onDeath;

    private final Queue<List<Sequence>> inbox = new ConcurrentLinkedQueue<>();
    private final LoopTasks tasks = new LoopTasks();
    private final Queue<EmbeddingJob> embeddings = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<Sequence> waiting = new ArrayDeque<>();
    private final List<Sequence> running = new ArrayList<>();
    private final Thread thread;
    private final AtomicInteger notBegun = new AtomicInteger();
    private volatile int runningNow;
    private volatile boolean stopping;
    private volatile boolean awake;
    private volatile long passStarted;
    private boolean prompts;
    private boolean embeddingNext;
    private boolean bothWork;
    private long lastDecode;
    private int failures;

    StepLoop(
            Model model,
            Passes passes,
            SequenceStore store,
            Reading reading,
            Decoding decoding,
            Outcomes outcomes,
            Balance balance,
            EngineCounters counters,
            TextSide text,
            int parallel,
            int chunk,
            int window,
            boolean reuse,
            Consumer<Throwable> onDeath) {
        this.model = model;
        this.passes = passes;
        this.store = store;
        this.reading = reading;
        this.decoding = decoding;
        this.outcomes = outcomes;
        this.balance = balance;
        this.pauses = new ChunkPauses(balance, this::stepInChunk, passes.mostLogitRows());
        this.counters = counters;
        this.text = text;
        this.parallel = parallel;
        this.chunk = chunk;
        this.window = window;
        this.reuse = reuse;
        this.onDeath = onDeath;
        thread = Thread.ofPlatform().name("strata-steps").unstarted(this);
    }

    void start() {
        thread.start();
    }

    /** Sequences of one request, the first choice first. */
    void submit(List<Sequence> choices) {
        notBegun.addAndGet(choices.size());
        inbox.add(choices);
        wake();
    }

    void submit(EmbeddingJob job) {
        embeddings.add(job);
        wake();
    }

    /** Runs {@code work} on the thread that uses the model, between two passes; as {@link LoopTasks#call}. */
    <T> T call(Callable<T> work) {
        return tasks.call(work, thread, this::wake);
    }

    void wake() {
        awake = true;
        LockSupport.unpark(thread);
    }

    int waiting() {
        return notBegun.get();
    }

    int running() {
        return runningNow;
    }

    /** When the pass that runs now began, in {@link System#nanoTime}; 0 when none runs. */
    long passStarted() {
        return passStarted;
    }

    /** Ends everything that runs or waits as cancelled, then the thread. */
    void stop() throws InterruptedException {
        stopping = true;
        wake();
        thread.join();
    }

    @Override
    public void run() {
        try {
            while (!stopping) {
                try {
                    turn();
                } catch (Throwable broken) {
                    outcomes.flush();
                    throw broken;
                } finally {
                    runningNow = running.size();
                }
            }
            sweep(true);
            outcomes.flush();
            tasks.cancel();
        } catch (Throwable broken) {
            LOG.error("the engine has failed and takes no more requests", broken);
            onDeath.accept(broken);
            abandon(Errors.dead(broken.toString()));
        }
    }

    private void turn() {
        if (decoding.ahead().running()) {
            List<Part> live = decoding.ahead().live();
            if (!live.isEmpty()) {
                pass(live, false);
                return;
            }
            decoding.ahead().drop();
        }
        awake = false;
        takeIn();
        tasks.run(outcomes::flush);
        sweep(false);
        admit();
        boolean reads = false;
        boolean decodes = false;
        for (Sequence sequence : running) {
            reads |= sequence.reading();
            decodes |= !sequence.reading();
        }
        EmbeddingJob job = embeddings.peek();
        if (prompts && !reads && job == null) {
            model.promptFinished();
        }
        prompts = reads || job != null;
        bothWork = decodes && (reads || job != null);
        if (!decodes) {
            lastDecode = 0;
        }
        if (balance.readNext(reads || job != null, decodes)) {
            outcomes.flush();
            // One chunk a turn, so that answers never wait for two.
            embeddingNext = job != null && (!reads || !embeddingNext);
            if (job != null && embeddingNext) {
                embed(job);
            } else {
                pass(reading.plan(running), true);
            }
        } else if (decodes) {
            outcomes.flushBeforePass();
            pass(decoding.plan(running), false);
        } else {
            outcomes.flush();
            if (!awake && !stopping) {
                LockSupport.park(this);
            }
        }
    }

    private void takeIn() {
        List<Sequence> choices;
        while ((choices = inbox.poll()) != null) {
            waiting.addAll(choices);
        }
    }

    /** Ends what was cancelled or is overdue. */
    private void sweep(boolean everything) {
        long now = System.nanoTime();
        for (Iterator<Sequence> each = waiting.iterator(); each.hasNext(); ) {
            Sequence sequence = each.next();
            if (everything || sequence.request.shouldEnd(now)) {
                each.remove();
                notBegun.decrementAndGet();
                end(sequence, everything, now);
            }
        }
        for (Sequence sequence : running) {
            if (everything || sequence.request.shouldEnd(now)) {
                end(sequence, everything, now);
            }
        }
        retire();
        EmbeddingJob job = embeddings.peek();
        while (job != null && (everything || job.sequence.request.cancelled())) {
            store.release(job.sequence);
            job.result.cancel(false);
            embeddings.remove();
            job = embeddings.peek();
        }
    }

    private void end(Sequence sequence, boolean stop, long now) {
        if (stop || sequence.request.cancelled()) {
            outcomes.finish(sequence, FinishReason.CANCELLED, now);
        } else {
            outcomes.fail(sequence, Errors.overdue(), now);
        }
        leave(sequence);
    }

    /** First come, first served; a choice that shares its prompt waits until the first choice has read it. */
    private void admit() {
        Iterator<Sequence> each = waiting.iterator();
        while (running.size() < parallel && each.hasNext()) {
            Sequence sequence = each.next();
            if (sequence.choice > 0 && !sequence.begun && !sequence.request.leaderGone) {
                continue;
            }
            if (!fits(sequence)) {
                return;
            }
            each.remove();
            begin(sequence);
            running.add(sequence);
            runningNow = running.size();
            notBegun.decrementAndGet();
        }
    }

    /** Whether the text as it is now has room beside those that run; alone it always begins. */
    private boolean fits(Sequence sequence) {
        int left = model.pages() - (sequence.length() + window + Batch.PAGE - 1) / Batch.PAGE - 1;
        for (Sequence other : running) {
            left -= other.pageCount;
        }
        return left >= 0 || running.isEmpty();
    }

    private void begin(Sequence sequence) {
        ActiveRequest request = sequence.request;
        boolean again = sequence.begun;
        if (!again) {
            sequence.begun = true;
            outcomes.begin(sequence);
            PromptEcho.plain(sequence, text, outcomes);
        }
        store.begin(sequence, reuse && !PromptEcho.wanted(request));
        store.places().enter(sequence);
        model.expect(sequence.tokens(), sequence.past, sequence.length());
        if (!again) {
            counters.promptTokensReused.add(sequence.reused);
            if (request.cachedTokens < 0) {
                request.cachedTokens = sequence.reused;
            }
            if (sequence.choice > 0) {
                request.followed();
            }
        }
    }

    private void pass(List<Part> planned, boolean reads) {
        List<Part> parts = planned;
        while (!parts.isEmpty() && !havePages(parts, reads)) {
            parts = reads ? reading.plan(running) : decoding.plan(running);
        }
        if (parts.isEmpty()) {
            return;
        }
        long started = System.nanoTime();
        passStarted = started;
        try {
            if (reads) {
                pauses.begin(started, bothWork);
                reading.run(parts, decodingNow(), pauses);
            } else {
                decoding.run(parts, calm(parts));
            }
            failures = 0;
        } catch (RuntimeException e) {
            failed(parts, e);
        } finally {
            passStarted = 0;
        }
        account(started, reads);
        retire();
    }

    /** Whether nothing but the next token of these sequences waits for the model. */
    private boolean calm(List<Part> parts) {
        if (awake || stopping || parts.size() < running.size() || !embeddings.isEmpty()) {
            return false;
        }
        long now = System.nanoTime();
        for (Sequence sequence : running) {
            if (sequence.request.shouldEnd(now)) {
                return false;
            }
        }
        return waiting.isEmpty() || running.size() >= parallel;
    }

    private int decodingNow() {
        int count = 0;
        for (Sequence sequence : running) {
            count += sequence.reading() ? 0 : 1;
        }
        return count;
    }

    private void account(long started, boolean reads) {
        long now = System.nanoTime();
        if (reads) {
            long own = now - started - pauses.end(now);
            counters.readPasses.increment();
            counters.readNanos.add(own);
            shareRead(now, own);
        } else {
            counters.decodePasses.increment();
            counters.decodeNanos.add(now - started);
            balance.didDecode(now - started);
            if (bothWork) {
                counters.sharing.decode(now, now - started);
            }
            if (lastDecode != 0) {
                counters.gap(now, now - lastDecode);
            }
            lastDecode = now;
        }
    }

    private void shareRead(long now, long nanos) {
        if (bothWork) {
            counters.sharing.read(now, nanos);
        }
    }

    /** A step between two layers of a chunk, over sequences that are not in it; false when there is none, or none that needs no room of others. */
    private boolean stepInChunk() {
        List<Part> parts = decoding.plan(running);
        if (parts.isEmpty() || stopping || !parts.stream().allMatch(part -> reserve(part, true))) {
            return false;
        }
        long started = System.nanoTime();
        passStarted = started;
        try {
            decoding.run(parts, false);
            failures = 0;
        } catch (RuntimeException e) {
            failed(parts, e);
        }
        account(started, false);
        retire();
        outcomes.flush();
        // The watchdog sees that the chunk gets on.
        passStarted = System.nanoTime();
        return true;
    }

    /** Gets the pages that the pass will write; returns false when a sequence had to make room, so that the pass has to be planned anew. */
    private boolean havePages(List<Part> parts, boolean reads) {
        for (Part part : parts) {
            if (!reserve(part, !reads || part.rows() == part.sequence().unread())) {
                makeRoom(part.sequence());
                return false;
            }
        }
        return true;
    }

    /** Gets the pages of a part, and of drafts behind its last token when there is room for them; false when there is none for the part. */
    private boolean reserve(Part part, boolean last) {
        if (!store.reach(part.sequence(), part.past() + part.rows())) {
            return false;
        }
        int wish = part.sequence().length() + window;
        if (last && (long) part.sequence().pageCount * Batch.PAGE < wish) {
            store.reach(part.sequence(), wish);
        }
        return true;
    }

    /** The sequence that began last goes back to the head of the queue and is read again later. */
    private void makeRoom(Sequence needing) {
        Sequence last = running.getLast();
        if (running.size() == 1) {
            running.clear();
            outcomes.fail(
                    needing,
                    new ApiError(
                            ApiError.Kind.INTERNAL,
                            "no_pages",
                            "the key-value cache has too few pages for a text of " + needing.length() + " tokens",
                            null),
                    System.nanoTime());
            leave(needing);
            store.release(needing);
            return;
        }
        LOG.info("request {} waits for pages of the key-value cache", last.request.number);
        counters.preemptions.increment();
        running.removeLast();
        requeue(last);
    }

    private void requeue(Sequence sequence) {
        store.release(sequence);
        waiting.addFirst(sequence);
        notBegun.incrementAndGet();
    }

    /**
     * A pass failed. Alone, the sequence was the reason; of several, each is read again alone, so that one cannot take the others down.
     */
    private void failed(List<Part> parts, RuntimeException error) {
        // A file that cannot be read fails the requests that need it, however many; it may come back.
        if (!(error instanceof UncheckedIOException) && ++failures > MOST_FAILURES) {
            throw error;
        }
        LOG.error("a pass over {} sequences failed", parts.size(), error);
        decoding.ahead().drop();
        long now = System.nanoTime();
        for (int i = parts.size() - 1; i >= 0; i--) {
            Sequence sequence = parts.get(i).sequence();
            if (sequence.ended) {
                continue;
            }
            if (parts.size() == 1) {
                outcomes.fail(sequence, Errors.pass(error), now);
                leave(sequence);
                store.release(sequence);
                running.remove(sequence);
            } else {
                sequence.suspect = true;
                running.remove(sequence);
                requeue(sequence);
            }
        }
    }

    private void embed(EmbeddingJob job) {
        long started = System.nanoTime();
        passStarted = started;
        pauses.begin(started, bothWork);
        Sequence sequence = job.sequence;
        try {
            if (!sequence.hasSlot()) {
                store.begin(sequence, false);
            }
            int rows = Math.min(chunk, sequence.unread());
            if (!store.reach(sequence, sequence.past + rows)) {
                if (running.isEmpty()) {
                    throw new IllegalStateException("the key-value cache has too few pages for this text");
                }
                makeRoom(running.getLast());
                return;
            }
            job.read(passes, model, chunk, pauses);
        } catch (RuntimeException e) {
            LOG.error("an embedding failed", e);
            job.result.completeExceptionally(new ApiException(Errors.pass(e)));
        } finally {
            passStarted = 0;
        }
        long now = System.nanoTime();
        shareRead(now, now - started - pauses.end(now));
        if (job.result.isDone()) {
            store.release(sequence);
            embeddings.remove();
        }
    }

    /** Takes ended sequences out of the model; what they leave behind is kept for texts that go on from there. */
    private void retire() {
        for (Iterator<Sequence> each = running.iterator(); each.hasNext(); ) {
            Sequence sequence = each.next();
            if (sequence.ended) {
                each.remove();
                if (sequence.generated() > 0 && !sequence.suspect && sequence.unread() <= 1) {
                    store.keep(sequence, false);
                }
                store.release(sequence);
                leave(sequence);
            }
        }
    }

    /** A choice is over: the others need not wait for it to read the prompt. */
    private static void leave(Sequence sequence) {
        ActiveRequest request = sequence.request;
        if (sequence.choice == 0) {
            request.leaderGone = true;
        } else if (!sequence.begun) {
            sequence.begun = true;
            request.followed();
        }
    }

    /** The engine is dead; whoever declared it so has told the clients. */
    private void abandon(ApiError error) {
        inbox.clear();
        waiting.clear();
        running.clear();
        notBegun.set(0);
        runningNow = 0;
        for (EmbeddingJob job : embeddings) {
            job.result.completeExceptionally(new ApiException(error));
        }
        embeddings.clear();
        tasks.cancel();
    }
}
