package dev.strata.prefill;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The ring: ranges in flight never overlap and positions depend on sizes only. */
class StreamRingTest {
    @Test
    void rangesInFlightNeverOverlap() {
        SplittableRandom random = new SplittableRandom(1);
        for (int round = 0; round < 300; round++) {
            long bytes = random.nextLong(50, 500);
            StreamRing ring = new StreamRing(bytes, 8);
            ArrayDeque<long[]> flying = new ArrayDeque<>();
            long end = 0;
            for (int i = 0; i < 300; i++) {
                if (random.nextInt(10) == 0) {
                    ring.rewind();
                    end = Math.ceilDiv(end, bytes) * bytes;
                }
                long size = random.nextLong(1, bytes + 1);
                long start = ring.take(size);
                while (start < 0) {
                    flying.removeFirst();
                    ring.release();
                    start = ring.take(size);
                }
                assertEquals(StreamRing.place(end, size, bytes), start);
                end = end % bytes + size > bytes ? Math.ceilDiv(end, bytes) * bytes + size : end + size;
                for (long[] range : flying) {
                    assertTrue(start + size <= range[0] || start >= range[1], "overlap");
                }
                flying.add(new long[] {start, start + size});
                assertEquals(flying.size(), ring.taken());
                if (random.nextBoolean() && !flying.isEmpty()) {
                    flying.removeFirst();
                    ring.release();
                }
            }
        }
    }

    @Test
    void positionsRepeatAfterARewind() {
        StreamRing ring = new StreamRing(1000, 64);
        List<Long> first = new ArrayList<>();
        for (int lap = 0; lap < 3; lap++) {
            ring.rewind();
            for (int i = 0; i < 20; i++) {
                long start = ring.take(130 + i);
                while (start < 0) {
                    ring.release();
                    start = ring.take(130 + i);
                }
                if (lap == 0) {
                    first.add(start);
                } else {
                    assertEquals(first.get(i), start);
                }
            }
        }
    }

    @Test
    void limits() {
        StreamRing ring = new StreamRing(100, 2);
        assertThrows(IllegalArgumentException.class, () -> ring.take(101));
        assertThrows(IllegalStateException.class, ring::release);
        assertEquals(0, ring.take(10));
        assertEquals(10, ring.take(10));
        assertEquals(-1, ring.take(10), "as many ranges as there may be");
    }
}
