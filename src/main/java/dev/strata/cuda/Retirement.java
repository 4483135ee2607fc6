package dev.strata.cuda;

import dev.strata.device.Event;
import java.util.ArrayDeque;
import java.util.Queue;

/** Memory that work may still read: closed, in order, once the event behind that work has happened. */
final class Retirement {
    private record Retired(AutoCloseable memory, Event event) {}

    private final Queue<Retired> waiting = new ArrayDeque<>();

    synchronized void add(AutoCloseable memory, Event event) {
        waiting.add(new Retired(memory, event));
    }

    /** Closes what can be closed without waiting. */
    synchronized void collect() {
        while (!waiting.isEmpty() && waiting.peek().event().isDone()) {
            close(waiting.remove());
        }
    }

    /** Waits for everything. */
    synchronized void drain() {
        while (!waiting.isEmpty()) {
            Retired retired = waiting.remove();
            retired.event().synchronize();
            close(retired);
        }
    }

    private static void close(Retired retired) {
        try {
            retired.memory().close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("retired memory could not be closed", e);
        }
    }
}
