package dev.strata.engine;

import static dev.strata.engine.EngineFixture.chat;
import static dev.strata.engine.EngineFixture.expected;
import static dev.strata.engine.EngineFixture.prompt;
import static dev.strata.engine.EngineFixture.request;
import static dev.strata.engine.EngineFixture.seeded;
import static dev.strata.engine.EngineFixture.tokens;
import static dev.strata.engine.EngineFixture.withEcho;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.InferenceService;
import dev.strata.api.SamplingOptions;
import dev.strata.api.TokenLogprob;
import dev.strata.config.EngineOptions.Speculation;
import dev.strata.device.Batch;
import dev.strata.model.ModelConfig.Architecture;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class EngineTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 7, 64, 200})
    void promptsOfAnyChunkingGiveTheModelsContinuation(int chunk) {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.chunk = chunk;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(150, 1);
            Collector answer = fixture.run(request(prompt(prompt), 20));
            assertEquals(expected(prompt, 20), answer.text());
            assertEquals(FinishReason.LENGTH, answer.end().reason());
            assertEquals(150, answer.end().usage().promptTokens());
            assertEquals(20, answer.end().usage().completionTokens());
            assertEquals(150, answer.end().timings().promptTokens());
        }
    }

    @Test
    void promptsAreAnnouncedWhenTheirTokensAreKnown() throws InterruptedException {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.chunk = 128;
        CountDownLatch goOn = new CountDownLatch(1);
        try (EngineFixture fixture = builder.start()) {
            fixture.model.before = batch -> {
                try {
                    goOn.await();
                } catch (InterruptedException stop) {
                    Thread.currentThread().interrupt();
                }
            };
            List<Collector> answers = new ArrayList<>();
            int[] first = tokens(1500, 1);
            int[] alike = first.clone();
            alike[100] = 5 + alike[100] % 7;
            int[] repeated = Arrays.copyOf(first, 1400);
            for (int[] prompt : List.of(first, tokens(50, 2), alike, repeated)) {
                answers.add(fixture.begin(request(prompt(prompt), 2)));
            }
            assertEquals(
                    List.of(128, 50, 228), fixture.model.requested, "beside the first one's pass; repeated text waits");
            goOn.countDown();
            answers.forEach(Collector::awaitEnd);
        }
    }

    @Test
    void checkpointsDoNotCutLargePasses() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.chunk = 128;
        builder.every = 64;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(300, 3);
            assertEquals(
                    expected(prompt, 5), fixture.run(request(prompt(prompt), 5)).text());
            assertEquals(
                    List.of(128, 128, 43, 1),
                    fixture.model.passes.stream().limit(4).map(Batch::rows).toList());
        }
    }

    @Test
    void theEndTokenEndsTheAnswerAndIsNotShown() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            fixture.model.endAfter = 14;
            int[] prompt = tokens(10, 2);
            Collector answer = fixture.run(request(prompt(prompt), null));
            assertEquals(expected(prompt, 5), answer.text());
            assertEquals(FinishReason.STOP, answer.end().reason());
            assertEquals(6, answer.end().usage().completionTokens());
            assertEquals(1, fixture.model.promptsFinished.availablePermits(), "once, before the first step");
        }
    }

    @Test
    void aStopStringEndsTheAnswer() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            int[] prompt = tokens(10, 2);
            String stop = expected(prompt, 9).substring(7, 9);
            Collector answer = fixture.run(request(prompt(prompt), 50, 1, SamplingOptions.DEFAULTS, List.of(stop)));
            assertEquals(FinishReason.STOP, answer.end().reason());
            assertEquals(9, answer.end().usage().completionTokens());
        }
    }

    @Test
    void anAnswerIsClampedToTheContext() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.context = 100;
        try (EngineFixture fixture = builder.start()) {
            Collector answer = fixture.run(request(prompt(tokens(90, 1)), 500));
            assertEquals(10, answer.end().usage().completionTokens());
            assertEquals(FinishReason.LENGTH, answer.end().reason());
        }
    }

    @Test
    void aPromptThatDoesNotFitIsRefusedWithBothNumbers() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.context = 100;
        try (EngineFixture fixture = builder.start()) {
            ApiException error = assertThrows(
                    ApiException.class, () -> fixture.engine.generate(request(prompt(tokens(100, 1)), 5), d -> {}));
            assertEquals("context_length_exceeded", error.error().code());
            assertTrue(error.error().message().contains("the prompt has 100 tokens; the context holds 100"));
        }
    }

    @Test
    void impossibleRequestsAreRefusedByName() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            assertRefused(fixture, "prompt", () -> fixture.engine.generate(request(prompt(), 5), d -> {}));
            assertRefused(fixture, "prompt", () -> fixture.engine.generate(request(prompt(5, 100), 5), d -> {}));
            SamplingOptions bias =
                    new SamplingOptions(null, null, null, null, null, null, null, null, null, Map.of(-1, 1f));
            assertRefused(
                    fixture,
                    "logit_bias",
                    () -> fixture.engine.generate(request(prompt(5), 5, 1, bias, List.of()), d -> {}));
            assertRefused(
                    fixture,
                    "n",
                    () -> fixture.engine.generate(
                            request(prompt(5), 5, 9, SamplingOptions.DEFAULTS, List.of()), d -> {}));
        }
    }

    private static void assertRefused(EngineFixture fixture, String parameter, Runnable call) {
        ApiException error = assertThrows(ApiException.class, call::run);
        assertEquals(ApiError.Kind.INVALID_REQUEST, error.error().kind());
        assertEquals(parameter, error.error().parameter());
        assertEquals(0, fixture.engine.waiting());
    }

    @Test
    void theSecondTurnReusesTheFirst() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            String question = "A".repeat(70);
            Collector first = fixture.run(request(chat("user", question), 30));
            assertEquals(0, first.end().usage().cachedTokens());
            Collector second =
                    fixture.run(request(chat("user", question, "assistant", "different", "user", "more"), 10));
            assertEquals(71, second.end().usage().cachedTokens(), "up to the end of the first prompt");
            int[] whole = fixture.text
                    .prepare(chat("user", question, "assistant", "different", "user", "more"))
                    .tokens();
            assertEquals(expected(whole, 10), second.text());
            assertEquals(whole.length - 71, second.end().timings().promptTokens());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Architecture.class,
            names = {"QWEN3_MOE", "QWEN4_EXP"})
    void anAnswerThatCameBackIsReusedToo(Architecture architecture) {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.architecture = architecture;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(100, 3);
            fixture.run(request(prompt(prompt), 30));
            int[] longer = new int[140];
            System.arraycopy(prompt, 0, longer, 0, 100);
            System.arraycopy(FakeModel.continuation(prompt, 40), 0, longer, 100, 40);
            Collector second = fixture.run(request(prompt(longer), 10));
            assertEquals(129, second.end().usage().cachedTokens(), "all but the last token, which was never read");
            assertEquals(expected(longer, 10), second.text());
        }
    }

    @Test
    void modelsWithoutStatesGoOnAnywhere() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.architecture = Architecture.QWEN3_MOE;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(100, 3);
            fixture.run(request(prompt(prompt), 5));
            int[] other = prompt.clone();
            other[77] = 50;
            Collector second = fixture.run(request(prompt(other), 10));
            assertEquals(77, second.end().usage().cachedTokens());
            assertEquals(expected(other, 10), second.text());
            Collector same = fixture.run(request(prompt(other), 10));
            assertEquals(99, same.end().usage().cachedTokens(), "the last token is read for its logits");
            assertEquals(expected(other, 10), same.text());
        }
    }

    @Test
    void theSameTextAskedAgainIsNotReadAgain() {
        for (Architecture architecture : new Architecture[] {Architecture.QWEN4_EXP, Architecture.QWEN3_MOE}) {
            EngineFixture.Builder builder = new EngineFixture.Builder();
            builder.architecture = architecture;
            try (EngineFixture fixture = builder.start()) {
                int[] text = EngineFixture.tokens(400, 4);
                String first = fixture.run(EngineFixture.request(EngineFixture.prompt(text), 5))
                        .text();
                Collector again = fixture.run(EngineFixture.request(EngineFixture.prompt(text), 5));
                assertEquals(first, again.text());
                assertEquals(399, again.end().usage().cachedTokens(), architecture.toString());
            }
        }
    }

    @Test
    void aSystemPromptIsSharedByOtherConversationsWhereItIsWorthAPass() {
        for (int chunk : new int[] {64, 512, 1024}) {
            EngineFixture.Builder builder = new EngineFixture.Builder();
            builder.chunk = chunk;
            try (EngineFixture fixture = builder.start()) {
                String system = "S".repeat(80);
                fixture.run(request(chat("system", system, "user", "B".repeat(100)), 5));
                Collector other = fixture.run(request(chat("system", system, "user", "C".repeat(90)), 5));
                assertEquals(chunk == 1024 ? 0 : 81, other.end().usage().cachedTokens());
            }
        }
    }

    @Test
    void choicesShareOnePrompt() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 2;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(130, 4);
            Collector answers = fixture.run(request(prompt(prompt), 12, 4, seeded(1, 5), List.of()));
            List<String> texts = new ArrayList<>();
            for (int choice = 0; choice < 4; choice++) {
                texts.add(answers.text(choice));
                assertEquals(12, answers.end(choice).usage().completionTokens());
                assertEquals(0, answers.end(choice).usage().cachedTokens());
            }
            assertEquals(4, texts.stream().distinct().count(), texts.toString());
            assertEquals(
                    130 + 3, fixture.engine.parts().counters().promptTokensRead.sum());
            Collector alone = fixture.run(request(prompt(prompt), 12, 1, seeded(1, 7), List.of()));
            assertEquals(texts.get(2), alone.text(), "a choice is what its seed gives");
            assertEquals(2, fixture.engine.parts().counters().accepted.sum());
            assertEquals(2, fixture.engine.parts().counters().finished.sum(), "requests, not choices");
        }
    }

    @Test
    void sampledTextDependsOnTheSeedAlone() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.parallel = 3;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(20, 6);
            String alone = fixture.run(request(prompt(prompt), 40, 1, seeded(1, 11), List.of()))
                    .text();
            List<Collector> crowd = new ArrayList<>();
            for (long seed : new long[] {11, 12, 11}) {
                crowd.add(fixture.begin(request(prompt(prompt), 40, 1, seeded(1, seed), List.of())));
            }
            assertEquals(alone, crowd.get(0).awaitEnd().text());
            assertEquals(alone, crowd.get(2).awaitEnd().text());
            assertNotEquals(alone, crowd.get(1).awaitEnd().text());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void draftsDoNotChangeTheText(boolean layer) {
        for (float temperature : new float[] {0, 1}) {
            EngineFixture.Builder plain = new EngineFixture.Builder();
            EngineFixture.Builder builder = new EngineFixture.Builder();
            builder.drafts = layer;
            builder.parallel = 2;
            builder.speculation = new Speculation(layer, 5, 0.5f, layer ? 0 : 2);
            int[] prompt = repeating();
            String expected;
            try (EngineFixture fixture = plain.start()) {
                expected = fixture.run(request(prompt(prompt), 60, 1, seeded(temperature, 3), List.of()))
                        .text();
            }
            try (EngineFixture fixture = builder.start()) {
                Collector one = fixture.begin(request(prompt(prompt), 60, 1, seeded(temperature, 3), List.of()));
                Collector two = fixture.begin(request(prompt(prompt), 60, 1, seeded(temperature, 3), List.of()));
                assertEquals(expected, one.awaitEnd().text());
                assertEquals(expected, two.awaitEnd().text());
                if (layer) {
                    assertTrue(one.end().timings().draftTokens() > 0);
                    assertTrue(one.end().timings().acceptedDraftTokens() > 0);
                }
                if (layer && temperature == 0) {
                    assertTrue(one.end().timings().acceptedDraftTokens() > 20, "four of five drafts are right");
                }
                int[] longer = new int[prompt.length + 60];
                System.arraycopy(prompt, 0, longer, 0, prompt.length);
                System.arraycopy(fixture.text.tokenize(expected, false), 0, longer, prompt.length, 60);
                Collector next = fixture.run(request(prompt(longer), 5));
                assertEquals(longer.length - 1, next.end().usage().cachedTokens(), "states are those of the text");
            }
        }
    }

    /** The third token of an answer, which is often a draft, is drawn as often with drafts as the model says without. */
    @Test
    void draftsKeepTheDistribution() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.drafts = true;
        builder.parallel = 4;
        builder.queue = 3000;
        builder.speculation = new Speculation(true, 4, 0, 0);
        int draws = 2000;
        int[] prompt = tokens(12, 5);
        SamplingOptions bias = new SamplingOptions(0.6f, 3, null, null, null, null, null, null, null, Map.of());
        try (EngineFixture fixture = builder.start()) {
            List<Collector> answers = new ArrayList<>();
            for (int i = 0; i < draws; i++) {
                SamplingOptions seeded = new SamplingOptions(
                        bias.temperature(), bias.topK(), null, null, null, null, null, null, (long) i * 7919, Map.of());
                answers.add(fixture.begin(request(prompt(prompt), 4, 1, seeded, List.of())));
            }
            int[] likeliest = FakeModel.continuation(prompt, 3);
            double second = 0;
            double third = 0;
            int offered = 0;
            for (Collector answer : answers) {
                answer.awaitEnd();
                offered += answer.end().timings().draftTokens();
                if (answer.text().startsWith(fixture.text.detokenize(new int[] {likeliest[0], likeliest[1]}))) {
                    second++;
                    third += answer.text().charAt(2) == 32 + likeliest[2] ? 1 : 0;
                }
            }
            assertTrue(offered > draws, "drafts were made");
            double expected = chance(prompt, likeliest, 0) * chance(prompt, likeliest, 1);
            assertEquals(expected, second / draws, 4 * Math.sqrt(0.25 / draws));
            assertEquals(chance(prompt, likeliest, 2), third / second, 4 * Math.sqrt(0.25 / second));
        }
    }

    /** How likely the likeliest token is among the best three at temperature 0.6, behind the first {@code written} ones. */
    private static double chance(int[] prompt, int[] likeliest, int written) {
        int[] text = java.util.Arrays.copyOf(prompt, prompt.length + written);
        System.arraycopy(likeliest, 0, text, prompt.length, written);
        double[] best = FakeModel.bestLogits(text);
        double sum = 0;
        for (double logit : best) {
            sum += Math.exp((logit - best[0]) / 0.6);
        }
        return 1 / sum;
    }

    private static int[] repeating() {
        int[] prompt = new int[90];
        for (int i = 0; i < prompt.length; i++) {
            prompt[i] = 5 + i % 7;
        }
        return prompt;
    }

    @Test
    void lookingUpEarlierTextMakesDrafts() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.speculation = new Speculation(false, 6, 0.5f, 3);
        try (EngineFixture fixture = builder.start()) {
            fixture.model.constant = 9;
            Collector answer = fixture.run(request(prompt(3, 4, 5), 60));
            assertEquals(FakeText.character(9).repeat(60), answer.text());
            assertTrue(answer.end().timings().acceptedDraftTokens() > 30);
        }
    }

    @Test
    void oneTokenOverAndOverEndsWithAReason() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            fixture.model.constant = 9;
            Collector answer = fixture.run(request(prompt(3), 1000));
            assertEquals(FinishReason.REPETITION, answer.end().reason());
            assertEquals(256, answer.end().usage().completionTokens());
        }
    }

    @Test
    void promptsAreEchoedWithTheirLogProbabilities() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.chunk = 7;
        try (EngineFixture fixture = builder.start()) {
            int[] prompt = tokens(20, 2);
            Collector answer = fixture.run(withEcho(request(prompt(prompt), 0), 2, true));
            assertEquals(fixture.text.detokenize(prompt), answer.text());
            assertEquals(20, answer.logprobs.size());
            assertTrue(Float.isNaN(answer.logprobs.getFirst().logprob()));
            for (int i = 1; i < 20; i++) {
                TokenLogprob each = answer.logprobs.get(i);
                assertEquals(prompt[i], each.id());
                assertEquals(2, each.top().size());
                assertEquals(
                        FakeModel.next(FakeModel.hash(prompt, i)),
                        each.top().getFirst().id());
            }
            assertEquals(0, answer.end().usage().completionTokens());
            List<Integer> processed = answer.deltas.stream()
                    .filter(Delta.Progress.class::isInstance)
                    .map(delta -> ((Delta.Progress) delta).processed())
                    .toList();
            assertEquals(List.of(7, 14, 20), processed);
        }
    }

    @Test
    void embeddingsArePooledAndOfLengthOne() {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.chunk = 2;
        try (EngineFixture fixture = builder.start()) {
            List<float[]> vectors = fixture.engine.embed(List.of(prompt(3, 5, 10), prompt(7)), true);
            float length = (float) Math.sqrt(7 * 7 + 3 * 6 * 6);
            assertArrayEquals(new float[] {7 / length, 6 / length, 6 / length, 6 / length}, vectors.get(0), 1e-6f);
            float[] last =
                    fixture.engine.embed(List.of(prompt(3, 5, 10)), false).getFirst();
            assertEquals(11f / 10, last[0] / last[1], 1e-6f);
            assertEquals(2, vectors.size());
        }
    }

    @Test
    void textHelpersAndStatusAnswer() {
        try (EngineFixture fixture = new EngineFixture.Builder().start()) {
            assertEquals(InferenceService.State.READY, fixture.engine.state());
            assertEquals(List.of(33, 34), fixture.engine.tokenize("AB", false));
            assertEquals("AB", fixture.engine.detokenize(List.of(33, 34)));
            assertEquals(3, fixture.engine.countTokens(chat("user", "AB")));
            fixture.run(request(prompt(3, 4), 5));
            Map<String, Object> status = fixture.engine.status();
            assertEquals("READY", status.get("state"));
            assertEquals("fake", status.get("backend"));
            assertTrue(status.get("counters") instanceof Map<?, ?> counters
                    && Long.valueOf(5).equals(counters.get("tokens_generated")));
        }
    }
}
