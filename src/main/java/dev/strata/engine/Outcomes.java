package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.Timings;
import dev.strata.api.Usage;
import dev.strata.decode.ExpertTotals;
import dev.strata.grammar.GrammarException;
import dev.strata.sampling.LogitsException;
import dev.strata.sampling.TokenConstraint;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What becomes of a sampled token: text for the client, or the end of the answer. Used by the step loop alone. */
final class Outcomes {
    private static final Logger LOG = LoggerFactory.getLogger(Outcomes.class);

    /** So many equal tokens in a row end an answer. */
    static final int MOST_EQUAL_TOKENS = 256;

    private final TextSide text;
    private final Delivery delivery;
    private final boolean meanwhile;
    private final EngineCounters counters;
    private final Supplier<@Nullable ExpertTotals> experts;
    private final List<Delta> deltas = new ArrayList<>();

    /** @param meanwhile whether every pass delivers what there is while the backend computes */
    Outcomes(
            TextSide text,
            Delivery delivery,
            boolean meanwhile,
            EngineCounters counters,
            Supplier<@Nullable ExpertTotals> experts) {
        this.meanwhile = meanwhile;
        this.experts = experts;
        this.text = text;
        this.delivery = delivery;
        this.counters = counters;
    }

    /** The sequence's work begins now. */
    void begin(Sequence sequence) {
        sequence.startedNanos = System.nanoTime();
        sequence.expertsBefore = experts.get();
    }

    /** Takes the token that was sampled for {@code sequence}; afterwards {@link Sequence#ended} says whether it was the last. */
    void token(Sequence sequence, int token, long now) {
        deltas.clear();
        if (sequence.generated() == 0) {
            sequence.firstTokenNanos = now;
        }
        int equal = sequence.append(token);
        sequence.sampler.accept(token);
        counters.tokensGenerated.increment();
        boolean end = text.isEnd(token);
        boolean stopped = end && !sequence.request.request.ignoreEndToken();
        if (!end) {
            stopped = sequence.answer.token(token, sequence.sampler.logprobs(), deltas);
            send(sequence);
        }
        TokenConstraint constraint = sequence.sampler.constraint();
        if (stopped || (constraint != null && end)) {
            finish(sequence, FinishReason.STOP, now);
        } else if (equal >= MOST_EQUAL_TOKENS) {
            finish(sequence, FinishReason.REPETITION, now);
        } else if (sequence.generated() >= sequence.mostTokens) {
            finish(sequence, FinishReason.LENGTH, now);
        }
    }

    /** Ends an answer in good order. */
    void finish(Sequence sequence, FinishReason reason, long now) {
        FinishReason told = sequence.answer.end(reason, deltas);
        send(sequence);
        sequence.ended = true;
        ActiveRequest request = sequence.request;
        int cached = Math.max(0, request.cachedTokens);
        Usage usage = new Usage(sequence.promptLength, cached, sequence.generated(), sequence.answer.reasoningTokens());
        String stop = reason == FinishReason.STOP ? sequence.answer.stopString() : null;
        request.deliver(
                delivery, new Delta.Finished(sequence.choice, told, usage, timings(sequence, cached, now), stop));
        if (request.choiceEnded()) {
            (reason == FinishReason.CANCELLED ? counters.cancelled : counters.finished).increment();
        }
        RequestLog.ended(sequence, told.name().toLowerCase(Locale.ROOT), experts.get(), now);
    }

    /** Ends an answer that an error of its own has broken: logits, rule or parser. */
    void broken(Sequence sequence, RuntimeException error, long now) {
        if (error instanceof LogitsException bad) {
            fail(sequence, Errors.logits(bad), now);
        } else if (error instanceof GrammarException bad) {
            fail(sequence, Errors.rule(bad), now);
        } else {
            LOG.error("request {} failed", sequence.request.number, error);
            fail(sequence, Errors.pass(error), now);
        }
    }

    /** Ends an answer that cannot go on, and with it the other choices of its request. */
    void fail(Sequence sequence, ApiError error, long now) {
        deltas.clear();
        sequence.ended = true;
        sequence.request.cancel();
        sequence.request.deliver(delivery, new Delta.Failed(sequence.choice, error));
        if (sequence.request.allEnded()) {
            counters.failed.increment();
        }
        RequestLog.ended(sequence, "failed: " + error.message(), experts.get(), now);
    }

    /** Tells how much of the prompt has been read, where that was asked for. */
    void progress(Sequence sequence, long now) {
        if (sequence.request.request.progress() && sequence.choice == 0) {
            sequence.request.deliver(
                    delivery,
                    new Delta.Progress(
                            sequence.choice,
                            sequence.promptLength,
                            sequence.reused,
                            Math.min(sequence.past, sequence.promptLength),
                            (now - sequence.startedNanos) / 1e6));
        }
    }

    void deliver(Sequence sequence, Delta delta) {
        sequence.request.deliver(delivery, delta);
    }

    /** Gives the clients what there is for them. */
    void flush() {
        delivery.flush();
    }

    /** The same when a pass may follow at once: on a card the clients are served while it computes, else they need not wait for it. */
    void flushBeforePass() {
        if (!meanwhile) {
            delivery.flush();
        }
    }

    private void send(Sequence sequence) {
        for (Delta delta : deltas) {
            sequence.request.deliver(delivery, delta);
        }
        deltas.clear();
    }

    private static Timings timings(Sequence sequence, int cached, long now) {
        long first = sequence.firstTokenNanos != 0 ? sequence.firstTokenNanos : now;
        return new Timings(
                cached,
                sequence.readTokens,
                sequence.begun ? (first - sequence.startedNanos) / 1e6 : 0,
                sequence.generated(),
                (now - first) / 1e6,
                sequence.draftsOffered,
                sequence.draftsAccepted);
    }
}
