package dev.strata.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.api.Timings;
import dev.strata.api.Usage;
import org.junit.jupiter.api.Test;

final class UsageTotalTest {
    /** The choice that ends first found the prompt read by another. */
    @Test
    void aPromptCountsOnceAndItsReadingIsTold() {
        UsageTotal total = new UsageTotal();
        total.add(0, new Usage(13, 0, 4, 1), new Timings(0, 1, 2, 4, 30, 2, 1));
        total.add(0, new Usage(13, 0, 6, 2), new Timings(0, 13, 50, 6, 40, 3, 3));
        assertEquals(new Usage(13, 0, 10, 3), total.total());
        assertEquals(new Timings(0, 13, 50, 10, 40, 5, 4), total.timings());
    }
}
