package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;

import dev.strata.device.Buffer;
import dev.strata.device.Rope;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/** Angles per position of every rotary embedding in use, float64 in device memory. */
final class RopeTables implements AutoCloseable {
    private final CudaDevice device;
    private final Staging staging;
    private final Map<Rope, Buffer> tables = new HashMap<>();

    RopeTables(CudaDevice device, Staging staging) {
        this.device = device;
        this.staging = staging;
    }

    long frequencies(Rope rope) {
        Buffer table = tables.get(rope);
        if (table == null) {
            double[] frequencies = rope.frequencies();
            table = device.allocate(8L * Math.max(1, frequencies.length), "rotary frequencies");
            if (frequencies.length > 0) {
                MemorySegment piece = staging.claim();
                MemorySegment.copy(frequencies, 0, piece, JAVA_DOUBLE, 0, frequencies.length);
                staging.send(8L * frequencies.length, table.address());
            }
            tables.put(rope, table);
        }
        return table.address();
    }

    @Override
    public void close() {
        tables.values().forEach(Buffer::close);
    }
}
