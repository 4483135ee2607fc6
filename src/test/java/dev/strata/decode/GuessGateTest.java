package dev.strata.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class GuessGateTest {
    private final GuessGate gate = new GuessGate();

    @Test
    void guessesThatAreRightGoOn() {
        for (int step = 0; step < 1000; step++) {
            gate.step(40, 20);
            assertTrue(gate.open());
        }
    }

    @Test
    void guessesThatAreWrongRestAndAreTriedAgain() {
        int tried = 0;
        for (int step = 0; step < 9000; step++) {
            tried += gate.open() ? 1 : 0;
            gate.step(gate.open() ? 32 : 0, gate.open() ? 15 : 0);
        }
        assertEquals(3 * 8, tried, "256 blobs at a time, 4096 steps apart");
    }
}
