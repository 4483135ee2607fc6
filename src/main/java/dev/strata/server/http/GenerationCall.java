package dev.strata.server.http;

import dev.strata.api.Delta;
import dev.strata.api.DeltaListener;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Generation;
import dev.strata.api.InferenceService;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answers to one HTTP request while they are made: the engine's thread puts pieces in and never waits; the request's virtual thread, its event loop or, to
 * send them at once, the engine's own takes them out. When a client reads so slowly that the queue fills, or goes away, the engine is told to stop and
 * {@link #next} throws.
 */
public final class GenerationCall implements AutoCloseable {
    /**
     * A delta and the number of its choice among all answers of the HTTP request.
     *
     * @param prompt which of the request's prompts it answers
     * @param nanos when it came, in {@link System#nanoTime}
     */
    public record Piece(int prompt, int choice, Delta delta, long nanos) {}

    /** Who takes the pieces; called on the thread that brings them. */
    interface Taker {
        /** A piece has come, or the client has gone. */
        void arrived();

        /** No more pieces come at this moment. */
        void paused();
    }

    private static final Taker NOBODY = new Taker() {
        @Override
        public void arrived() {}

        @Override
        public void paused() {}
    };

    private final Deque<Piece> pieces = new ArrayDeque<>();
    private final List<Generation> generations = new ArrayList<>();
    private final int bound;
    private final Runnable onClose;
    /** Answers whose last piece has not come. */
    private volatile int unfinished;

    private volatile boolean failed;

    private volatile Taker taker = NOBODY;
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
        synchronized (this) {
            generations.add(generation);
            late = cancelled;
        }
        if (late) {
            generation.cancel();
        }
    }

    private DeltaListener listener(int prompt, int firstChoice) {
        return new DeltaListener() {
            @Override
            public void onDelta(Delta delta) {
                deliver(new Piece(prompt, firstChoice + delta.choice(), delta, System.nanoTime()));
            }

            @Override
            public void onPause() {
                pause();
            }
        };
    }

    private void pause() {
        // An answer that is given as a whole needs nobody before its end.
        if (waits && hasEnded()) {
            wake();
        }
        taker.paused();
    }

    private void deliver(Piece piece) {
        boolean full = false;
        synchronized (this) {
            if (gone != null) {
                return;
            }
            if (piece.delta() instanceof Delta.Finished) {
                unfinished--;
            } else if (piece.delta() instanceof Delta.Failed) {
                failed = true;
            }
            full = pieces.size() >= bound;
            pieces.add(piece);
        }
        if (full) {
            abandon("The client reads too slowly: " + bound + " pieces are waiting");
        } else {
            taker.arrived();
        }
    }

    private synchronized void wake() {
        notifyAll();
    }

    /**
     * The next piece. When there is none now, waits until the last one has come.
     *
     * @throws ClientGoneException when the client has gone
     */
    public synchronized Piece next() {
        waits = true;
        try {
            while (gone == null) {
                Piece piece = pieces.poll();
                if (piece != null) {
                    return piece;
                }
                wait();
            }
            throw new ClientGoneException(gone);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ClientGoneException("Interrupted");
        } finally {
            waits = false;
        }
    }

    void onArrival(Taker next) {
        taker = next;
    }

    /**
     * The next piece; null when there is none now.
     *
     * @throws ClientGoneException when the client has gone
     */
    @Nullable
    synchronized Piece poll() {
        if (gone != null) {
            throw new ClientGoneException(gone);
        }
        return pieces.poll();
    }

    /** Whether the last piece has come, though it may still wait. */
    boolean hasEnded() {
        return failed || unfinished == 0;
    }

    /** Whether there is nothing to do now. */
    synchronized boolean isQuiet() {
        return pieces.isEmpty() && gone == null;
    }

    /** Prompt tokens of all prompts together. */
    public synchronized int promptTokens() {
        return generations.stream().mapToInt(Generation::promptTokens).sum();
    }

    /** Asks the engine to stop; what it has made so far still arrives, with its end. */
    public void cancel() {
        List<Generation> running;
        synchronized (this) {
            cancelled = true;
            running = List.copyOf(generations);
        }
        running.forEach(Generation::cancel);
    }

    /** Stops the engine if the answer was left before its end. */
    @Override
    public void close() {
        boolean running;
        synchronized (this) {
            running = unfinished > 0;
            pieces.clear();
            gone = gone == null ? "The answer was left" : gone;
        }
        if (running) {
            cancel();
        }
        onClose.run();
    }

    private void abandon(String reason) {
        synchronized (this) {
            gone = gone == null ? reason : gone;
            notifyAll();
        }
        cancel();
        taker.arrived();
        taker.paused();
    }
}
