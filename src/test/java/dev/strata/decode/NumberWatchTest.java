package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NumberWatchTest {
    private static final String NAME = "watched by a test";
    private static final VarHandle WORD = JAVA_INT.varHandle();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(16, 8);
    private final LinkedBlockingQueue<Integer> heard = new LinkedBlockingQueue<>();
    private final NumberWatch watch = new NumberWatch(NAME, memory, 4, heard::add);
    private int number;

    @BeforeEach
    void start() {
        watch.start();
    }

    @AfterEach
    void close() {
        watch.close();
        arena.close();
    }

    private void next() {
        WORD.setRelease(memory, 4L, ++number);
    }

    private static Thread thread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(NAME))
                .findAny()
                .orElseThrow();
    }

    private void until(BooleanSupplier what) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!what.getAsBoolean()) {
            assertFalse(System.nanoTime() > end, () -> "the thread is " + thread().getState());
            Thread.onSpinWait();
        }
    }

    private void untilAsleep(Runnable meanwhile) {
        Thread thread = thread();
        until(() -> {
            meanwhile.run();
            return thread.getState() == Thread.State.WAITING;
        });
    }

    @Test
    void hearsAPassAlsoBehindALongSilence() throws InterruptedException {
        for (int pass = 0; pass < 3; pass++) {
            untilAsleep(() -> {});
            watch.begin();
            next();
            assertEquals(number, heard.poll(20, TimeUnit.SECONDS));
            // The thread looks now and then.
            Thread thread = thread();
            until(() -> thread.getState() == Thread.State.TIMED_WAITING);
            next();
            assertEquals(number, heard.poll(20, TimeUnit.SECONDS));
            watch.settle();
        }
    }

    @Test
    void numbersOfPassesThatWereNotAnnouncedDoNotKeepItAwake() throws InterruptedException {
        watch.begin();
        next();
        assertEquals(number, heard.poll(20, TimeUnit.SECONDS));
        watch.settle();
        untilAsleep(this::next);
        watch.begin();
        next();
        int last = number;
        until(() -> heard.contains(last));
    }
}
