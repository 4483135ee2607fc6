package dev.strata.synth;

import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Random;

/**
 * A few thousand encoded blocks of normally distributed numbers. A tensor is filled by choosing among them by a counter, which runs at
 * the speed of a copy and gives the same bytes wherever one begins.
 */
final class BlockPool {
    private static final int BLOCKS = 2048;
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final QuantType type;
    private final MemorySegment blocks;
    private final int unit;

    private BlockPool(QuantType type, MemorySegment blocks, int unit) {
        this.type = type;
        this.blocks = blocks;
        this.unit = unit;
    }

    static boolean canMake(QuantType type) {
        return Quants.canEncode(type)
                || switch (type) {
                    case IQ1_S, IQ1_M, TQ1_0, TQ2_0 -> true;
                    default -> false;
                };
    }

    /** Blocks of numbers with this mean and deviation, for rows of {@code width}. */
    static BlockPool of(QuantType type, int width, double mean, double deviation, long seed) {
        int unit = unit(type, width);
        int elements = type.blockElements() * unit;
        MemorySegment blocks = MemorySegment.ofArray(new byte[Math.toIntExact(type.bytes((long) elements * BLOCKS))]);
        if (Quants.canEncode(type)) {
            float[] values = new float[elements * BLOCKS];
            Random random = new Random(seed);
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) (mean + deviation * random.nextGaussian());
            }
            Quants.encode(type, values, 0, values.length, blocks, 0);
        } else {
            random(type, deviation, seed, blocks);
        }
        return new BlockPool(type, blocks, unit);
    }

    /** Plain types are handled in units of 32 elements, which the copy loop likes better than single ones. */
    static int unit(QuantType type, int width) {
        return type.blockElements() < 32 && width % 32 == 0 ? 32 / type.blockElements() : 1;
    }

    /** Random bits for types that are not encoded here, their scale set so that the numbers deviate as asked. */
    private static void random(QuantType type, double deviation, long seed, MemorySegment blocks) {
        byte[] bits = new byte[Math.toIntExact(blocks.byteSize())];
        new Random(seed).nextBytes(bits);
        MemorySegment.copy(bits, 0, blocks, ValueLayout.JAVA_BYTE, 0, bits.length);
        float[] values = new float[type.blockElements()];
        for (int block = 0; block < BLOCKS; block++) {
            long at = (long) block * type.blockBytes();
            putScale(type, blocks, at, 1);
            Quants.decode(type, blocks, at, values, 0, values.length);
            double squares = 0;
            for (float value : values) {
                squares += value * value;
            }
            putScale(type, blocks, at, (float) (deviation / Math.sqrt(squares / values.length)));
        }
    }

    private static void putScale(QuantType type, MemorySegment blocks, long at, float scale) {
        short half = Float.floatToFloat16(scale);
        switch (type) {
            case IQ1_S -> blocks.set(SHORT, at, half);
            case TQ1_0 -> blocks.set(SHORT, at + 52, half);
            case TQ2_0 -> blocks.set(SHORT, at + 64, half);
            case IQ1_M -> {
                for (int i = 0; i < 4; i++) {
                    long field = at + 48 + 2 * i;
                    int low = blocks.get(SHORT, field) & 0xfff;
                    blocks.set(SHORT, field, (short) (low | (half >> 4 * i & 15) << 12));
                }
            }
            default -> throw new IllegalArgumentException(type.name());
        }
    }

    /** Elements that are chosen together. */
    int unitElements() {
        return type.blockElements() * unit;
    }

    /** Fills {@code target} with the bytes of the units from {@code first} on of the tensor with this seed. */
    void fill(long seed, long first, long count, MemorySegment target) {
        long bytes = type.bytes(unitElements());
        for (long i = 0; i < count; i++) {
            long chosen = Mix.hash(seed, first + i) & BLOCKS - 1;
            MemorySegment.copy(blocks, chosen * bytes, target, i * bytes, bytes);
        }
    }
}
