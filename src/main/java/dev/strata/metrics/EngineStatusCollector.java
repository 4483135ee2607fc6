package dev.strata.metrics;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Every number and flag of the engine's status as a gauge: {@code memory.vram_bytes} becomes {@code strata_engine_memory_vram_bytes}. */
public final class EngineStatusCollector implements MultiCollector {
    private static final String PREFIX = "strata_engine_";

    private final Supplier<Map<String, Object>> status;

    public EngineStatusCollector(Supplier<Map<String, Object>> status) {
        this.status = status;
    }

    @Override
    public MetricSnapshots collect() {
        Map<String, Double> values = new TreeMap<>();
        flatten(PREFIX, status.get(), values);
        MetricSnapshots.Builder snapshots = MetricSnapshots.builder();
        values.forEach((name, value) -> snapshots.metricSnapshot(GaugeSnapshot.builder()
                .name(name)
                .help("From /v1/status")
                .dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                        .value(value)
                        .labels(Labels.EMPTY)
                        .build())
                .build()));
        return snapshots.build();
    }

    private static void flatten(String prefix, Map<?, ?> facts, Map<String, Double> values) {
        facts.forEach((key, value) -> {
            String name = prefix + clean(String.valueOf(key));
            switch (value) {
                case Map<?, ?> nested -> flatten(name + "_", nested, values);
                case Number number -> values.put(name, number.doubleValue());
                case Boolean flag -> values.put(name, flag ? 1.0 : 0.0);
                case null, default -> {
                    // Words and lists are for people; they are in /v1/status.
                }
            }
        });
    }

    private static String clean(String key) {
        // Prometheus keeps _total, _info, _created and _bucket endings for itself.
        String name = key.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]", "_");
        return name.replaceAll("_(total|info|created|bucket)$", "_$1_now");
    }
}
