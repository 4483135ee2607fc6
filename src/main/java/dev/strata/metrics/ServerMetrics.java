package dev.strata.metrics;

import dev.strata.api.Timings;
import dev.strata.api.Usage;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/** What the server counts. One object for each server, so that tests can run several. */
public final class ServerMetrics {
    private final PrometheusRegistry registry = new PrometheusRegistry();

    private final Counter requests = counter(
            "strata_http_requests_total",
            "Answered HTTP requests; status 499: the client left first",
            "method",
            "route",
            "status");
    private final Histogram requestSeconds = Histogram.builder()
            .name("strata_http_request_seconds")
            .help("From the complete request to the end of its answer")
            .labelNames("route")
            .classicOnly()
            .withoutExemplars()
            .classicUpperBounds(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800)
            .register(registry);
    private final Counter promptTokens =
            counter("strata_prompt_tokens_total", "Prompt tokens of finished answers", "source");
    private final CounterDataPoint cachedTokens = promptTokens.labelValues("cached");
    private final CounterDataPoint readTokens = promptTokens.labelValues("read");
    private final Counter predictedTokens =
            counter("strata_predicted_tokens_total", "Tokens generated for finished answers");
    private final Counter promptSeconds = counter("strata_prompt_seconds_total", "Time spent reading prompts");
    private final Counter predictedSeconds = counter("strata_predicted_seconds_total", "Time spent generating");
    private final Counter draftTokens = counter("strata_draft_tokens_total", "Speculative tokens", "outcome");
    private final CounterDataPoint acceptedDrafts = draftTokens.labelValues("accepted");
    private final CounterDataPoint rejectedDrafts = draftTokens.labelValues("rejected");
    private final Counter answers = counter("strata_answers_total", "Answers by the reason of their end", "reason");
    private final Histogram firstTokenSeconds = Histogram.builder()
            .name("strata_first_token_seconds")
            .help("From the complete request to the first piece of its answer")
            .classicOnly()
            .withoutExemplars()
            .classicUpperBounds(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
            .register(registry);
    private final GapHistogram gaps = new GapHistogram("strata_token_gap_seconds", "Between two pieces of one answer");

    /** Counts of a server that has just started. */
    public ServerMetrics() {
        registry.register(gaps);
    }

    private Counter counter(String name, String help, String... labels) {
        return Counter.builder()
                .withoutExemplars()
                .name(name)
                .help(help)
                .labelNames(labels)
                .register(registry);
    }

    public void gauge(String name, String help, IntSupplier value) {
        GaugeWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> callback.call(value.getAsInt()))
                .register(registry);
    }

    public void counter(String name, String help, LongSupplier value) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> callback.call(value.getAsLong()))
                .register(registry);
    }

    /** Adds the numbers of the engine's status, read at each scrape. */
    public void engine(EngineStatusCollector collector) {
        registry.register(collector);
    }

    /**
     * Counts an answered request.
     *
     * @param route path of the route, or {@code other} when there was none, so that clients cannot invent values
     * @param status 499 when the client left before the answer
     */
    public void request(String method, String route, int status, double seconds) {
        requests.labelValues(method(method), route, Integer.toString(status)).inc();
        requestSeconds.labelValues(route).observe(seconds);
    }

    public void firstToken(double seconds) {
        firstTokenSeconds.observe(seconds);
    }

    /** For the gaps between the pieces of one answer. */
    public GapHistogram.Answer gaps() {
        return gaps.new Answer();
    }

    public void finished(String reason, Usage usage, Timings timings, boolean firstChoice) {
        answers.labelValues(reason).inc();
        predictedTokens.inc(usage.completionTokens());
        predictedSeconds.inc(Math.max(0, timings.predictedMillis()) / 1000);
        acceptedDrafts.inc(timings.acceptedDraftTokens());
        rejectedDrafts.inc(Math.max(0, timings.draftTokens() - timings.acceptedDraftTokens()));
        if (firstChoice) {
            cachedTokens.inc(usage.cachedTokens());
            readTokens.inc(Math.max(0, usage.promptTokens() - usage.cachedTokens()));
            promptSeconds.inc(Math.max(0, timings.promptMillis()) / 1000);
        }
    }

    /** Everything in Prometheus' text format. */
    public byte[] text() {
        ByteArrayOutputStream out = new ByteArrayOutputStream(8192);
        try {
            PrometheusTextFormatWriter.create().write(out, registry.scrape());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return out.toByteArray();
    }

    public static String contentType() {
        return PrometheusTextFormatWriter.CONTENT_TYPE;
    }

    private static String method(String method) {
        return switch (method) {
            case "GET", "POST", "DELETE", "HEAD", "OPTIONS" -> method;
            default -> "OTHER";
        };
    }
}
