package dev.strata.engine;

import static dev.strata.engine.EngineFixture.expected;
import static dev.strata.engine.EngineFixture.prompt;
import static dev.strata.engine.EngineFixture.request;
import static dev.strata.engine.EngineFixture.seeded;
import static dev.strata.engine.EngineFixture.tokens;
import static dev.strata.engine.EngineFixture.withTimeout;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.FinishReason;
import dev.strata.api.Generation;
import dev.strata.api.SamplingOptions;
import dev.strata.config.EngineOptions.Speculation;
import dev.strata.device.Batch;
import dev.strata.sampling.TokenConstraint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sequences that share the model: steps, pages, the queue, cancelling. */
@Timeout(60)
class ConcurrencyTest {
    @Test
    void sequencesShareStepsAndKeepTheirTexts() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 4;
        builder.chunk = 32;
        builder.queue = 40;
        builder.pages = 200;
        builder.drafts = true;
        builder.speculation = new Speculation(true, 4, 0.5f, 0);
        try (EngineFixture fixture = builder.start()) {
            List<Collector> answers = new ArrayList<>();
            for (int i = 0; i < 24; i++) {
                answers.add(fixture.begin(request(prompt(tokens(5 + i * 9, i)), 30 + i)));
            }
            for (int i = 0; i < 24; i++) {
                assertEquals(
                        expected(tokens(5 + i * 9, i), 30 + i),
                        answers.get(i).awaitEnd().text());
            }
            assertTrue(fixture.model.passes.stream()
                    .anyMatch(pass -> pass.segments().size() > 1));
        }
    }

    /** Steps begun before the host knows their tokens: the same texts, and the same states for those that go on from them. */
    @ParameterizedTest
    @ValueSource(floats = {0, 0.9f})
    void stepsAheadChangeNoText(float temperature) {
        List<List<String>> both = new ArrayList<>();
        for (boolean foresees : new boolean[] {false, true}) {
            EngineFixture.Builder builder = new EngineFixture.Builder();
            builder.parallel = 3;
            builder.queue = 40;
            builder.pages = 100;
            builder.foresees = foresees;
            List<String> texts = new ArrayList<>();
            try (EngineFixture fixture = builder.start()) {
                fixture.model.endAfter = 130;
                for (int round = 0; round < 2; round++) {
                    List<Collector> answers = new ArrayList<>();
                    for (int i = 0; i < 7; i++) {
                        int[] prompt = tokens(30 + 10 * i + 70 * round, i);
                        answers.add(fixture.begin(
                                request(prompt(prompt), 10 + 20 * i, 1, seeded(temperature, i), List.of())));
                    }
                    answers.forEach(answer -> texts.add(answer.awaitEnd().text()));
                }
                // Goes on from where an answer ended.
                int[] first = tokens(40, 9);
                Collector shorter = fixture.begin(request(prompt(first), 20, 1, seeded(0, 1), List.of()));
                texts.add(shorter.awaitEnd().text());
                int[] longer = Arrays.copyOf(first, 63);
                System.arraycopy(FakeModel.continuation(first, 20), 0, longer, 40, 20);
                Collector next = fixture.begin(request(prompt(longer), 20, 1, seeded(0, 1), List.of()));
                texts.add(next.awaitEnd().text());
                assertEquals(foresees, fixture.model.begunAhead > 50, fixture.model.begunAhead + " steps ahead");
            }
            both.add(texts);
        }
        assertEquals(both.get(0), both.get(1));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tooFewPagesMakeTheYoungestWaitAndNothingIsLost(boolean foresees) {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.foresees = foresees;
        builder.parallel = 3;
        builder.pages = 7;
        builder.context = 320;
        builder.queue = 20;
        try (EngineFixture fixture = builder.start()) {
            List<Collector> answers = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                answers.add(fixture.begin(request(prompt(tokens(60, i)), 200)));
            }
            for (int i = 0; i < 8; i++) {
                assertEquals(
                        expected(tokens(60, i), 200), answers.get(i).awaitEnd().text());
            }
            assertTrue(fixture.engine.parts().counters().preemptions.sum() > 0);
        }
    }

    @Test
    void aFullQueueRefusesAndNamesWhy() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.queue = 2;
        Semaphore gate = new Semaphore(0);
        try (EngineFixture fixture = builder.start()) {
            CountDownLatch inPass = new CountDownLatch(1);
            fixture.model.before = batch -> {
                inPass.countDown();
                gate.acquireUninterruptibly();
            };
            List<Collector> accepted = new ArrayList<>();
            accepted.add(submit(fixture));
            await(inPass);
            accepted.add(submit(fixture));
            accepted.add(submit(fixture));
            ApiException error = assertThrows(ApiException.class, () -> submit(fixture));
            assertEquals(ApiError.Kind.BUSY, error.error().kind());
            assertEquals(1, fixture.engine.parts().counters().refused.sum());
            gate.release(1000);
            accepted.forEach(Collector::awaitEnd);
        }
    }

    private static Collector submit(EngineFixture fixture) {
        return fixture.begin(request(prompt(3, 4), 2));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(20, java.util.concurrent.TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void cancelTakesEffectWithinOneChunkOrStep() throws InterruptedException {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.chunk = 10;
        try (EngineFixture fixture = builder.start()) {
            AtomicReference<Generation> running = new AtomicReference<>();
            CountDownLatch known = new CountDownLatch(1);
            fixture.model.before = batch -> {
                await(known);
                if (fixture.model.passes.size() == 3) {
                    Objects.requireNonNull(running.get()).cancel();
                }
            };
            Collector collector = new Collector();
            running.set(fixture.engine.generate(request(prompt(tokens(500, 1)), 50), collector));
            known.countDown();
            assertEquals(FinishReason.CANCELLED, collector.awaitEnd().end().reason());
            assertEquals(4, fixture.model.passes.size(), "the pass that ran when it was cancelled is the last");
            assertTrue(
                    fixture.model.promptsFinished.tryAcquire(5, java.util.concurrent.TimeUnit.SECONDS),
                    "what prompts borrow goes back");
        }
    }

    @Test
    void cancellingAWaitingRequestLeavesTheRunningOneAlone() {
        Semaphore gate = new Semaphore(0);
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            fixture.model.before = batch -> gate.acquireUninterruptibly();
            Collector first = fixture.begin(request(prompt(tokens(20, 1)), 30));
            Collector second = new Collector();
            fixture.engine.generate(request(prompt(tokens(20, 2)), 30), second).cancel();
            gate.release(1);
            assertEquals(FinishReason.CANCELLED, second.awaitEnd().end().reason());
            gate.release(1000);
            assertEquals(expected(tokens(20, 1), 30), first.awaitEnd().text());
        }
    }

    @Test
    void aTimeLimitEndsTheRequestAsFailed() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            Collector collector = fixture.run(withTimeout(request(prompt(tokens(20, 1)), 30), Duration.ofNanos(1)));
            assertEquals("timeout", collector.error().code());
        }
    }

    /** Drafts that the answer's rule forbids take part in no pass. */
    @Test
    void forbiddenDraftsAreNotVerified() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.speculation = new Speculation(false, 6, 0.5f, 3);
        try (EngineFixture fixture = builder.start()) {
            // The model would write 9 for ever, and so would the drafts; the rule wants 8 in every fifth place.
            fixture.model.constant = 9;
            fixture.text.constraints = () -> new EveryFifth(0);
            Collector answer = fixture.run(request(prompt(3, 4, 5), 60));
            assertEquals((FakeText.character(9).repeat(4) + FakeText.character(8)).repeat(12), answer.text());
            assertTrue(answer.end().timings().acceptedDraftTokens() > 20);
            for (Batch pass : fixture.model.passes) {
                Batch.Segment segment = pass.segments().getFirst();
                for (int row = 0; row < pass.rows(); row++) {
                    int place = segment.past() + row - 3;
                    if (place >= 0) {
                        assertEquals(place % 5 == 4 ? 8 : 9, pass.tokens()[row], "at " + place);
                    }
                }
            }
        }
    }

    private static final class EveryFifth implements TokenConstraint {
        private int place;

        EveryFifth(int place) {
            this.place = place;
        }

        @Override
        public long[] allowed() {
            return new long[] {1L << (place % 5 == 4 ? 8 : 9), 0};
        }

        @Override
        public void accept(int token) {
            place++;
        }

        @Override
        public boolean finished() {
            return false;
        }

        @Override
        public TokenConstraint fork() {
            return new EveryFifth(place);
        }
    }

    @Test
    void promptsInterleaveWithDecoding() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 2;
        builder.chunk = 10;
        try (EngineFixture fixture = builder.start()) {
            Collector streaming = fixture.begin(request(prompt(3), 1000));
            streaming.awaitBegun();
            int before = fixture.model.passes.size();
            fixture.run(request(prompt(tokens(200, 1)), 1));
            // A copy first: the other answer goes on, and a view of a list that grows cannot be read.
            List<Batch> all = List.copyOf(fixture.model.passes);
            List<Batch> passes = all.subList(before, all.size());
            int longest = 0;
            int chunks = 0;
            for (Batch pass : passes) {
                chunks = pass.rows() > 1 && pass.segments().size() == 1 ? chunks + 1 : 0;
                longest = Math.max(longest, chunks);
            }
            assertEquals(1, longest, "no two chunks without a step of the other answer between them");
            streaming.awaitEnd();
        }
    }

    @Test
    void sequencesMayGoAloneAndInTurn() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 3;
        builder.alone = true;
        builder.pages = 100;
        try (EngineFixture fixture = builder.start()) {
            List<Collector> answers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                answers.add(fixture.begin(request(prompt(tokens(100, i)), 300)));
            }
            answers.forEach(Collector::awaitEnd);
            Collector again = fixture.run(request(prompt(tokens(100, 1)), 300));
            assertEquals(answers.get(1).text(), again.text());
            assertEquals(0, again.end().usage().cachedTokens());
            assertTrue(fixture.model.passes.stream()
                    .allMatch(pass -> pass.segments().size() == 1));
            long turns = 0;
            int before = -1;
            for (Batch pass : fixture.model.passes) {
                int slot = pass.segments().getFirst().slot();
                turns += slot != before ? 1 : 0;
                before = slot;
            }
            assertTrue(turns > 400, "answers take turns: " + turns);
        }
    }

    @Test
    void abortedRequestsLeaveNothingBehind() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 4;
        builder.chunk = 16;
        builder.queue = 1000;
        try (EngineFixture fixture = builder.start()) {
            Random random = new Random(3);
            List<Collector> answers = new ArrayList<>();
            for (int i = 0; i < 1000; i++) {
                int choices = i % 50 == 0 ? 3 : 1;
                Collector collector = new Collector(choices);
                Generation generation = fixture.engine.generate(
                        request(
                                prompt(tokens(1 + random.nextInt(60), i)),
                                200,
                                choices,
                                SamplingOptions.DEFAULTS,
                                List.of()),
                        collector);
                if (i % 3 == 0) {
                    Thread.yield();
                }
                generation.cancel();
                answers.add(collector);
            }
            answers.forEach(Collector::awaitEnd);
            // A last request orders this thread behind everything the step loop did before.
            fixture.run(request(prompt(9), 1));
            fixture.engine.close();
            SequenceStore store = fixture.store();
            assertEquals(0, fixture.engine.waiting());
            assertEquals(store.pages().total(), store.pages().free() + distinctCached(store));
            assertEquals(
                    fixture.model.slots() - store.tree().checkpoints(),
                    store.slots().free());
            store.tree().clear();
            assertEquals(0, store.pages().heldInAll());
            assertEquals(fixture.model.slots(), store.slots().free());
        }
    }

    private static int distinctCached(SequenceStore store) {
        return store.tree().nodes();
    }

    @Test
    void closingCancelsWhatRuns() {
        EngineFixture fixture = new EngineFixture.Builder().start();
        Collector running = fixture.begin(request(prompt(3), 2000));
        running.awaitBegun();
        fixture.close();
        assertEquals(FinishReason.CANCELLED, running.awaitEnd().end().reason());
        assertTrue(fixture.model.closed);
    }

    @Test
    void anInterruptedCallerStillWaitsForItsWork() throws Exception {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            StepLoop loop = fixture.engine.parts().loop();
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch interrupted = new CountDownLatch(1);
            FutureTask<Integer> result = new FutureTask<>(() -> {
                Thread caller = Thread.currentThread();
                int value = loop.call(() -> {
                    begun.countDown();
                    interrupted.await();
                    // Until the caller has noticed; it clears its flag then.
                    while (caller.isInterrupted() && caller.isAlive()) {
                        Thread.onSpinWait();
                    }
                    return 5;
                });
                return caller.isInterrupted() ? value : -1;
            });
            Thread caller = Thread.ofPlatform().start(result);
            begun.await();
            caller.interrupt();
            interrupted.countDown();
            assertEquals(5, result.get(20, TimeUnit.SECONDS), "the result, and the interruption is kept");
        }
    }
}
