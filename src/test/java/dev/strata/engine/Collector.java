package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.Delta;
import dev.strata.api.DeltaListener;
import dev.strata.api.TokenLogprob;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Gathers the deltas of one request. */
final class Collector implements DeltaListener {
    final List<Delta> deltas = new ArrayList<>();
    private final CountDownLatch done;
    private final CountDownLatch begun = new CountDownLatch(1);
    private final List<StringBuilder> texts = new ArrayList<>();
    private final List<Delta.Finished> finished = new ArrayList<>();
    final List<TokenLogprob> logprobs = new ArrayList<>();
    private @Nullable ApiError error;
    Consumer<Delta> also = delta -> {};

    Collector() {
        this(1);
    }

    Collector(int choices) {
        done = new CountDownLatch(choices);
        for (int i = 0; i < choices; i++) {
            texts.add(new StringBuilder());
        }
    }

    @Override
    public synchronized void onDelta(Delta delta) {
        deltas.add(delta);
        also.accept(delta);
        switch (delta) {
            case Delta.Content content -> {
                texts.get(content.choice()).append(content.text());
                logprobs.addAll(content.logprobs());
                begun.countDown();
            }
            case Delta.Finished end -> {
                finished.add(end);
                done.countDown();
            }
            case Delta.Failed failed -> {
                error = failed.error();
                while (done.getCount() > 0) {
                    done.countDown();
                }
            }
            case Delta.Reasoning reasoning -> begun.countDown();
            case Delta.Progress progress -> {}
            case Delta.ToolCallStart call -> {}
            case Delta.ToolCallArguments arguments -> {}
        }
    }

    private static void await(CountDownLatch latch, String what) {
        try {
            if (!latch.await(20, TimeUnit.SECONDS)) {
                throw new AssertionError("no " + what + " within 20 s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    Collector awaitBegun() {
        await(begun, "text");
        return this;
    }

    /** Waits for the last delta. */
    Collector awaitEnd() {
        await(done, "end");
        return this;
    }

    synchronized String text() {
        return text(0);
    }

    synchronized String text(int choice) {
        return texts.get(choice).toString();
    }

    synchronized Delta.Finished end() {
        return end(0);
    }

    synchronized Delta.Finished end(int choice) {
        for (Delta.Finished end : finished) {
            if (end.choice() == choice) {
                return end;
            }
        }
        throw new AssertionError("choice " + choice + " has not finished: " + error);
    }

    synchronized boolean hasFailed() {
        return error != null;
    }

    synchronized ApiError error() {
        ApiError failure = error;
        if (failure == null) {
            throw new AssertionError("the request has not failed");
        }
        return failure;
    }
}
