package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostUnits;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Keys and values of one layer in pages of {@value Batch#PAGE} tokens. A token's record is its heads one after the other; with INT8
 * and Q4 the bytes of a head are followed by one float16 scale for every group of values. Q4 keeps values 2i and 2i + 1 in the low
 * and high half of byte i.
 */
final class KvPages implements LayerState.Kv {
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
        format.require(shape.headSize());
        return new KvPages(format, shape, pages);
    }

    private static long headBytes(KvFormat format, int headSize) {
        return switch (format) {
            case F32 -> 4L * headSize;
            case F16 -> 2L * headSize;
            case INT8, Q4 -> scalesAt(format, headSize) + 2L * Math.ceilDiv(headSize, KvFormat.GROUP);
        };
    }

    /** Where the scales of a head are, in bytes from its start. */
    private static long scalesAt(KvFormat format, int headSize) {
        int bytes = format == KvFormat.Q4 ? headSize / 2 : headSize;
        return (bytes + 1) / 2 * 2L;
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
            case INT8 -> storeBytes(memory, at, source, sourceOffset);
            case Q4 -> storeHalfBytes(memory, at, Arrays.copyOfRange(source, sourceOffset, sourceOffset + headSize));
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
            case INT8 -> loadBytes(memory, at, target);
            case Q4 -> loadHalfBytes(memory, at, target);
        }
    }

    @Override
    public StateUnits pages() {
        long bytes = tokenBytes * Batch.PAGE;
        return new HostUnits(new HostUnits.Part(keys, bytes), new HostUnits.Part(values, bytes));
    }

    private void storeBytes(MemorySegment memory, long at, float[] source, int sourceOffset) {
        long scales = at + scalesAt(format, headSize);
        for (int start = 0; start < headSize; start += KvFormat.GROUP) {
            int end = Math.min(headSize, start + KvFormat.GROUP);
            float largest = 0;
            for (int i = start; i < end; i++) {
                largest = Math.max(largest, Math.abs(source[sourceOffset + i]));
            }
            short stored = Float.floatToFloat16(largest / 127);
            float scale = Float.float16ToFloat(stored);
            memory.set(JAVA_SHORT, scales + 2L * (start / KvFormat.GROUP), stored);
            for (int i = start; i < end; i++) {
                int quantized = scale == 0 ? 0 : Math.round(source[sourceOffset + i] / scale);
                memory.set(JAVA_BYTE, at + i, (byte) Math.clamp(quantized, -127, 127));
            }
        }
    }

    private void loadBytes(MemorySegment memory, long at, float[] target) {
        long scales = at + scalesAt(format, headSize);
        for (int i = 0; i < headSize; i++) {
            float scale = Float.float16ToFloat(memory.get(JAVA_SHORT, scales + 2L * (i / KvFormat.GROUP)));
            target[i] = scale * memory.get(JAVA_BYTE, at + i);
        }
    }

    private void storeHalfBytes(MemorySegment memory, long at, float[] head) {
        long scales = at + scalesAt(format, headSize);
        int group = KvFormat.group(headSize);
        for (int start = 0; start < headSize; start += group) {
            Hadamard.turn(head, start, group);
            float lowest = 0;
            float highest = 0;
            for (int i = start; i < start + group; i++) {
                lowest = Math.min(lowest, head[i]);
                highest = Math.max(highest, head[i]);
            }
            short stored = Float.floatToFloat16((highest >= -lowest ? highest : lowest) / -8);
            float scale = Float.float16ToFloat(stored);
            float inverse = scale == 0 ? 0 : 1 / scale;
            memory.set(JAVA_SHORT, scales + 2L * (start / group), stored);
            for (int i = start; i < start + group; i += 2) {
                int packed = level(head[i] * inverse) | level(head[i + 1] * inverse) << 4;
                memory.set(JAVA_BYTE, at + i / 2, (byte) packed);
            }
        }
    }

    private static int level(float scaled) {
        return Math.clamp((int) Math.rint(scaled) + 8, 0, 15);
    }

    private void loadHalfBytes(MemorySegment memory, long at, float[] target) {
        long scales = at + scalesAt(format, headSize);
        int group = KvFormat.group(headSize);
        for (int start = 0; start < headSize; start += group) {
            float scale = Float.float16ToFloat(memory.get(JAVA_SHORT, scales + 2L * (start / group)));
            for (int i = start; i < start + group; i += 2) {
                int packed = memory.get(JAVA_BYTE, at + i / 2);
                target[i] = scale * ((packed & 15) - 8);
                target[i + 1] = scale * ((packed >> 4 & 15) - 8);
            }
            Hadamard.turn(target, start, group);
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
