package dev.strata.expert;

import java.util.Arrays;
import java.util.OptionalDouble;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether reading ahead pays: windows of steps with and without it alternate; after {@value #TRIALS} pairs the median of the ratios of
 * their median times decides for good. Every guess costs the drive something, which only an idle drive can bear.
 */
public final class AheadGate {
    static final int WINDOW = 16;
    static final int TRIALS = 5;

    private static final Logger LOG = LoggerFactory.getLogger(AheadGate.class);

    private final long[] nanos = new long[WINDOW];
    private final double[] ratios = new double[TRIALS];
    private boolean decided;
    private boolean on = true;
    private double with;
    private int steps = -1;
    private int pairs;
    private int lastLayer = Integer.MAX_VALUE;
    private long begun;

    private AheadGate(boolean decided) {
        this.decided = decided;
    }

    /** Always open. */
    public static AheadGate open() {
        return new AheadGate(true);
    }

    /** Open as long as measurements say so. */
    public static AheadGate measuring() {
        return new AheadGate(false);
    }

    /** Whether a guess for {@code layer} is to be read; layers that do not ascend begin a new step. */
    boolean passes(int layer, long now) {
        if (!decided && layer <= lastLayer) {
            step(now);
        }
        lastLayer = layer;
        return on;
    }

    private void step(long now) {
        if (steps >= 0) {
            nanos[steps] = now - begun;
        }
        begun = now;
        if (++steps < WINDOW) {
            return;
        }
        steps = 0;
        // Half a window is left out at its start: what was read ahead before is still there.
        long[] sorted = Arrays.copyOfRange(nanos, WINDOW / 2, WINDOW);
        Arrays.sort(sorted);
        double median = sorted[sorted.length / 2];
        if (on) {
            with = median;
        } else {
            ratios[pairs++] = with / Math.max(1, median);
        }
        on = !on;
        if (pairs == TRIALS) {
            decided = true;
            Arrays.sort(ratios);
            on = ratios[TRIALS / 2] < 1;
            LOG.info(
                    "steps that guess the next layer's experts and read them ahead take {} of the time of others: it {}",
                    String.format(java.util.Locale.ROOT, "%.2f", ratios[TRIALS / 2]),
                    on ? "helps" : "does not help");
        }
    }

    /** Time of steps with reading ahead to that of steps without; empty before it is known and where it was not measured. */
    OptionalDouble ratio() {
        return pairs == TRIALS ? OptionalDouble.of(ratios[TRIALS / 2]) : OptionalDouble.empty();
    }
}
