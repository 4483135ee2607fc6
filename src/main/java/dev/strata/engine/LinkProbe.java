package dev.strata.engine;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.HostRegistration;
import dev.strata.device.Stream;
import dev.strata.expert.ExpertArena;
import dev.strata.memory.Bytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the link and the RAM give by themselves, measured in the run whose other figures are held against them. */
final class LinkProbe {
    private static final long[] COPIES = {256L << 10, 1L << 20, 2_764_800L, 32L << 20, 84L << 20};
    private static final long SPAN = 4 * Bytes.GIB;
    private static final long RAM_TARGET = 64 * Bytes.MIB;
    private static final long RAM_PIECE = Bytes.MIB;

    private LinkProbe() {}

    /** GB/s of copies out of registered memory by size of a copy, one after the other on one stream. */
    static Map<Long, Double> link(Device device, ExpertArena arena) {
        long span = Math.min(arena.arenaLayout().dataBytes(), SPAN) / 4096 * 4096;
        MemorySegment from = arena.memory().asSlice(0, span);
        Map<Long, Double> rates = new LinkedHashMap<>();
        try (HostRegistration registration = device.register(from);
                Stream stream = device.newStream("link probe");
                Event begin = device.newEvent();
                Event end = device.newEvent()) {
            for (long bytes : COPIES) {
                long size = Math.min(bytes, registration.memory().byteSize());
                try (Buffer target = device.allocate(size, "link probe")) {
                    int copies = (int) (registration.memory().byteSize() / size);
                    begin.record(stream);
                    for (int i = 0; i < copies; i++) {
                        device.copyToDevice(from.asSlice(i * size, size), target, 0, stream);
                    }
                    end.record(stream);
                    end.synchronize();
                    rates.put(bytes, copies * (double) size / 1e6 / end.millisSince(begin));
                }
            }
        }
        return rates;
    }

    /** GB/s that all processors together copy out of the arena: every byte is read once and written once. */
    static double ram(ExpertArena arena, int threads) {
        long share = Math.min(arena.arenaLayout().dataBytes(), SPAN) / threads / RAM_PIECE * RAM_PIECE;
        if (share == 0) {
            return 0;
        }
        try (Arena targets = Arena.ofShared()) {
            List<Thread> running = new ArrayList<>();
            MemorySegment[] target = new MemorySegment[threads];
            for (int t = 0; t < threads; t++) {
                target[t] = targets.allocate(RAM_TARGET, 4096);
            }
            long start = System.nanoTime();
            for (int t = 0; t < threads; t++) {
                MemorySegment from = arena.memory().asSlice(t * share, share);
                MemorySegment to = target[t];
                running.add(Thread.ofPlatform().start(() -> {
                    for (long done = 0; done < share; done += RAM_PIECE) {
                        MemorySegment.copy(from, done, to, done % RAM_TARGET, RAM_PIECE);
                    }
                }));
            }
            join(running);
            return share * threads / 1e9 / ((System.nanoTime() - start) / 1e9);
        }
    }

    static void join(List<Thread> threads) {
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("the benchmark was interrupted", stop);
            }
        }
    }
}
