package dev.strata.device;

import dev.strata.format.QuantType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/** Random stored matrices of every type: random quants, sane scales, and by the way every bit pattern of the quants. */
public final class RandomBlocks {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

    private RandomBlocks() {}

    public static MemorySegment matrix(QuantType type, int outputs, int inputs, Random random, Arena arena) {
        long rowBytes = type.bytes(inputs);
        MemorySegment data =
                arena.allocate(Math.max(64, outputs * rowBytes), 64).asSlice(0, outputs * rowBytes);
        long blocks = (long) outputs * inputs / type.blockElements();
        byte[] bytes = new byte[type.blockBytes()];
        for (long block = 0; block < blocks; block++) {
            random.nextBytes(bytes);
            long at = block * type.blockBytes();
            MemorySegment.copy(bytes, 0, data, ValueLayout.JAVA_BYTE, at, bytes.length);
            scales(type, data, at, random);
        }
        return data;
    }

    /** Overwrites what a random bit pattern would make infinite or absurdly large. */
    private static void scales(QuantType type, MemorySegment data, long at, Random random) {
        switch (type) {
            case F32 -> data.set(FLOAT, at, (float) random.nextGaussian() * 0.2f);
            case F16 -> half(data, at, random, 0.2f);
            case BF16 ->
                data.set(SHORT, at, (short) (Float.floatToRawIntBits((float) random.nextGaussian() * 0.2f) >>> 16));
            case Q4_0, Q5_0, Q8_0, IQ4_NL, Q1_0, Q2_0, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ4_XS ->
                scale(data, at, type, random);
            case Q4_1, Q5_1, Q4_K, Q5_K -> {
                scale(data, at, type, random);
                scale(data, at + 2, type, random);
            }
            case Q2_K -> {
                scale(data, at + 80, type, random);
                scale(data, at + 82, type, random);
            }
            case Q3_K -> scale(data, at + 108, type, random);
            case Q6_K -> scale(data, at + 208, type, random);
            case TQ1_0 -> scale(data, at + 52, type, random);
            case TQ2_0 -> scale(data, at + 64, type, random);
            case IQ1_M -> topNibbles(data, at + 48, random);
            case MXFP4 -> data.set(ValueLayout.JAVA_BYTE, at, (byte) (120 + random.nextInt(6)));
            case NVFP4 -> {
                for (int i = 0; i < 4; i++) {
                    data.set(ValueLayout.JAVA_BYTE, at + i, (byte) (0x18 + random.nextInt(0x20)));
                }
            }
            default -> throw new IllegalArgumentException(type + " is not a type of matrices");
        }
    }

    private static void scale(MemorySegment data, long at, QuantType type, Random random) {
        // Ternary types have no scales inside a block: theirs alone sets the size of the weights.
        boolean ternary = type == QuantType.TQ1_0 || type == QuantType.TQ2_0;
        float size = ternary ? 0.05f : type.blockElements() == 256 ? 0.002f : 0.02f;
        data.set(SHORT, at, Float.floatToFloat16(size * (0.25f + random.nextFloat())));
    }

    private static void half(MemorySegment data, long at, Random random, float size) {
        data.set(SHORT, at, Float.floatToFloat16((float) random.nextGaussian() * size));
    }

    /** IQ1_M spreads its float16 scale over the top four bits of four words. */
    private static void topNibbles(MemorySegment data, long at, Random random) {
        int scale = Float.floatToFloat16(0.01f * (0.25f + random.nextFloat())) & 0xFFFF;
        for (int i = 0; i < 4; i++) {
            int word = data.get(SHORT, at + 2L * i) & 0x0FFF;
            data.set(SHORT, at + 2L * i, (short) (word | (scale >> 4 * i & 15) << 12));
        }
    }
}
