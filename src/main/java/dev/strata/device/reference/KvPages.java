package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.DeviceException;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostUnits;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;
import java.lang.foreign.MemorySegment;

/**
 * Keys and values of one layer in pages of {@value Batch#PAGE} tokens. A token's record is its heads one after the other; with INT8
 * the bytes of a head are followed by one float16 scale for every {@value #SCALE_GROUP} values.
 */
final class KvPages implements LayerState.Kv {
    static final int SCALE_GROUP = 64;

    /** Which of the two a record holds. */
    enum Part {
        KEY,
        VALUE
    }

    private final KvFormat format;
    private final int headSize;
    private final long headBytes;
    private final long tokenBytes;
    private final HostBuffer keys;
    private final HostBuffer values;

    private KvPages(KvFormat format, AttentionShape shape, int pages) {
        this.format = format;
        this.headSize = shape.headSize();
        this.headBytes = headBytes(format, headSize);
        this.tokenBytes = headBytes * shape.kvHeads();
        this.keys = HostBuffer.allocate(tokenBytes * Batch.PAGE * pages);
        this.values = HostBuffer.allocate(tokenBytes * Batch.PAGE * pages);
    }

    static KvPages create(AttentionShape shape, KvFormat format, int pages) {
        if (format == KvFormat.Q4) {
            throw new DeviceException(
                    DeviceException.Kind.UNSUPPORTED,
                    "the reference backend has no 4-bit key-value cache: choose f32, f16 or int8");
        }
        return new KvPages(format, shape, pages);
    }

    private static long headBytes(KvFormat format, int headSize) {
        return switch (format) {
            case F32 -> 4L * headSize;
            case F16 -> 2L * headSize;
            case INT8, Q4 -> (headSize + 1) / 2 * 2L + 2L * Math.ceilDiv(headSize, SCALE_GROUP);
        };
    }

    @Override
    public long bytes() {
        return keys.bytes() + values.bytes();
    }

    /** Stores one head of the token at {@code offset} in {@code page}. */
    void store(Part part, int page, int offset, int head, float[] source, int sourceOffset) {
        MemorySegment memory = memory(part);
        long at = at(page, offset, head);
        switch (format) {
            case F32 -> MemorySegment.copy(source, sourceOffset, memory, JAVA_FLOAT, at, headSize);
            case F16 -> {
                for (int i = 0; i < headSize; i++) {
                    memory.set(JAVA_SHORT, at + 2L * i, Float.floatToFloat16(source[sourceOffset + i]));
                }
            }
            case INT8, Q4 -> storeBytes(memory, at, source, sourceOffset);
        }
    }

    /** Reads one head of the token at {@code offset} in {@code page}. */
    void load(Part part, int page, int offset, int head, float[] target) {
        MemorySegment memory = memory(part);
        long at = at(page, offset, head);
        switch (format) {
            case F32 -> MemorySegment.copy(memory, JAVA_FLOAT, at, target, 0, headSize);
            case F16 -> {
                for (int i = 0; i < headSize; i++) {
                    target[i] = Float.float16ToFloat(memory.get(JAVA_SHORT, at + 2L * i));
                }
            }
            case INT8, Q4 -> loadBytes(memory, at, target);
        }
    }

    @Override
    public StateUnits pages() {
        long bytes = tokenBytes * Batch.PAGE;
        return new HostUnits(new HostUnits.Part(keys, bytes), new HostUnits.Part(values, bytes));
    }

    private void storeBytes(MemorySegment memory, long at, float[] source, int sourceOffset) {
        long scales = at + (headSize + 1) / 2 * 2L;
        for (int start = 0; start < headSize; start += SCALE_GROUP) {
            int end = Math.min(headSize, start + SCALE_GROUP);
            float largest = 0;
            for (int i = start; i < end; i++) {
                largest = Math.max(largest, Math.abs(source[sourceOffset + i]));
            }
            short stored = Float.floatToFloat16(largest / 127);
            float scale = Float.float16ToFloat(stored);
            memory.set(JAVA_SHORT, scales + 2L * (start / SCALE_GROUP), stored);
            for (int i = start; i < end; i++) {
                int quantized = scale == 0 ? 0 : Math.round(source[sourceOffset + i] / scale);
                memory.set(JAVA_BYTE, at + i, (byte) Math.clamp(quantized, -127, 127));
            }
        }
    }

    private void loadBytes(MemorySegment memory, long at, float[] target) {
        long scales = at + (headSize + 1) / 2 * 2L;
        for (int i = 0; i < headSize; i++) {
            float scale = Float.float16ToFloat(memory.get(JAVA_SHORT, scales + 2L * (i / SCALE_GROUP)));
            target[i] = scale * memory.get(JAVA_BYTE, at + i);
        }
    }

    private MemorySegment memory(Part part) {
        return (part == Part.KEY ? keys : values).host();
    }

    private long at(int page, int offset, int head) {
        return ((long) page * Batch.PAGE + offset) * tokenBytes + head * headBytes;
    }

    @Override
    public void close() {
        keys.close();
        values.close();
    }
}
