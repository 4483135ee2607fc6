package dev.strata.sampling;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Exponential;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SamplerTest {
    private static final int DRAWS = 20_000;

    private static MemorySegment row(float... logits) {
        return Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, logits);
    }

    private static SamplingSettings settings(float temperature, int topK, float topP, float minP) {
        return new SamplingSettings(temperature, topK, topP, minP, 0, 0, 1, -1, 7, Map.of());
    }

    private static Sampler sampler(SamplingSettings settings, int vocabulary) {
        return new Sampler(settings, new SamplerScratch(vocabulary), null, -1);
    }

    /** How often each token is drawn at many positions. */
    private static double[] frequencies(SamplingSettings settings, float... logits) {
        MemorySegment row = row(logits);
        Sampler sampler = sampler(settings, logits.length);
        double[] share = new double[logits.length];
        for (int i = 0; i < DRAWS; i++) {
            int token = sampler.sample(row, 0);
            sampler.accept(token);
            share[token] += 1.0 / DRAWS;
        }
        return share;
    }

    private static double[] softmax(double temperature, double... logits) {
        double[] p = IntStream.range(0, logits.length)
                .mapToDouble(i -> Math.exp(logits[i] / temperature))
                .toArray();
        double sum = java.util.Arrays.stream(p).sum();
        return java.util.Arrays.stream(p).map(x -> x / sum).toArray();
    }

    private static void assertShares(double[] expected, double[] actual) {
        assertArrayEquals(expected, actual, 4 * Math.sqrt(0.25 / DRAWS));
    }

    @Test
    void temperatureZeroTakesTheLikeliestAndTheLowerIdAmongEquals() {
        assertEquals(2, sampler(settings(0, 0, 1, 0), 4).sample(row(1, 2, 5, 5), 0));
    }

    @Test
    void drawsFollowTheSoftmaxAtTheTemperature() {
        assertShares(softmax(1, 0, 1, 2, -1), frequencies(settings(1, 0, 1, 0), 0, 1, 2, -1));
        assertShares(softmax(0.5, 0, 1, 2, -1), frequencies(settings(0.5f, 0, 1, 0), 0, 1, 2, -1));
    }

    @Test
    void topKKeepsTheBestAndTheirProportions() {
        double[] best = softmax(1, 2, 1);
        assertShares(new double[] {0, best[1], best[0], 0}, frequencies(settings(1, 2, 1, 0), 0, 1, 2, -1));
    }

    @Test
    void topPKeepsTheLikeliestThatReachTheProbability() {
        // Probabilities 0.5, 0.3, 0.15, 0.05: 0.6 is reached with two, 0.8 exactly with two, 0.81 with three.
        float[] logits = {(float) Math.log(0.05), (float) Math.log(0.5), (float) Math.log(0.3), (float) Math.log(0.15)};
        assertShares(new double[] {0, 5 / 8.0, 3 / 8.0, 0}, frequencies(settings(1, 0, 0.6f, 0), logits));
        assertShares(new double[] {0, 50 / 95.0, 30 / 95.0, 15 / 95.0}, frequencies(settings(1, 0, 0.81f, 0), logits));
        assertShares(new double[] {0, 1, 0, 0}, frequencies(settings(1, 0, 0.01f, 0), logits));
    }

    @Test
    void topPCountsAmongWhatTopKLeft() {
        float[] logits = {(float) Math.log(0.05), (float) Math.log(0.5), (float) Math.log(0.3), (float) Math.log(0.15)};
        // Among the best two the first has 0.625.
        assertShares(new double[] {0, 1, 0, 0}, frequencies(settings(1, 2, 0.62f, 0), logits));
        assertShares(new double[] {0, 5 / 8.0, 3 / 8.0, 0}, frequencies(settings(1, 2, 0.64f, 0), logits));
    }

    @Test
    void minPDropsWhatIsFarBelowTheBest() {
        float[] logits = {(float) Math.log(0.05), (float) Math.log(0.5), (float) Math.log(0.3), (float) Math.log(0.15)};
        assertShares(new double[] {0, 5 / 8.0, 3 / 8.0, 0}, frequencies(settings(1, 0, 1, 0.4f), logits));
    }

    @Test
    void truncationOfABigVocabularyAgreesWithSorting() {
        int vocabulary = 50_000;
        Random random = new Random(5);
        float[] logits = new float[vocabulary];
        for (int i = 0; i < vocabulary; i++) {
            logits[i] = (float) random.nextGaussian() * 3;
        }
        Integer[] order = IntStream.range(0, vocabulary).boxed().toArray(Integer[]::new);
        java.util.Arrays.sort(order, (a, b) -> Float.compare(logits[b], logits[a]));
        double whole = 0;
        for (float logit : logits) {
            whole += Math.exp(logit);
        }
        int reached = 0;
        for (double sum = 0; sum < 0.4 * whole; reached++) {
            sum += Math.exp(logits[order[reached]]);
        }
        java.util.Set<Integer> nucleus =
                new java.util.HashSet<>(java.util.List.of(order).subList(0, reached));
        java.util.Set<Integer> best =
                new java.util.HashSet<>(java.util.List.of(order).subList(0, 40));
        MemorySegment row = row(logits);
        Sampler topP = sampler(settings(1, 0, 0.4f, 0), vocabulary);
        Sampler topK = sampler(settings(1.5f, 40, 1, 0), vocabulary);
        for (int i = 0; i < 300; i++) {
            int token = topP.sample(row, 0);
            assertTrue(nucleus.contains(token), "token " + token);
            topP.accept(token);
            int other = topK.sample(row, 0);
            assertTrue(best.contains(other), "token " + other);
            topK.accept(other);
        }
    }

    @Test
    void flatDistributionsAreCutWhereSortingWouldCutThem() {
        int vocabulary = 60_000;
        Random random = new Random(6);
        for (float spread : new float[] {0, 0.02f, 0.5f}) {
            float[] logits = new float[vocabulary];
            for (int i = 0; i < vocabulary; i++) {
                logits[i] = Math.round(random.nextGaussian() * 4) / 4f * spread + 0f;
            }
            Integer[] order = IntStream.range(0, vocabulary).boxed().toArray(Integer[]::new);
            java.util.Arrays.sort(order, (a, b) -> Float.compare(logits[b], logits[a]));
            MemorySegment row = row(logits);
            assertDrawnFrom(order, 30_000, row, sampler(settings(1, 30_000, 1, 0), vocabulary));
            double all = 0;
            for (float logit : logits) {
                all += Math.exp(logit);
            }
            int reached = 0;
            for (double sum = 0; sum < 0.7 * all; reached++) {
                sum += Math.exp(logits[order[reached]]);
            }
            assertDrawnFrom(order, reached, row, sampler(settings(1, 0, 0.7f, 0), vocabulary));
        }
        float[] two = new float[vocabulary];
        java.util.Arrays.fill(two, 0, vocabulary / 2, -1);
        Integer[] upper = IntStream.range(vocabulary / 2, vocabulary).boxed().toArray(Integer[]::new);
        assertDrawnFrom(upper, upper.length, row(two), sampler(settings(1, 0, 0.99f, 0.5f), vocabulary));
    }

    /** All draws are among the first {@code kept} of {@code order}, and both their ends are reached. */
    private static void assertDrawnFrom(Integer[] order, int kept, MemorySegment row, Sampler sampler) {
        int[] rank = new int[60_000];
        java.util.Arrays.fill(rank, Integer.MAX_VALUE);
        for (int i = 0; i < order.length; i++) {
            rank[order[i]] = i;
        }
        int highest = 0;
        int lowest = Integer.MAX_VALUE;
        for (int i = 0; i < 200; i++) {
            int token = sampler.sample(row, 0);
            sampler.accept(token);
            highest = Math.max(highest, rank[token]);
            lowest = Math.min(lowest, rank[token]);
        }
        // Rounding of the sums may move the cut by a few tokens.
        assertTrue(highest < kept + 8, highest + " of " + kept);
        assertTrue(highest > kept * 0.9 && lowest < kept * 0.1, lowest + " to " + highest + " of " + kept);
    }

    @Test
    void theSameSeedGivesTheSameTextAndSamplingAgainTheSameToken() {
        MemorySegment row = row(0, 0.1f, 0.2f, 0.3f, 0.4f);
        Sampler one = sampler(settings(1, 0, 1, 0), 5);
        Sampler two = sampler(settings(1, 0, 1, 0), 5);
        boolean varied = false;
        int previous = -1;
        for (int i = 0; i < 50; i++) {
            int token = one.sample(row, 0);
            assertEquals(token, one.sample(row, 0));
            assertEquals(token, two.sample(row, 0));
            one.accept(token);
            two.accept(token);
            varied |= previous >= 0 && token != previous;
            previous = token;
        }
        assertTrue(varied);
    }

    @Test
    void biasAndPenaltiesMoveTheChoice() {
        SamplingSettings biased = new SamplingSettings(0, 0, 1, 0, 0, 0, 1, -1, 0, Map.of(0, 10f, 2, -100f));
        assertEquals(0, sampler(biased, 3).sample(row(1, 2, 3), 0));

        Sampler presence = sampler(new SamplingSettings(0, 0, 1, 0, 1.5f, 0, 1, -1, 0, Map.of()), 3);
        presence.prompt(new int[] {2, 2});
        assertEquals(2, presence.sample(row(1, 2, 3), 0), "the prompt does not count for presence");
        presence.accept(2);
        assertEquals(1, presence.sample(row(1, 2, 3), 0));

        Sampler frequency = sampler(new SamplingSettings(0, 0, 1, 0, 0, 0.6f, 1, -1, 0, Map.of()), 3);
        frequency.accept(2);
        assertEquals(2, frequency.sample(row(1, 2, 3), 0));
        frequency.accept(2);
        assertEquals(1, frequency.sample(row(1, 2, 3), 0));
    }

    @Test
    void repetitionLooksBackOverItsWindow() {
        Sampler sampler = sampler(new SamplingSettings(0, 0, 1, 0, 0, 0, 2, 2, 0, Map.of()), 3);
        sampler.prompt(new int[] {2});
        assertEquals(1, sampler.sample(row(-1, 2, 3), 0), "3 / 2 is below 2");
        sampler.accept(1);
        assertEquals(2, sampler.sample(row(-1, 2, 3), 0), "1 and 1.5 are left");
        sampler.accept(0);
        assertEquals(2, sampler.sample(row(-1, 2, 3), 0), "2 has left the window, 1 has not");
        sampler.accept(0);
        assertEquals(2, sampler.sample(row(-1, 2, 3), 0));
    }

    @Test
    void penaltiesForgetWhatLeftTheWindow() {
        Sampler sampler = sampler(new SamplingSettings(0, 0, 1, 0, 5, 0, 1, 3, 0, Map.of()), 4);
        for (int token : new int[] {3, 2, 1}) {
            assertEquals(token, sampler.sample(row(-2, 1, 2, 3), 0));
            sampler.accept(token);
        }
        assertEquals(0, sampler.sample(row(-1, 1, 2, 3), 0));
        sampler.accept(0);
        assertEquals(3, sampler.sample(row(-1, 1, 2, 3), 0));
    }

    @Test
    void constraintsMaskAndFollow() {
        Sampler sampler = new Sampler(settings(0, 0, 1, 0), new SamplerScratch(70), new OnlyAscending(), -1);
        float[] logits = new float[70];
        logits[5] = 9;
        logits[66] = 4;
        assertEquals(5, sampler.sample(row(logits), 0));
        sampler.accept(5);
        assertEquals(66, sampler.sample(row(logits), 0));
        sampler.accept(66);
        sampler.accept(69);
        LogitsException error = assertThrows(LogitsException.class, () -> sampler.sample(row(logits), 0));
        assertTrue(String.valueOf(error.getMessage()).contains("no token may follow"));
    }

    @Test
    void logitsThatAreNotFiniteAreAnErrorThatNamesTheToken() {
        for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
            LogitsException error = assertThrows(
                    LogitsException.class,
                    () -> sampler(settings(0, 0, 1, 0), 3).sample(row(0, bad, 1), 0));
            assertTrue(String.valueOf(error.getMessage())
                    .contains("1 of 3 logits that are not finite, the first for token 1"));
        }
    }

    @Test
    void logprobsAreThoseOfTheModelWhateverTheSampling() {
        SamplingSettings settings = new SamplingSettings(0, 0, 1, 0, 0, 0, 1, -1, 0, Map.of(0, 50f));
        Sampler sampler = new Sampler(settings, new SamplerScratch(4), null, 3);
        assertEquals(0, sampler.sample(row(0, 1, 2, 1), 0));
        Logprobs logprobs = sampler.logprobs();
        assertNotNull(logprobs);
        double[] expected = softmax(1, 0, 1, 2, 1);
        assertEquals(Math.log(expected[0]), logprobs.logprob(), 1e-5);
        assertArrayEquals(new int[] {2, 1, 3}, logprobs.topTokens());
        assertEquals(Math.log(expected[2]), logprobs.topLogprobs()[0], 1e-5);
        assertEquals(Math.log(expected[3]), logprobs.topLogprobs()[2], 1e-5);
    }

    @Test
    void laterRowsAreReadWhereTheyLie() {
        assertEquals(1, sampler(settings(0, 0, 1, 0), 2).sample(row(1, 0, 0, 1), 1));
    }

    @Test
    void exponentialIsExactEnough() {
        float[] values = new float[2300];
        float[] powers = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = 3 - i * 0.0137f;
        }
        values[values.length - 1] = Float.NEGATIVE_INFINITY;
        Exponential.below(values, 3, 2, powers);
        for (int i = 0; i < values.length - 1; i++) {
            double expected = Math.exp(Math.max((values[i] - 3) * 2.0, -31));
            assertEquals(1, powers[i] / expected, 2e-5, "at " + values[i]);
        }
        assertTrue(powers[values.length - 1] < 1e-13);
    }

    /** Allows ids above the last one. */
    private static final class OnlyAscending implements TokenConstraint {
        private int last = -1;

        @Override
        public long[] allowed() {
            long[] bits = new long[2];
            for (int id = last + 1; id < 70; id++) {
                bits[id >> 6] |= 1L << id;
            }
            return bits;
        }

        @Override
        public void accept(int token) {
            last = token;
        }

        @Override
        public boolean finished() {
            return last == 69;
        }

        @Override
        public TokenConstraint fork() {
            OnlyAscending copy = new OnlyAscending();
            copy.last = last;
            return copy;
        }
    }
}
