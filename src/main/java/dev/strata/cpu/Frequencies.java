package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;

import dev.strata.device.HostBuffer;
import dev.strata.device.Rope;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/** The frequencies of rotary embeddings as the kernels read them: float64, one array for every kind of embedding. */
final class Frequencies {
    private final CpuArena arena;
    private final Map<Rope, Long> addresses = new HashMap<>();

    Frequencies(CpuArena arena) {
        this.arena = arena;
    }

    long address(Rope rope) {
        Long known = addresses.get(rope);
        return known != null ? known : add(rope);
    }

    private long add(Rope rope) {
        double[] values = rope.frequencies();
        HostBuffer buffer = arena.allocate(8L * values.length, "rotary frequencies");
        MemorySegment.copy(values, 0, buffer.host(), JAVA_DOUBLE, 0, values.length);
        addresses.put(rope, buffer.address());
        return buffer.address();
    }
}
