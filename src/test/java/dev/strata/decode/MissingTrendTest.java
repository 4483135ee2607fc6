package dev.strata.decode;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When the processor is asked for help. */
class MissingTrendTest {
    @Test
    void helpIsForStepsThatMissMany() {
        MissingTrend trend = new MissingTrend();
        for (int step = 0; step < 100; step++) {
            trend.missed(step % 2 == 0 ? 95_000 : 10_000);
            assertFalse(trend.many(), "52 us a layer, every other step many");
        }
        for (int step = 0; step < 10; step++) {
            trend.missed(400_000);
        }
        assertTrue(trend.many());
        for (int step = 0; step < 40; step++) {
            trend.missed(58_000);
        }
        assertTrue(trend.many(), "what has begun goes on a little below");
        for (int step = 0; step < 40; step++) {
            trend.missed(30_000);
        }
        assertFalse(trend.many());
    }
}
