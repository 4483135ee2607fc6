package dev.strata.engine;

import static dev.strata.engine.EngineFixture.expected;
import static dev.strata.engine.EngineFixture.prompt;
import static dev.strata.engine.EngineFixture.request;
import static dev.strata.engine.EngineFixture.tokens;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.InferenceService;
import dev.strata.grammar.GrammarException;
import dev.strata.sampling.TokenConstraint;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong in one sequence, in a pass or in the machine, and whom it takes along. */
@Timeout(60)
class EngineFaultTest {
    @Test
    void aListenerThatThrowsOnlyLosesItsOwnRequest() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 2;
        try (EngineFixture fixture = builder.start()) {
            Collector bad = new Collector();
            bad.also = delta -> {
                throw new IllegalStateException("a listener's own mistake");
            };
            fixture.engine.generate(request(prompt(3), 500), bad);
            Collector good = fixture.run(request(prompt(4), 100));
            assertEquals(expected(new int[] {4}, 100), good.text());
        }
    }

    @Test
    void oneSequencesBadLogitsDoNotTouchTheOthers() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 2;
        try (EngineFixture fixture = builder.start()) {
            Semaphore gate = new Semaphore(0);
            fixture.model.before = batch -> gate.acquireUninterruptibly();
            fixture.model.poisonedPosition = 33;
            Collector bad = fixture.begin(request(prompt(tokens(30, 1)), 50));
            Collector good = fixture.begin(request(prompt(tokens(50, 2)), 50));
            gate.release(10_000);
            ApiError error = bad.awaitEnd().error();
            assertEquals("bad_logits", error.code());
            assertTrue(error.message().contains("not finite"), error.message());
            assertEquals(expected(tokens(50, 2), 50), good.awaitEnd().text());
        }
    }

    /** A rule that breaks in the middle of an answer; one that is too large to follow is the client's error. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void oneSequencesBrokenRuleDoesNotTouchTheOthers(boolean tooLarge) {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 2;
        try (EngineFixture fixture = builder.start()) {
            Semaphore gate = new Semaphore(0);
            fixture.model.before = batch -> gate.acquireUninterruptibly();
            fixture.text.constraints = () -> new Breaking(5, tooLarge);
            Collector bad = fixture.begin(request(prompt(tokens(30, 1)), 50));
            fixture.text.constraints = () -> null;
            Collector good = fixture.begin(request(prompt(tokens(50, 2)), 50));
            gate.release(10_000);
            ApiError error = bad.awaitEnd().error();
            assertEquals(tooLarge ? ApiError.Kind.INVALID_REQUEST : ApiError.Kind.INTERNAL, error.kind());
            assertTrue(error.message().contains("too large to follow"), error.message());
            assertEquals(expected(tokens(50, 2), 50), good.awaitEnd().text());
            long begun = fixture.model.passes.stream()
                    .flatMap(pass -> pass.segments().stream())
                    .filter(segment -> segment.past() == 0)
                    .count();
            assertEquals(2, begun, "no text is read again");
        }
    }

    private static final class Breaking implements TokenConstraint {
        private final boolean tooLarge;
        private int left;

        Breaking(int tokens, boolean tooLarge) {
            left = tokens;
            this.tooLarge = tooLarge;
        }

        @Override
        public long[] allowed() {
            return new long[] {-1, -1};
        }

        @Override
        public void accept(int token) {
            if (left-- == 0) {
                throw tooLarge
                        ? new GrammarException("too large to follow")
                        : new IllegalStateException("too large to follow");
            }
        }

        @Override
        public boolean finished() {
            return false;
        }

        @Override
        public TokenConstraint fork() {
            return new Breaking(left, tooLarge);
        }
    }

    @Test
    void aFailingPassIsRunAgainAloneAndOnlyTheGuiltyFails() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 3;
        try (EngineFixture fixture = builder.start()) {
            int guilty = 57;
            fixture.model.before = batch -> {
                for (int token : batch.tokens()) {
                    if (token == guilty && batch.rows() < 20) {
                        throw new IllegalStateException("injected fault");
                    }
                }
            };
            List<Collector> answers = new ArrayList<>();
            int[][] prompts = {tokens(40, 1), tokens(40, 2), tokens(40, 3)};
            for (int[] prompt : prompts) {
                answers.add(fixture.begin(request(prompt(prompt), 60)));
            }
            int failed = 0;
            for (int i = 0; i < 3; i++) {
                boolean meets = contains(FakeModel.continuation(prompts[i], 59), guilty);
                answers.get(i).awaitEnd();
                if (meets) {
                    failed++;
                    assertEquals("engine_error", answers.get(i).error().code());
                } else {
                    assertEquals(expected(prompts[i], 60), answers.get(i).text());
                }
            }
            assertTrue(failed > 0 && failed < 3, "the test needs both kinds; " + failed + " of 3 met the fault");
            assertEquals(InferenceService.State.READY, fixture.engine.state());
        }
    }

    private static boolean contains(int[] tokens, int wanted) {
        for (int token : tokens) {
            if (token == wanted) {
                return true;
            }
        }
        return false;
    }

    @Test
    void anErrorOfTheMachineKillsTheEngineAndFailsWhatIsPending() {
        Semaphore gate = new Semaphore(0);
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            fixture.model.before = batch -> {
                gate.acquireUninterruptibly();
                throw new StackOverflowError("injected");
            };
            Collector running = fixture.begin(request(prompt(3), 5));
            Collector waiting = fixture.begin(request(prompt(4), 5));
            gate.release();
            assertEquals("engine_dead", running.awaitEnd().error().code());
            assertEquals("engine_dead", waiting.awaitEnd().error().code());
            assertEquals(InferenceService.State.DEAD, fixture.engine.state());
            ApiException refused =
                    assertThrows(ApiException.class, () -> fixture.engine.generate(request(prompt(5), 5), delta -> {}));
            assertEquals(ApiError.Kind.UNAVAILABLE, refused.error().kind());
            assertTrue(fixture.engine.stateReason().contains("injected"));
        }
    }

    @Test
    void aStuckPassIsFoundByTheWatchdog() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.watchdogNanos = 50_000_000;
        Semaphore gate = new Semaphore(0);
        try (EngineFixture fixture = builder.start()) {
            fixture.model.before = batch -> gate.acquireUninterruptibly();
            Collector stuck = fixture.begin(request(prompt(3), 5));
            assertEquals("engine_dead", stuck.awaitEnd().error().code());
            assertEquals(InferenceService.State.DEAD, fixture.engine.state());
            gate.release(100);
        }
    }

    @Test
    void readingFromADriveIsProgress() {
        long[] read = {7};
        try (EngineFixture fixture = new EngineFixture.Builder().start();
                Watchdog watchdog = new Watchdog(fixture.engine.parts().loop(), 100, () -> read[0], () -> {})) {
            assertFalse(watchdog.stuck(0, 50));
            assertFalse(watchdog.stuck(60, 61));
            assertFalse(watchdog.stuck(60, 160));
            read[0]++;
            assertFalse(watchdog.stuck(60, 170), "bytes came");
            assertFalse(watchdog.stuck(60, 270));
            assertTrue(watchdog.stuck(60, 271));
        }
    }
}
