package dev.strata.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class MedianTest {
    @Test
    void theMiddleOrTheMeanOfTheTwoInIt() {
        assertEquals(0, Median.of());
        assertEquals(3, Median.of(3));
        assertEquals(4, Median.of(9, 4, 1));
        assertEquals(2.5, Median.of(List.of(8.0, 1.0, 3.0, 2.0)));
    }

    @Test
    void whatIsMeasuredKeepsItsOrder() {
        double[] values = {3, 1, 2};
        assertEquals(2, Median.of(values));
        assertArrayEquals(new double[] {3, 1, 2}, values);
    }
}
