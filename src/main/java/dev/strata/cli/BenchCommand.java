package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.engine.Benchmark;
import dev.strata.engine.DecodeTraffic;
import dev.strata.engine.ModelSession;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code strata bench}: prompt and decode speed. */
@Command(
        name = "bench",
        description = "Measures prompt and decode speed: medians over repeats, as a table or as JSON.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class BenchCommand implements Callable<Integer> {
    private static final Logger LOG = LoggerFactory.getLogger(BenchCommand.class);

    @Mixin
    private ModelFlags flags = new ModelFlags();

    @Mixin
    private TierFlags tiers = new TierFlags();

    @Option(
            names = "--prompt",
            paramLabel = "N[,N]...",
            split = ",",
            description = "Prompt lengths in tokens. Default: 128,512.")
    private List<Integer> prompts = List.of(128, 512);

    @Option(names = "--decode", paramLabel = "N", description = "Tokens to write behind each prompt. Default: 64.")
    private int decode = 64;

    @Option(
            names = "--repeats",
            paramLabel = "N",
            description = "Runs that count, after one that does not. Default: 3.")
    private int repeats = 3;

    @Option(
            names = "--chunk",
            paramLabel = "N",
            description = "Prompt tokens read in one pass. Default: as the server reads them.")
    private int chunk;

    @Option(names = "--json", description = "Print JSON instead of a table.")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() {
        Counts.require("--decode", decode, 1);
        Counts.require("--repeats", repeats, 1);
        Counts.require("--chunk", chunk, 0);
        prompts.forEach(length -> Counts.require("--prompt", length, 1));
        int longest = Collections.max(prompts);
        EngineOptions room = Requests.oneAtATime(
                longest + decode, chunk == 0 ? EngineOptions.DEFAULTS.chunk() : Math.min(chunk, longest));
        Options options = tiers.addTo(flags.options(room, List.of()));
        PrintWriter out = spec.commandLine().getOut();
        try (ModelSession session = ModelSession.open(options)) {
            Benchmark benchmark = new Benchmark(session, chunk == 0 ? session.chunk() : chunk);
            DecodeTraffic traffic = DecodeTraffic.of(session, options.engine().kv());
            List<Benchmark.Row> rows = new ArrayList<>();
            for (int length : prompts) {
                rows.add(benchmark.run(length, decode, repeats));
                String experts = session.expertUse();
                if (!experts.isEmpty()) {
                    // Of the run that does not count, too.
                    LOG.info("prompts of {} tokens: {}", length, experts);
                }
            }
            if (json) {
                out.println(JsonText.of(report(session, traffic, rows)));
            } else {
                table(out, session, traffic, rows);
            }
        }
        return 0;
    }

    private static void table(PrintWriter out, ModelSession session, DecodeTraffic traffic, List<Benchmark.Row> rows) {
        out.println(session.model().config().name() + " on " + session.backend().description());
        out.printf("%8s %8s %12s %12s %12s %12s%n", "prompt", "decode", "prompt ms", "tok/s", "decode ms", "tok/s");
        for (Benchmark.Row row : rows) {
            out.printf(
                    Locale.ROOT,
                    "%8d %8d %12.1f %12.1f %12.1f %12.1f%n",
                    row.promptTokens(),
                    row.decodeTokens(),
                    row.promptMillis(),
                    row.promptPerSecond(),
                    row.decodeMillis(),
                    row.decodePerSecond());
            traffic.bandwidth()
                    .ifPresent(rate -> out.printf(
                            Locale.ROOT,
                            "%8s decode moves %.3f GB a token: %.1f %% of the measured %.0f GB/s%n",
                            "",
                            bytes(traffic, row) / 1e9,
                            100 * bytes(traffic, row) * row.decodePerSecond() / rate,
                            rate / 1e9));
        }
        out.flush();
    }

    /** Of a step in the middle of what was written. */
    private static double bytes(DecodeTraffic traffic, Benchmark.Row row) {
        return traffic.bytes(row.promptTokens() + row.decodeTokens() / 2.0);
    }

    private static Map<String, Object> report(ModelSession session, DecodeTraffic traffic, List<Benchmark.Row> rows) {
        List<Object> results = new ArrayList<>();
        for (Benchmark.Row row : rows) {
            Map<String, Object> values = new LinkedHashMap<>();
            values.put("prompt_tokens", row.promptTokens());
            values.put("decode_tokens", row.decodeTokens());
            values.put("repeats", row.repeats());
            values.put("prompt_ms", row.promptMillis());
            values.put("prompt_per_second", row.promptPerSecond());
            values.put("decode_ms", row.decodeMillis());
            values.put("decode_per_second", row.decodePerSecond());
            values.put("decode_bytes_per_token", Math.round(bytes(traffic, row)));
            traffic.bandwidth()
                    .ifPresent(rate ->
                            values.put("decode_bandwidth_share", bytes(traffic, row) * row.decodePerSecond() / rate));
            results.add(values);
        }
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("model", session.model().config().name());
        report.put("backend", session.backend().name());
        report.put("backend_description", session.backend().description());
        traffic.bandwidth().ifPresent(rate -> report.put("device_bytes_per_second", Math.round(rate)));
        report.put("results", results);
        return report;
    }
}
