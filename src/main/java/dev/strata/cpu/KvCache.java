package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.AttentionShape;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostUnits;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;

/** Keys and values of one attention layer: pages x heads tiles each. Keys of a tile lie [headSize][64], values [64][headSize]. */
final class KvCache implements LayerState.Kv {
    private final int format;
    private final long pageBytes;
    private final HostBuffer keys;
    private final HostBuffer values;

    private KvCache(int format, long pageBytes, HostBuffer keys, HostBuffer values) {
        this.format = format;
        this.pageBytes = pageBytes;
        this.keys = keys;
        this.values = values;
    }

    static KvCache create(AttentionShape shape, KvFormat format, int pages) {
        int code = switch (format) {
            case F32 -> 0;
            case F16 -> 1;
            case INT8 -> 2;
            case Q4 -> 3;
        };
        format.require(shape.headSize());
        long pageBytes = CpuKernels.strata_cpu_kv_tile_bytes(code, shape.headSize()) * shape.kvHeads();
        return new KvCache(
                code,
                pageBytes,
                HugePages.allocate(pageBytes * pages, "attention keys"),
                HugePages.allocate(pageBytes * pages, "attention values"));
    }

    int format() {
        return format;
    }

    long keys() {
        return keys.address();
    }

    long values() {
        return values.address();
    }

    @Override
    public StateUnits pages() {
        return new HostUnits(new HostUnits.Part(keys, pageBytes), new HostUnits.Part(values, pageBytes));
    }

    @Override
    public long bytes() {
        return keys.bytes() + values.bytes();
    }

    @Override
    public void close() {
        keys.close();
        values.close();
    }
}
