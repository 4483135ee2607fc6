package dev.strata.engine;

import dev.strata.api.Delta;
import dev.strata.api.DeltaListener;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Generation;
import dev.strata.engine.PrefixNode.Checkpoint;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One request from acceptance to its last delta, with one sequence for every choice. */
final class ActiveRequest implements Generation {
    private static final AtomicLong NUMBERS = new AtomicLong();

    final long number = NUMBERS.incrementAndGet();
    final GenerateRequest request;
    final TextSide.Prepared prompt;
    final DeltaListener listener;
    final long deadlineNanos;
    private final Runnable wake;
    private volatile boolean cancelled;
    private volatile boolean overdue;

    /** Choices whose last delta has not been delivered; {@link Delivery}'s own. */
    int open;
    /** Choices that have not ended; the step loop's own. */
    private int going;
    /** Choices that wait for the first one to read the prompt. */
    int followers;
    /** The first choice has read the prompt or ended, so that the others need not wait for it. */
    boolean leaderGone;

    @Nullable
    Checkpoint shared;

    int cachedTokens = -1;

    ActiveRequest(
            GenerateRequest request,
            TextSide.Prepared prompt,
            DeltaListener listener,
            long deadlineNanos,
            Runnable wake) {
        this.request = request;
        this.prompt = prompt;
        this.listener = listener;
        this.deadlineNanos = deadlineNanos;
        this.wake = wake;
        this.open = request.choices();
        this.going = request.choices();
        this.followers = request.choices() - 1;
    }

    @Override
    public int promptTokens() {
        return prompt.tokens().length;
    }

    @Override
    public void cancel() {
        cancelled = true;
        wake.run();
    }

    boolean cancelled() {
        return cancelled;
    }

    /** Whether the request should end now, because it was cancelled or took too long. */
    boolean shouldEnd(long now) {
        if (now - deadlineNanos >= 0) {
            overdue = true;
        }
        return cancelled || overdue;
    }

    /** The first choice has read all but the last token of the prompt, and what it had then was kept in {@code checkpoint}. */
    void shared(@Nullable Checkpoint checkpoint) {
        leaderGone = true;
        if (checkpoint != null && shared == null) {
            checkpoint.pins++;
            shared = checkpoint;
        }
    }

    /** A choice has ended; returns whether the whole request has with it. */
    boolean choiceEnded() {
        return going > 0 && --going == 0;
    }

    /** All choices have ended; returns whether any had not before. */
    boolean allEnded() {
        boolean news = going > 0;
        going = 0;
        return news;
    }

    /** Another choice has begun. */
    void followed() {
        followers--;
        Checkpoint checkpoint = shared;
        if (followers == 0 && checkpoint != null) {
            checkpoint.pins--;
            shared = null;
        }
    }

    void deliver(Delivery delivery, Delta delta) {
        delivery.send(this, delta);
    }
}
