package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.ExpertWorkers;
import dev.strata.device.MissShare;
import dev.strata.expert.ArenaLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The processor's part of decode steps. One thread waits for questions of the card, lets the workers compute the experts where they lie
 * in RAM and raises the answer's number. Numbers are the epochs of the claims: a question is answered once, in order, and an answer to an
 * older one is none. A failure is answered too, so that the card goes on, and told at the end of the pass.
 */
final class ExpertPool implements AutoCloseable {
    private static final VarHandle WORD = JAVA_INT.varHandle();

    /** Where a blob lies in RAM. */
    @FunctionalInterface
    interface Blobs {
        /** Host address, 0 when the blob is not in RAM. */
        long address(int layer, int expert);
    }

    /** Hears how long both sides of a meeting took; called by the pool's thread. */
    @FunctionalInterface
    interface Timing {
        void met(int experts, long nanos, int linkExperts, long linkNanos);
    }

    private final ArenaLayout layout;
    private final ExpertWorkers workers;
    private final Blobs blobs;
    private final Timing timing;
    private final MemorySegment question;
    private final MemorySegment answer;
    private final int[] experts = new int[MissShare.MOST_EXPERTS];
    private final long[] addresses = new long[MissShare.MOST_EXPERTS];
    private final PoolFigures figures = new PoolFigures();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final NumberWatch questions;
    private int answered;
    private int lastLayer;
    private int lastExperts;
    private int lastLinked;
    private long lastNanos;

    ExpertPool(
            ArenaLayout layout,
            ExpertWorkers workers,
            Blobs blobs,
            Timing timing,
            MemorySegment question,
            MemorySegment answer) {
        this.layout = layout;
        this.workers = workers;
        this.blobs = blobs;
        this.timing = timing;
        this.question = question;
        this.answer = answer;
        questions = new NumberWatch("expert-pool", question, 0, this::answer);
    }

    void start() {
        questions.start();
    }

    /** A pass that may ask begins. */
    void begin() {
        questions.begin();
    }

    /**
     * All passes so far are over.
     *
     * @throws IllegalStateException what went wrong in one of them
     */
    void settle() {
        questions.settle();
        Throwable failed = failure.getAndSet(null);
        if (failed != null) {
            throw new IllegalStateException(
                    "the processor could not compute its part of the experts: " + failed, failed);
        }
    }

    PoolFigures figures() {
        return figures;
    }

    private void answer(int number) {
        long start = System.nanoTime();
        told();
        long computed = start;
        try {
            int layer = question.get(JAVA_INT, 4);
            int rows = question.get(JAVA_INT, 8);
            int used = question.get(JAVA_INT, 12);
            int count = question.get(JAVA_INT, 16);
            lastLinked = question.get(JAVA_INT, 20);
            lastExperts = count;
            lastLayer = layer;
            locate(layer, count);
            computed = System.nanoTime();
            workers.compute(
                    layout.layout(layer),
                    experts,
                    addresses,
                    count,
                    question.address() + 64 + 4L * MissShare.MOST_EXPERTS,
                    rows,
                    used,
                    question.address() + MissShare.QUESTION_HEADER,
                    answer.address() + MissShare.ANSWER_HEADER);
        } catch (RuntimeException | Error failed) {
            failure.compareAndSet(null, failed);
        }
        long end = System.nanoTime();
        answered = number;
        WORD.setRelease(answer, 0L, number);
        lastNanos = end - start;
        figures.met(
                lastExperts,
                layout.layout(lastLayer).blobBytes(),
                lastNanos,
                computed - start + System.nanoTime() - end);
    }

    private void locate(int layer, int count) {
        for (int i = 0; i < count; i++) {
            int expert = question.get(JAVA_INT, 64 + 4L * i);
            long address = blobs.address(layer, expert);
            if (address == 0) {
                throw new IllegalStateException("expert " + expert + " of layer " + layer + " is not in RAM");
            }
            experts[i] = expert;
            addresses[i] = address;
        }
    }

    /** The card times its own part of a meeting and tells it before it takes the answer. */
    private void told() {
        if (answered != 0 && question.get(JAVA_INT, 24) == answered) {
            long linkNanos = question.get(JAVA_INT, 28) & 0xffffffffL;
            figures.linked(lastLinked, linkNanos, lastNanos);
            timing.met(lastExperts, lastNanos, lastLinked, linkNanos);
        }
    }

    @Override
    public void close() {
        questions.close();
        workers.close();
    }
}
