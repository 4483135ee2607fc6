package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What is told of a drive's queue. */
class ReadCountersTest {
    @Test
    void timeIsSharedOutByTheDepthOfTheQueue() {
        ReadCounters counters = new ReadCounters(2);
        ReadCounters.Snapshot idle = span(counters);
        assertEquals(1, idle.idleShare());
        assertEquals(0, idle.shallowShare());

        long first = counters.begin();
        ReadCounters.Snapshot one = span(counters);
        assertEquals(0, one.idleShare());
        assertEquals(1, one.shallowShare());

        long second = counters.begin();
        ReadCounters.Snapshot both = span(counters);
        assertEquals(0, both.idleShare());
        assertEquals(0, both.shallowShare());

        counters.end(first, 100, true);
        counters.end(second, 50, false);
        ReadCounters.Snapshot all = idle.plus(one).plus(both);
        assertEquals(idle.nanos() + one.nanos() + both.nanos(), all.nanos());
        assertEquals(one.nanos() + both.nanos(), all.busyNanos());
        assertEquals(both.nanos(), all.fullNanos());
        ReadCounters.Snapshot end = counters.snapshot();
        assertEquals(150, end.bytes());
        assertEquals(100, end.directBytes());
        assertTrue(end.requestNanos() >= all.busyNanos() + all.fullNanos());
    }

    /** Some time in which nothing begins or ends. */
    private static ReadCounters.Snapshot span(ReadCounters counters) {
        ReadCounters.Snapshot before = counters.snapshot();
        ReadCounters.Snapshot now = counters.snapshot();
        while (now.nanos() == before.nanos()) {
            now = counters.snapshot();
        }
        return now.since(before);
    }
}
