package dev.strata.engine;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertArena;
import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorRole;
import dev.strata.memory.Bytes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The fastest that a decode step can be by the rates of memories and link, in bytes a second as measured in the run.
 *
 * @param vram reads of device memory
 * @param link copies out of registered memory, in pieces of one blob
 * @param ram reads by all processors together
 * @param mixerBytes what a step reads beside routed experts
 */
record DecodeBound(double vram, double link, double ram, long mixerBytes) {
    private static final long SPAN = 256 * Bytes.MIB;
    private static final int ROUNDS = 8;

    /** Measures; takes a second. */
    static DecodeBound measure(Device device, ExpertArena arena, ModelFiles files) {
        return new DecodeBound(vram(device), link(device, arena), ram(arena), mixerBytes(files));
    }

    /** Seconds of a step that reads so many expert bytes from slots and misses so many, which {@code share} brings. */
    double seconds(double hitBytes, double missBytes, DecodeArm.Share share) {
        double missed = switch (share) {
            case POOL -> missBytes / ram;
            case LINK, IN_PLACE -> missBytes / Math.min(link, ram);
            // The best split: what the link brings counts against the RAM's rate too.
            case BOTH -> missBytes / ram;
        };
        return mixerBytes / vram + Math.max(hitBytes / vram, missed);
    }

    Map<String, Object> row(String device) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("what", "rates");
        row.put("device", device);
        row.put("vram_gb_per_s", vram / 1e9);
        row.put("link_gb_per_s", link / 1e9);
        row.put("ram_gb_per_s", ram / 1e9);
        row.put("mixer_gb", mixerBytes / 1e9);
        return row;
    }

    /** Weights that every step reads whatever the router chooses. */
    static long mixerBytes(ModelFiles files) {
        long bytes = 0;
        long embedding = 0;
        boolean output = false;
        for (TensorEntry tensor : files.tensors()) {
            switch (TensorRole.of(tensor.name())) {
                case EXPERTS, NGRAM, DRAFT -> {}
                case EMBEDDING -> embedding += tensor.bytes();
                case OUTPUT -> {
                    output = true;
                    bytes += tensor.bytes();
                }
                default -> bytes += tensor.bytes();
            }
        }
        return output ? bytes : bytes + embedding;
    }

    /** Bytes a second that device memory gives and takes in copies. */
    static double vram(Device device) {
        try (Buffer from = device.allocate(SPAN, "rate probe");
                Buffer to = device.allocate(SPAN, "rate probe");
                Stream stream = device.newStream("rate probe");
                Event begin = device.newEvent();
                Event end = device.newEvent()) {
            device.copyOnDevice(from, 0, to, 0, SPAN, stream);
            begin.record(stream);
            for (int i = 0; i < ROUNDS; i++) {
                device.copyOnDevice(from, 0, to, 0, SPAN, stream);
            }
            end.record(stream);
            end.synchronize();
            return 2.0 * ROUNDS * SPAN * 1000 / Math.max(1e-3, end.millisSince(begin));
        }
    }

    private static double link(Device device, ExpertArena arena) {
        ArenaLayout layout = arena.arenaLayout();
        long blob = layout.maxStride();
        Map<Long, Double> rates = LinkProbe.link(device, arena);
        // The probe's sizes bracket a blob: take the nearest one.
        long nearest = rates.keySet().stream()
                .min(java.util.Comparator.comparingLong(size -> Math.abs(size - blob)))
                .orElseThrow();
        return rates.getOrDefault(nearest, 1.0) * 1e9;
    }

    /** One load a cache line on every processor. */
    private static double ram(ExpertArena arena) {
        int threads = Runtime.getRuntime().availableProcessors();
        long share = Math.min(arena.arenaLayout().dataBytes(), 8 * Bytes.GIB) / threads / 4096 * 4096;
        if (share == 0) {
            return 1e9;
        }
        double best = 0;
        AtomicLong used = new AtomicLong();
        for (int round = 0; round < 3; round++) {
            List<Thread> running = new ArrayList<>();
            long start = System.nanoTime();
            for (int t = 0; t < threads; t++) {
                long from = t * share;
                running.add(Thread.ofPlatform().start(() -> used.addAndGet(sum(arena, from, from + share))));
            }
            LinkProbe.join(running);
            best = Math.max(best, share * threads * 1e9 / (System.nanoTime() - start));
        }
        return best;
    }

    private static long sum(ExpertArena arena, long from, long to) {
        long a = 0;
        long b = 0;
        for (long at = from; at < to; at += 128) {
            a += arena.memory().get(java.lang.foreign.ValueLayout.JAVA_LONG, at);
            b += arena.memory().get(java.lang.foreign.ValueLayout.JAVA_LONG, at + 64);
        }
        return a + b;
    }
}
