package dev.strata.decode;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How much of a short prompt the processor takes, and whether it goes on doing so. */
class ShareGateTest {
    @ParameterizedTest
    @ValueSource(doubles = {0.7, 0.94, 0.99, 1.1, 1.5})
    void helpThatDoesNotPayEnds(double factor) {
        ShareGate gate = new ShareGate();
        int layers = trial(gate, factor, layer -> 1);
        int most = factor > 1.2 ? 24 : 48;
        assertTrue(layers <= most, "a pass of a large model decides, not " + layers + " layers");
        assertEquals(factor, gate.ratio(), 1e-6);
        assertEquals(factor < 0.95, gate.pays());
        assertEquals(factor < 0.95, gate.helps(gate.next()));
    }

    /** What is new in the first layers, workers that still wait in the first ones without help, and single slow layers. */
    @Test
    void disturbedLayersDoNotDecide() {
        ShareGate gate = new ShareGate();
        trial(gate, 1.1, layer -> {
            boolean chance = layer == 12 || layer == 18 || layer == 29;
            return layer < 8 ? 0.1 : layer % 16 >= 8 && layer % 8 < 2 ? 1.4 : chance ? 5 : 1;
        });
        assertFalse(gate.pays(), "ratio " + gate.ratio());
        assertEquals(1.1, gate.ratio(), 1e-6);
    }

    @Test
    void shortPassesDecideInTheEnd() {
        ShareGate gate = new ShareGate();
        for (int count = 0; count < 200; count++) {
            int layer = gate.next();
            gate.took(layer, 30, gate.helps(layer) ? 2 : 1, false);
        }
        assertTrue(gate.decided());
        assertFalse(gate.pays());
    }

    @Test
    void layersThatMissNothingDoNotCount() {
        ShareGate gate = new ShareGate();
        for (int layer = 0; layer < 200; layer++) {
            gate.took(gate.next(), 0, 5, true);
        }
        assertFalse(gate.decided());
    }

    @FunctionalInterface
    private interface Chance {
        double factor(int layer);
    }

    /** Lets a gate decide, where workers disturb two layers behind them; returns the layers that it took. */
    private static int trial(ShareGate gate, double factor, Chance chance) {
        int behindHelp = 0;
        for (int count = 1; count < 100; count++) {
            int layer = gate.next();
            boolean helped = gate.helps(layer);
            behindHelp = helped ? 0 : behindHelp + 1;
            gate.took(layer, 30, 30 * (helped ? factor : 1) * chance.factor(layer), behindHelp > 2);
            if (gate.decided()) {
                return count;
            }
        }
        throw new AssertionError("nothing is decided");
    }

    @Test
    void bothSidesAreThroughAtTheSameTime() {
        int[] rows = new int[100];
        Arrays.fill(rows, 3);
        MissedExperts missed = new MissedExperts(rows);
        assertEquals(50, missed.forProcessor(1, 1, expert -> true).length);
        assertEquals(33, missed.forProcessor(1, 2, expert -> true).length);
        assertEquals(75, missed.forProcessor(3, 1, expert -> true).length);
        Arrays.fill(rows, 9);
        int[] taken = missed.forProcessor(1, 1, expert -> true);
        assertEquals(33, taken.length, "each is read twice");
        assertEquals(66, missed.readings(taken));
        Arrays.fill(rows, MissedExperts.MOST_ROWS + 1);
        assertEquals(0, missed.forProcessor(1, 1, expert -> true).length);
    }

    @Test
    void thoseWithTheFewestRowsAreTaken() {
        MissedExperts missed = new MissedExperts(new int[] {0, 5, 1, 0, 30, 1, 2, 7});
        int[] taken = missed.forProcessor(1, 1, expert -> expert != 5);
        assertArrayEquals(new int[] {1, 2, 6}, taken);
        assertArrayEquals(new int[] {4, 5, 7}, missed.without(taken));
        assertArrayEquals(new int[] {1, 2, 4, 5, 6, 7}, missed.all());
        assertArrayEquals(new int[] {}, new MissedExperts(new int[] {4}).forProcessor(1, 1, expert -> true));
    }
}
