package dev.strata.server.http;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.Delta;
import dev.strata.api.GenerateRequest;
import dev.strata.api.InferenceService;
import dev.strata.metrics.GapHistogram;
import dev.strata.metrics.ServerMetrics;
import dev.strata.server.http.GenerationCall.Piece;
import io.netty.channel.EventLoop;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/** Runs generations for the endpoints of all dialects: starts them, feeds their pieces to a writer, keeps streams alive, counts. */
public final class Generations {
    /** Long enough not to be another's by chance. */
    private static final Pattern CLIENT_ID = Pattern.compile("[A-Za-z0-9._-]{16,128}");

    private final InferenceService service;
    private final ActiveRequests active;
    private final ServerMetrics metrics;
    private final Map<EventLoop, PumpQueue> pumps = new ConcurrentHashMap<>();
    /** The engine's thread's. */
    private final DirectSender sender = new DirectSender();
    /** For the beginnings and ends of streams, which their requests' own threads send. */
    private final DirectSender edges = new DirectSender();

    public Generations(InferenceService service, ActiveRequests active, ServerMetrics metrics) {
        this.service = service;
        this.active = active;
        this.metrics = metrics;
        metrics.counter(
                "strata_direct_sends_total",
                "Pieces of streams that went to their sockets past the pipeline",
                this::directSends);
    }

    private long directSends() {
        return sender.sends()
                + edges.sends()
                + pumps.values().stream()
                        .mapToLong(pump -> pump.sender().sends())
                        .sum();
    }

    public InferenceService service() {
        return service;
    }

    /**
     * Starts the requests under one public id, and under the client's own {@code x-request-id}: without a stream, the client learns ours only at the end.
     *
     * @throws ApiException when the engine is not ready or refuses one
     */
    public GenerationCall start(Exchange exchange, String id, List<GenerateRequest> requests, boolean streaming) {
        requireReady();
        // Without a stream nothing is written before the end, so a slow reader can't make pieces pile up.
        int bound = streaming ? exchange.limits().queuedDeltas() : Integer.MAX_VALUE;
        String own = exchange.header("x-request-id");
        String alias = own != null && CLIENT_ID.matcher(own).matches() ? own : id;
        GenerationCall call = GenerationCall.start(service, requests, exchange, bound, () -> {
            active.remove(id);
            active.remove(alias);
        });
        active.add(id, call);
        active.add(alias, call);
        return call;
    }

    /** @throws ApiException UNAVAILABLE unless the engine is ready */
    public void requireReady() {
        InferenceService.State state = service.state();
        if (state != InferenceService.State.READY) {
            String reason = service.stateReason();
            throw new ApiException(new ApiError(
                    ApiError.Kind.UNAVAILABLE,
                    "engine_" + state.name().toLowerCase(Locale.ROOT),
                    reason.isEmpty() ? "The engine is " + state.name().toLowerCase(Locale.ROOT) : reason,
                    null));
        }
    }

    /**
     * Takes all pieces of the call to the writer, then ends the stream. A failure of the engine goes to the writer too; nothing but a lost client is thrown.
     */
    public void stream(Exchange exchange, GenerationCall call, EventStream events, EventWriter writer) {
        writer.begin();
        events.comment("accepted");
        PumpQueue queue =
                pumps.computeIfAbsent(exchange.channel().eventLoop(), loop -> new PumpQueue(loop, exchange.limits()));
        Progress progress = new Progress(exchange);
        try {
            new EventPump(exchange, call, events, writer, progress, queue, sender, edges).run();
        } finally {
            progress.publish();
        }
    }

    /**
     * Takes all pieces of the call into the collector.
     *
     * @throws ApiException when the engine fails on the request
     */
    public AnswerCollector collect(Exchange exchange, GenerationCall call, int choices) {
        AnswerCollector answers = new AnswerCollector(choices);
        collect(exchange, call, answers::isDone, answers::add);
        return answers;
    }

    /** Takes all pieces of the call to the taker until that is done. */
    public void collect(Exchange exchange, GenerationCall call, BooleanSupplier done, Consumer<Piece> taker) {
        Progress progress = new Progress(exchange);
        try {
            while (!done.getAsBoolean()) {
                Piece piece = call.next();
                progress.accept(piece);
                taker.accept(piece);
            }
        } finally {
            progress.publish();
        }
    }

    /** Counts the pieces of one request, and writes its token counts into the log line. */
    private final class Progress implements Consumer<Piece> {
        private final Exchange exchange;
        /** When the piece before came, in nanoseconds of the exchange; 0: there was none. */
        private long last;

        private final GapHistogram.Answer gaps = metrics.gaps();
        private int predicted;
        private final BitSet prompts = new BitSet();

        Progress(Exchange exchange) {
            this.exchange = exchange;
        }

        @Override
        public void accept(Piece piece) {
            switch (piece.delta()) {
                case Delta.Finished finished -> finish(piece.prompt(), finished);
                case Delta.Failed failed -> {
                    gaps.publish();
                    exchange.note(", failed: " + failed.error().code());
                }
                case Delta.Progress _ -> {}
                default -> tick(exchange.elapsedNanos(piece.nanos()));
            }
        }

        /** Makes known what was counted, also of an answer that nobody waits for any more. */
        void publish() {
            gaps.publish();
        }

        private void tick(long now) {
            if (last == 0) {
                metrics.firstToken(now / 1e9);
            } else {
                gaps.add(now - last);
            }
            last = now;
        }

        private void finish(int prompt, Delta.Finished finished) {
            gaps.publish();
            predicted += finished.usage().completionTokens();
            boolean first = !prompts.get(prompt);
            prompts.set(prompt);
            metrics.finished(
                    finished.reason().name().toLowerCase(Locale.ROOT), finished.usage(), finished.timings(), first);
            // Without a formatter, which costs a short answer as much as some of its tokens.
            exchange.note(", " + finished.usage().promptTokens() + " prompt tokens ("
                    + finished.usage().cachedTokens() + " cached), " + predicted + " generated, "
                    + Math.round(10 * finished.timings().predictedPerSecond()) / 10.0 + " tok/s, "
                    + finished.reason().name().toLowerCase(Locale.ROOT));
        }
    }
}
