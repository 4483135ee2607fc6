package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.EngineOptions;
import dev.strata.device.Batch;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Prompts and answers share the model as STRATA_BATCH_DECODE_SHARE says. */
class SharingTest {
    private static final long SECOND = 1_000_000_000L;

    /** Runs both for ten seconds of a clock of its own: chunks of 900 ms, steps of 7 ms. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 0.25, 0.5, 0.9})
    void decodingGetsItsShareOverTenSeconds(double share) {
        Balance balance = new Balance(share);
        SharingWindow window = new SharingWindow();
        long now = 0;
        long lastDecode = 0;
        while (now < 10 * SECOND - 1) {
            boolean read = balance.readNext(true, true);
            long took = Math.min(read ? 900_000_000L : 7_000_000L, 10 * SECOND - 1 - now);
            now += took;
            if (read) {
                balance.didRead(took);
                window.read(now, took);
            } else {
                balance.didDecode(took);
                window.decode(now, took);
                window.gap(now, now - lastDecode);
                lastDecode = now;
            }
        }
        Map<String, Object> figures = window.figures(now);
        assertEquals(share, number(figures, "decode_share"), 0.1);
        assertEquals(900.0, number(figures, "longest_chunk_ms"), 1e-6);
        double gap = number(figures, "longest_gap_ms");
        assertTrue(gap <= 907.0001, "one chunk and one step, not " + gap);
        assertFalse(
                window.figures(now + 11 * SECOND).containsKey("decode_share"), "ten seconds later all is forgotten");
    }

    /** Prompts of one chunk that come as soon as the one before has been read: none of them begins before the last one is paid for. */
    @Test
    void shortPromptsInARowTakeTurnsToo() {
        Balance balance = new Balance(0.5);
        long read = 0;
        long decoded = 0;
        for (int prompt = 0; prompt < 20; prompt++) {
            assertFalse(balance.readNext(false, true), "a step between two prompts");
            balance.didDecode(5_000_000);
            decoded += 5_000_000;
            while (!balance.readNext(true, true)) {
                balance.didDecode(5_000_000);
                decoded += 5_000_000;
            }
            balance.didRead(100_000_000);
            read += 100_000_000;
        }
        assertEquals(0.5, (double) decoded / (read + decoded), 0.03);
        assertTrue(balance.readNext(true, false), "without answers nothing is owed");
    }

    private static double number(Map<String, Object> figures, String name) {
        return figures.get(name) instanceof Double value ? value : Double.NaN;
    }

    /** On a card clients are served while it computes; elsewhere they do not wait for the next step. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void textLeavesWhileTheNextStepIsComputedBesideIt(boolean ahead) {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.ahead = ahead;
        try (EngineFixture fixture = builder.start()) {
            Collector answer = new Collector();
            List<Integer> begun = new ArrayList<>();
            answer.also = delta -> begun.add(fixture.model.passes.size());
            fixture.engine.generate(
                    EngineFixture.request(EngineFixture.prompt(EngineFixture.tokens(20, 1)), 5), answer);
            answer.awaitEnd();
            // The last token and the end of the answer have no step behind them.
            assertEquals(ahead ? List.of(2, 3, 4, 5, 5, 5) : List.of(1, 2, 3, 4, 5, 5), begun);
        }
    }

    /** Where a chunk can wait between its layers, answers go on meanwhile; one that breaks there takes nobody along. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void answersGoOnBetweenTheLayersOfAChunk(boolean drafts) throws InterruptedException {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 4;
        builder.pages = 200;
        builder.drafts = drafts;
        if (drafts) {
            builder.speculation = EngineOptions.Speculation.DEFAULTS;
        }
        try (EngineFixture fixture = builder.start()) {
            int[] first = EngineFixture.tokens(20, 1);
            int[] second = EngineFixture.tokens(25, 2);
            int[] prompt = EngineFixture.tokens(1200, 3);
            // What a pass took is owed to the answers at once: the first one is not to load classes as well, and
            // answers are not to end with its time.
            fixture.run(EngineFixture.request(EngineFixture.prompt(EngineFixture.tokens(90, 4)), 20));
            fixture.model.before = batch -> LockSupport.parkNanos(100_000);
            // All are there when the first pass begins.
            CountDownLatch asked = new CountDownLatch(1);
            Thread holder = holdLoop(fixture, asked);
            // One whose logits are no numbers, which is met in the middle of somebody's chunk.
            fixture.model.poisonedPosition = 200;
            Collector answer = new Collector();
            // While nothing decodes, no pass is to wait for what is due.
            answer.also = delta -> fixture.model.layers = 6;
            fixture.engine.generate(EngineFixture.request(EngineFixture.prompt(first), 300), answer);
            Collector other = fixture.begin(EngineFixture.request(EngineFixture.prompt(second), 150));
            Collector read = fixture.begin(EngineFixture.request(EngineFixture.prompt(prompt), 5));
            asked.countDown();
            assertEquals(EngineFixture.expected(second, 150), other.awaitEnd().text());
            answer.awaitEnd();
            fixture.model.layers = 0;
            holder.join();
            assertTrue(answer.hasFailed(), "position 200 gives no numbers");
            assertEquals(EngineFixture.expected(prompt, 5), read.awaitEnd().text());
            assertTrue(fixture.model.between.size() >= 5, fixture.model.between.size() + " steps between layers");
            assertEquals(
                    EngineFixture.expected(first, 9),
                    fixture.run(EngineFixture.request(EngineFixture.prompt(first), 9))
                            .text());
        }
    }

    /** Keeps the step loop from its next pass until {@code asked} is down. */
    private static Thread holdLoop(EngineFixture fixture, CountDownLatch asked) {
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = Thread.ofVirtual()
                .start(() -> fixture.engine.parts().loop().call(() -> {
                    held.countDown();
                    await(asked);
                    return asked;
                }));
        await(held);
        return holder;
    }

    private static void await(CountDownLatch asked) {
        try {
            assertTrue(asked.await(20, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A short prompt does not wait until a long one that came before has been read. */
    @Test
    void aShortPromptIsReadBesideALongOne() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 3;
        builder.pages = 200;
        try (EngineFixture fixture = builder.start()) {
            CountDownLatch asked = new CountDownLatch(1);
            fixture.model.before = batch -> await(asked);
            int[] first = EngineFixture.tokens(1200, 1);
            int[] second = EngineFixture.tokens(20, 2);
            Collector longOne = fixture.begin(EngineFixture.request(EngineFixture.prompt(first), 3));
            Collector shortOne = fixture.begin(EngineFixture.request(EngineFixture.prompt(second), 3));
            asked.countDown();
            assertEquals(EngineFixture.expected(second, 3), shortOne.awaitEnd().text());
            assertEquals(EngineFixture.expected(first, 3), longOne.awaitEnd().text());
            int chunks = 0;
            for (Batch pass : fixture.model.passes) {
                if (pass.segments().getLast().past() + pass.segments().getLast().rows() == second.length) {
                    break;
                }
                chunks++;
            }
            // The first may have begun alone, and a chunk leaves a quarter of 64 rows.
            assertTrue(chunks <= 2, chunks + " passes before the short prompt was read");
            for (Batch pass : fixture.model.passes.subList(3, 10)) {
                assertTrue(pass.rows() == 64 || pass.rows() <= 2, "a chunk of " + pass.rows() + " rows");
            }
        }
    }

    @Test
    void answersNeverWaitForTwoChunksInARow() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 3;
        builder.pages = 200;
        try (EngineFixture fixture = builder.start()) {
            Collector answer =
                    fixture.begin(EngineFixture.request(EngineFixture.prompt(EngineFixture.tokens(20, 1)), 2000));
            answer.awaitBegun();
            Collector prompt =
                    fixture.begin(EngineFixture.request(EngineFixture.prompt(EngineFixture.tokens(1500, 2)), 1));
            // Embeddings are prompts too.
            assertEquals(
                    1,
                    fixture.engine
                            .embed(List.of(EngineFixture.prompt(EngineFixture.tokens(600, 3))), true)
                            .size());
            prompt.awaitEnd();
            int chunks = 0;
            boolean answering = false;
            int position = 0;
            for (Batch pass : fixture.model.passes) {
                boolean decode = pass.rows() == 1 && pass.segments().getFirst().past() >= 20;
                if (decode) {
                    position = pass.segments().getFirst().past();
                    answering = position < 2018;
                    chunks = 0;
                } else if (answering) {
                    chunks++;
                    assertTrue(chunks <= 1, "two chunks while an answer waited at " + position);
                }
            }
            answer.awaitEnd();
            Map<?, ?> counters =
                    (Map<?, ?>) Objects.requireNonNull(fixture.engine.status().get("counters"));
            assertTrue(counters.get("last_10_s") instanceof Map<?, ?> sharing && sharing.containsKey("decode_share"));
        }
    }
}
