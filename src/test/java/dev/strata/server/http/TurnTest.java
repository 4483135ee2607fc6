package dev.strata.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** One thread at a time has the turn, and the event loop gets it when it asked for it. */
final class TurnTest {
    @Test
    void nobodyTakesWhatIsTheLoops() {
        Turn turn = new Turn();
        assertFalse(turn.take());
        assertTrue(turn.claim());
        turn.open();
        assertTrue(turn.claim());
        assertTrue(turn.isLoops());
        assertFalse(turn.take());
    }

    @Test
    void whoTookItGivesItBack() {
        Turn turn = new Turn();
        turn.open();
        assertTrue(turn.take());
        assertFalse(turn.take());
        assertFalse(turn.isLoops());
        assertTrue(turn.giveBack());
        assertTrue(turn.take());
        turn.leave();
        assertTrue(turn.isLoops());
    }

    @Test
    void theLoopIsNextWhenItAsked() {
        Turn turn = new Turn();
        turn.open();
        assertTrue(turn.take());
        assertFalse(turn.claim());
        assertFalse(turn.claim());
        assertFalse(turn.giveBack());
        assertTrue(turn.isLoops());
        assertTrue(turn.claim());
    }

    /** What the turn guards. */
    private static final class Counted {
        int count;
        /** How often the other thread left the turn open. */
        int given;
    }

    @Test
    void countsStayRight() throws InterruptedException {
        Turn turn = new Turn();
        turn.open();
        Counted counted = new Counted();
        int each = 100_000;
        Thread other = Thread.ofPlatform().start(() -> {
            int given = 0;
            for (int done = 0; done < each; ) {
                if (turn.take()) {
                    counted.count++;
                    done++;
                    given += turn.giveBack() ? 1 : 0;
                }
                Thread.onSpinWait();
            }
            counted.given = given;
        });
        int here = 0;
        while (other.isAlive()) {
            if (turn.claim()) {
                counted.count++;
                here++;
                turn.open();
            }
        }
        other.join();
        assertEquals(each + here, counted.count);
        assertTrue(counted.given <= each, counted.given + " of " + each);
    }
}
