package dev.strata.format.convert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class HeadOrderTest {
    /** Two key heads with three value heads each: grouped 0 1 2 | 3 4 5 becomes 0 3 1 4 2 5. */
    @Test
    void tiledHeadsAlternateBetweenKeyHeads() {
        HeadOrder order = new HeadOrder(2, 6, true);
        assertEquals(
                "[0, 3, 1, 4, 2, 5]",
                Arrays.toString(IntStream.range(0, 6).map(order::source).toArray()));
        for (int head = 0; head < 6; head++) {
            assertEquals(order.source(head) / 3, head % 2, "key head of stored head " + head);
        }
    }

    @Test
    void rowsBeforeTheValuesStay() {
        HeadOrder order = new HeadOrder(2, 4, true);
        long[] rows = LongStream.range(0, 11).map(order.rowsAfter(3, 2)).toArray();
        assertEquals("[0, 1, 2, 3, 4, 7, 8, 5, 6, 9, 10]", Arrays.toString(rows));
    }

    @Test
    void groupedRowsAreTakenApartOnceEach() {
        HeadGroups groups = new HeadGroups(2, 2, 2, 3);
        // Each group: q q k k, v of two heads (6), z of two heads (6).
        long[] queryKeyValue =
                LongStream.range(0, 8 + 12).map(groups::queryKeyValueRow).toArray();
        assertEquals(
                "[0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 6, 7, 8, 9, 20, 21, 22, 23, 24, 25]",
                Arrays.toString(queryKeyValue));
        long[] gate = LongStream.range(0, 12).map(groups::gateRow).toArray();
        assertEquals("[10, 11, 12, 13, 14, 15, 26, 27, 28, 29, 30, 31]", Arrays.toString(gate));
        long[] all = LongStream.concat(Arrays.stream(queryKeyValue), Arrays.stream(gate))
                .sorted()
                .toArray();
        assertTrue(Arrays.equals(LongStream.range(0, 32).toArray(), all));
    }
}
