package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.TieredExpertSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Measures at the start what one missed expert costs each side. Takes milliseconds. */
final class RateProbe {
    private static final int EXPERTS = 8;
    private static final int ROUNDS = 7;

    private RateProbe() {}

    /** Nanoseconds of the workers for one expert and one row, the median of a few layers. */
    static double processorNanos(ExpertWorkers workers, ArenaLayout layout, PlacedBlobs blobs) {
        double[] times = new double[ROUNDS];
        int measured = 0;
        for (int round = 0; round < ROUNDS; round++) {
            int layer = (int) ((long) round * layout.layers() / ROUNDS);
            ExpertLayout shape = layout.layout(layer);
            int[] experts = new int[EXPERTS];
            long[] addresses = new long[EXPERTS];
            int count = 0;
            for (int expert = 0; expert < shape.experts() && count < EXPERTS; expert++) {
                long address = blobs.hostAddress(layer, expert);
                if (address != 0) {
                    experts[count] = expert;
                    addresses[count++] = address;
                }
            }
            if (count > 0) {
                times[measured++] = once(workers, shape, experts, addresses, count);
            }
        }
        Arrays.sort(times, 0, measured);
        return measured == 0 ? 1 : times[measured / 2];
    }

    private static double once(ExpertWorkers workers, ExpertLayout shape, int[] experts, long[] addresses, int count) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ids = arena.allocateFrom(JAVA_INT, Arrays.copyOf(experts, count));
            MemorySegment in = arena.allocate(4L * shape.hidden(), 64);
            MemorySegment results = arena.allocate(4L * shape.hidden() * count, 64);
            long start = System.nanoTime();
            workers.compute(shape, experts, addresses, count, ids.address(), 1, count, in.address(), results.address());
            return (System.nanoTime() - start) / (double) count;
        }
    }

    /** Nanoseconds to bring one registered blob over the link to {@code offset}; a large number when none is registered. */
    static double linkNanos(Device device, TieredExpertSource source, PinnedRanges pinned, Buffer target, long offset) {
        ExpertArena arena = source.arena();
        if (arena == null) {
            return Integer.MAX_VALUE;
        }
        ArenaLayout layout = source.arenaLayout();
        int copies = 0;
        try (Stream stream = device.newStream("link probe");
                Event begin = device.newEvent();
                Event end = device.newEvent()) {
            begin.record(stream);
            for (int layer = 0; layer < layout.layers() && copies < 4 * EXPERTS; layer++) {
                for (int expert = 0; expert < layout.experts(layer) && copies < 4 * EXPERTS; expert++) {
                    int place = source.place(layer, expert);
                    if (place >= 0 && pinned.isPinned(layer, place)) {
                        device.copyToDevice(arena.blob(layer, place), target, offset, stream);
                        copies++;
                    }
                }
            }
            end.record(stream);
            end.synchronize();
            return copies == 0 ? Integer.MAX_VALUE : end.millisSince(begin) * 1e6 / copies;
        }
    }
}
