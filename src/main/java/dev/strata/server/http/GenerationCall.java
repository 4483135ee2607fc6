package dev.strata.server.http;

import dev.strata.api.Delta;
import dev.strata.api.DeltaListener;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Generation;
import dev.strata.api.InferenceService;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The answers to one HTTP request while they are made: the engine's thread puts pieces in and never waits, the request's virtual thread or its event loop takes
 * them out. When a client reads so slowly that the queue fills, or goes away, the engine is told to stop and {@link #next} throws.
 */
public final class GenerationCall implements AutoCloseable {
    /**
     * A delta and the number of its choice among all answers of the HTTP request.
     *
     * @param prompt which of the request's prompts it answers
     */
    public record Piece(int prompt, int choice, Delta delta) {}

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();
    private final Deque<Piece> pieces = new ArrayDeque<>();
    private final List<Generation> generations = new ArrayList<>();
    private final int bound;
    private final Runnable onClose;
    private int unfinished;
    private volatile Runnable arrival = () -> {};
    private volatile Runnable pause = () -> {};
    /** Whether a thread waits in {@link #next}. */
    private volatile boolean waits;

    private boolean cancelled;
    private @Nullable String gone;

    private GenerationCall(int bound, Runnable onClose) {
        this.bound = bound;
        this.onClose = onClose;
    }

    /**
     * Hands the requests to the engine. When one of them is refused, those before it are cancelled.
     *
     * @param bound most pieces that may wait
     */
    static GenerationCall start(
            InferenceService service, List<GenerateRequest> requests, Exchange exchange, int bound, Runnable onClose) {
        GenerationCall call = new GenerationCall(bound, onClose);
        call.unfinished = requests.stream().mapToInt(GenerateRequest::choices).sum();
        exchange.onDisconnect(() -> call.abandon("The client has closed the connection"));
        try {
            int choices = 0;
            for (int prompt = 0; prompt < requests.size(); prompt++) {
                int index = prompt;
                int first = choices;
                GenerateRequest request = requests.get(prompt);
                call.add(service.generate(request, call.listener(index, first)));
                choices += request.choices();
            }
            return call;
        } catch (RuntimeException | Error e) {
            call.cancel();
            throw e;
        }
    }

    private void add(Generation generation) {
        boolean late;
        lock.lock();
        try {
            generations.add(generation);
            late = cancelled;
        } finally {
            lock.unlock();
        }
        if (late) {
            generation.cancel();
        }
    }

    private DeltaListener listener(int prompt, int firstChoice) {
        return new DeltaListener() {
            @Override
            public void onDelta(Delta delta) {
                deliver(new Piece(prompt, firstChoice + delta.choice(), delta));
            }

            @Override
            public void onPause() {
                pause();
            }
        };
    }

    private void pause() {
        if (waits) {
            lock.lock();
            try {
                arrived.signal();
            } finally {
                lock.unlock();
            }
        }
        pause.run();
    }

    private void deliver(Piece piece) {
        boolean full = false;
        lock.lock();
        try {
            if (gone != null) {
                return;
            }
            if (piece.delta() instanceof Delta.Finished) {
                unfinished--;
            }
            full = pieces.size() >= bound;
            pieces.add(piece);
        } finally {
            lock.unlock();
        }
        if (full) {
            abandon("The client reads too slowly: " + bound + " pieces are waiting");
        } else {
            arrival.run();
        }
    }

    /** The next piece; null when none came within the time. */
    public @Nullable Piece next(Duration longest) {
        long nanos = longest.toNanos();
        lock.lock();
        try {
            while (pieces.isEmpty() && gone == null) {
                if (nanos <= 0) {
                    return null;
                }
                waits = true;
                nanos = arrived.awaitNanos(nanos);
                waits = false;
            }
            if (gone != null) {
                throw new ClientGoneException(gone);
            }
            return pieces.poll();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ClientGoneException("Interrupted");
        } finally {
            lock.unlock();
        }
    }

    /**
     * Says what to do, on the thread that brings pieces: {@code action} whenever one has arrived or the client has gone, and {@code afterwards} when no more come
     * for now.
     */
    void onArrival(Runnable action, Runnable afterwards) {
        pause = afterwards;
        arrival = action;
    }

    /**
     * The next piece; null when there is none now.
     *
     * @throws ClientGoneException when the client has gone
     */
    @Nullable
    Piece poll() {
        lock.lock();
        try {
            if (gone != null) {
                throw new ClientGoneException(gone);
            }
            return pieces.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Prompt tokens of all prompts together. */
    public int promptTokens() {
        lock.lock();
        try {
            return generations.stream().mapToInt(Generation::promptTokens).sum();
        } finally {
            lock.unlock();
        }
    }

    /** Asks the engine to stop; what it has made so far still arrives, with its end. */
    public void cancel() {
        List<Generation> running;
        lock.lock();
        try {
            cancelled = true;
            running = List.copyOf(generations);
        } finally {
            lock.unlock();
        }
        running.forEach(Generation::cancel);
    }

    /** Stops the engine if the answer was left before its end. */
    @Override
    public void close() {
        boolean running;
        lock.lock();
        try {
            running = unfinished > 0;
            pieces.clear();
            gone = gone == null ? "The answer was left" : gone;
        } finally {
            lock.unlock();
        }
        if (running) {
            cancel();
        }
        onClose.run();
    }

    private void abandon(String reason) {
        lock.lock();
        try {
            gone = gone == null ? reason : gone;
            arrived.signal();
        } finally {
            lock.unlock();
        }
        cancel();
        arrival.run();
        pause.run();
    }
}
