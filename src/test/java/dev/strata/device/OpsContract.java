package dev.strata.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.reference.ReferenceBackend;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;

/**
 * What every backend has to compute: each operation on many shapes (odd sizes, boundaries of pages and blocks, every stored type),
 * compared with the reference by normalised error. Backends extend it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class OpsContract {
    /** Results of the reference by the cases' names, computed once for all suites of a process. */
    private static final Map<String, float[][]> EXPECTED = new ConcurrentHashMap<>();

    private Backend tested;
    private Backend reference;

    /** Makes the backend under test, or skips all with a reason by an assumption. */
    protected abstract Backend create();

    /**
     * Largest accepted root mean square of the differences, relative to that of the expected values.
     *
     * @param kind what the case computes
     */
    protected double tolerance(OpCase.Kind kind) {
        return switch (kind) {
            case EXACT -> 0;
            case FLOAT -> 2e-5;
            case PRODUCT -> 5e-5;
            case STORED -> 5e-3;
        };
    }

    /** Whether to run a case: by default those whose names match {@code -Dstrata.cases}, or all. */
    protected boolean wanted(OpCase test) {
        String pattern = System.getProperty("strata.cases");
        return pattern == null || test.name().matches(pattern);
    }

    @BeforeAll
    void open() {
        tested = create();
        reference = ReferenceBackend.create(1);
    }

    @AfterAll
    void close() {
        if (tested != null) {
            tested.close();
            reference.close();
        }
    }

    /** All cases, for checks and benchmarks alike. */
    static List<OpCase> cases() {
        return Stream.of(
                        RowCases.all(),
                        ProductCases.all(),
                        AttentionCases.all(),
                        IndexCases.all(),
                        DeltaCases.all(),
                        ExpertCases.all(),
                        StreamCases.all(),
                        FusedCases.all())
                .flatMap(List::stream)
                .toList();
    }

    @TestFactory
    Stream<DynamicTest> agreesWithTheReference() {
        List<OpCase> cases = cases();
        assertEquals(
                cases.size(),
                cases.stream().map(OpCase::name).distinct().count(),
                "cases share a name, and with it a seed and the expected results");
        return cases.stream().filter(this::wanted).map(test -> DynamicTest.dynamicTest(test.name(), () -> check(test)));
    }

    private void check(OpCase test) {
        long seed = test.name().hashCode();
        float[][] expected = EXPECTED.computeIfAbsent(test.name(), _ -> {
            try (OpFixture fixture = new OpFixture(reference, seed)) {
                return test.body().run(fixture);
            }
        });
        float[][] actual;
        try (OpFixture fixture = new OpFixture(tested, seed)) {
            actual = test.body().run(fixture);
        }
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            double error = normalisedError(expected[i], actual[i]);
            double allowed = tolerance(test.kind());
            assertTrue(error <= allowed, test.name() + " output " + i + " has an error of " + error);
        }
    }

    static double normalisedError(float[] expected, float[] actual) {
        assertEquals(expected.length, actual.length);
        double difference = 0;
        double size = 0;
        for (int i = 0; i < expected.length; i++) {
            difference += Math.pow((double) actual[i] - expected[i], 2);
            size += Math.pow(expected[i], 2);
        }
        return difference == 0 ? 0 : Math.sqrt(difference / Math.max(size, 1e-12));
    }
}
