package dev.strata.engine;

import dev.strata.decode.DevicePlacement;
import dev.strata.decode.ExpertTotals;
import dev.strata.decode.PoolFigures;
import dev.strata.device.Device;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.FileReads;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.TensorEntry;
import dev.strata.memory.HostMemory;
import dev.strata.model.Hyperparameters;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the monitor page draws: for every tier how often experts were looked up there and the bytes that came from it, and what fills the
 * memories. Made when the model has been loaded; figures may be a step old.
 */
final class MonitorFigures {
    private final ModelSession session;
    private final Hyperparameters.Experts experts;
    private final int layers;
    private final StateMemory states;
    private final @Nullable Device device;
    private final long deviceUsed;
    private final long hostBytes;
    private final long weightBytes;

    MonitorFigures(ModelSession session, Hyperparameters sizes, StateMemory states) {
        this.states = states;
        this.session = session;
        experts = sizes.experts();
        layers = session.model().config().layers();
        device = Backends.device(session.backend());
        deviceUsed = device == null ? 0 : device.totalBytes() - device.freeBytes();
        hostBytes = HostMemory.read().physical();
        weightBytes =
                session.files().tensors().stream().mapToLong(TensorEntry::bytes).sum();
    }

    /** {@code {TIER: {lookups, bytes}}}, counted since the start. */
    Map<String, Object> tiers(EngineCounters counters) {
        Map<String, Object> tiers = new LinkedHashMap<>();
        DevicePlacement placed = session.home().placement();
        if (placed != null) {
            PoolFigures pool = placed.pool();
            ExpertTotals totals = placed.totals();
            long misses = totals.lookups() - totals.hits();
            long onProcessor = pool == null ? 0 : pool.experts();
            tiers.put("vram", tier(totals.hits(), totals.hitBytes()));
            tiers.put(
                    "link",
                    tier(
                            Math.max(0, misses - onProcessor),
                            totals.linkBytes() + placed.scheduler().linkBytes()));
            tiers.put("processor", tier(onProcessor, totals.processorBytes()));
        } else if (session.home().residentFigures() instanceof TieredExpertSource.ResidentFigures resident) {
            tiers.put("ram", tier(resident.usage().hits(), resident.usage().hitBytes()));
        } else {
            long rows = counters.promptTokensRead.sum() + counters.decodeRows.sum() + counters.draftsOffered.sum();
            tiers.put(device == null ? "ram" : "vram", tier(rows * layers * experts.used(), 0));
        }
        FileReads reads = session.home().fileReads();
        if (reads != null) {
            ReadCounters read = reads.counters();
            tiers.put("disk", tier(read.requests(), read.bytes()));
        }
        return tiers;
    }

    private static Map<String, Object> tier(long lookups, long bytes) {
        return Map.of("lookups", lookups, "bytes", bytes);
    }

    /** {@code {PLACE: {PART_bytes, total_bytes}}}. */
    Map<String, Object> memory() {
        Map<String, Object> memory = new LinkedHashMap<>();
        Map<String, Object> ram = new LinkedHashMap<>();
        DevicePlacement placed = session.home().placement();
        boolean own = false;
        if (session.home().experts() instanceof TieredExpertSource tiered && tiered.residentBytes() > 0) {
            ram.put("experts_bytes", tiered.residentBytes());
            own = true;
        }
        if (device == null) {
            ram.put(own ? "other_weights_bytes" : "mapped_weights_bytes", own ? rest() : weightBytes);
            ram.put("sequences_bytes", states.runningBytes());
            ram.put("prefix_cache_bytes", states.cacheBytes());
        } else {
            Map<String, Object> vram = new LinkedHashMap<>();
            long cache = placed == null ? 0 : placed.cache().buffer().bytes();
            vram.put("expert_cache_bytes", cache);
            vram.put("sequences_bytes", states.runningBytes());
            vram.put("prefix_cache_bytes", states.cacheBytes());
            vram.put(
                    "weights_and_work_bytes",
                    Math.max(0, deviceUsed - cache - states.runningBytes() - states.cacheBytes()));
            vram.put("total_bytes", device.totalBytes());
            memory.put("vram", vram);
        }
        ram.put("java_heap_bytes", Runtime.getRuntime().totalMemory());
        ram.put("total_bytes", hostBytes);
        memory.put("ram", ram);
        return memory;
    }

    /** Weights that are no experts; the experts have a copy in RAM. */
    private long rest() {
        long routed = ArenaLayout.of(session.home().experts()).totalBytes();
        return Math.max(0, weightBytes - routed);
    }
}
