package dev.strata.format.safetensors;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;

/**
 * Matrices of quantized safetensors checkpoints, brought to a stored type that backends multiply with. FP8 with scales (one a tensor,
 * a row, or a tile of 128 x 128) becomes BF16; NVFP4 of both published layouts becomes NVFP4 blocks, bit for bit, with its factor.
 */
public final class PackedMatrices {
    private static final int TILE = 128;
    private static final int GROUP = 16;
    private static final ValueLayout.OfShort LITTLE_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt LITTLE_INT =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LITTLE_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final float[] FP8 = fp8();

    /** The value of an E4M3 byte. */
    public static float fp8(byte bits) {
        return FP8[bits & 0xFF];
    }

    /** How a matrix is stored. */
    public enum Packing {
        /** As it is. */
        PLAIN,
        FP8,
        NVFP4
    }

    private final ModelFiles files;

    public PackedMatrices(ModelFiles files) {
        this.files = files;
    }

    /** How the matrix {@code name} (with its {@code .weight}) is packed; empty when it is not there at all. */
    public Optional<Packing> packing(String name) {
        Optional<TensorEntry> plain = files.find(name);
        if (plain.isPresent()) {
            return Optional.of(
                    switch (plain.get().dtype()) {
                        case "F8_E4M3" -> Packing.FP8;
                        case "U8" -> Packing.NVFP4;
                        default -> Packing.PLAIN;
                    });
        }
        return files.find(name + "_packed").map(entry -> Packing.NVFP4);
    }

    /** The type that a packed matrix becomes. */
    public static QuantType type(Packing packing) {
        return packing == Packing.FP8 ? QuantType.BF16 : QuantType.NVFP4;
    }

    /**
     * Writes the packed matrix as its {@link #type} to the start of {@code target}.
     *
     * @return the factor on all its values
     */
    public float write(String name, Packing packing, int outputs, int inputs, MemorySegment target) {
        if (packing == Packing.NVFP4) {
            writeNvfp4(name, outputs, inputs, target);
            return factor(name);
        }
        writeFp8(name, outputs, inputs, target);
        return 1;
    }

    /** The factor of an NVFP4 matrix: a multiplier in one layout, a divisor in the other. */
    public float factor(String name) {
        Optional<TensorEntry> multiplier = files.find(name + "_scale_2");
        if (multiplier.isPresent()) {
            return finite(multiplier.get(), scalar(multiplier.get()));
        }
        TensorEntry divisor = require(name + "_global_scale");
        return finite(divisor, 1 / scalar(divisor));
    }

    /** Writes an NVFP4 matrix as blocks: four scales, then the values of each group as halves instead of neighbours. */
    public void writeNvfp4(String name, int outputs, int inputs, MemorySegment target) {
        List<TensorEntry> parts = sources(name, Packing.NVFP4, outputs, inputs);
        repackNvfp4(files.data(parts.getFirst()), files.data(parts.getLast()), 0, (long) outputs * inputs / 64, target);
    }

    /** The large tensors that a packed matrix is made of: FP8 values, or NVFP4 values and the scale of each group. */
    public List<TensorEntry> sources(String name, Packing packing, int outputs, int inputs) {
        if (packing != Packing.NVFP4) {
            TensorEntry entry = require(name);
            if (entry.bytes() != (long) outputs * inputs) {
                throw new ModelFormatException(files.path() + ": tensor " + name + " has shape " + entry.shape()
                        + ", expected [" + outputs + ", " + inputs + "]");
            }
            return List.of(entry);
        }
        TensorEntry packed = files.find(name + "_packed").orElseGet(() -> require(name));
        TensorEntry scales = require(name + "_scale");
        if (inputs % QuantType.NVFP4.blockElements() != 0
                || packed.bytes() != (long) outputs * inputs / 2
                || scales.bytes() != (long) outputs * inputs / GROUP) {
            throw new ModelFormatException(
                    files.path() + ": tensor " + packed.name() + " has shape " + packed.shape() + " with scales "
                            + scales.shape() + ", expected 4-bit values of [" + outputs + ", " + inputs + "]");
        }
        return List.of(packed, scales);
    }

    /** Writes {@code blocks} blocks from number {@code first} on of values in pairs with a scale for each 16. */
    public static void repackNvfp4(
            MemorySegment values, MemorySegment factors, long first, long blocks, MemorySegment target) {
        for (long block = first; block < first + blocks; block++) {
            long at = (block - first) * QuantType.NVFP4.blockBytes();
            target.set(LITTLE_INT, at, factors.get(LITTLE_INT, block * 4));
            for (int g = 0; g < 4; g++) {
                // Sixteen values, the even one of a pair low: the first eight go to the low halves of the bytes, the
                // others to the high ones.
                long pairs = values.get(LITTLE_LONG, (block * 4 + g) * (GROUP / 2));
                long halves = Long.expand(pairs, 0x0F0F0F0F0F0F0F0FL) | Long.expand(pairs >>> 32, 0xF0F0F0F0F0F0F0F0L);
                target.set(LITTLE_LONG, at + 4 + g * (GROUP / 2), halves);
            }
        }
    }

    /** Writes an FP8 matrix as BF16 values, rounded to nearest even. */
    public void writeFp8(String name, int outputs, int inputs, MemorySegment target) {
        TensorEntry entry = sources(name, Packing.FP8, outputs, inputs).getFirst();
        writeFp8(files.data(entry), scales(name, outputs, inputs), outputs, inputs, target);
    }

    /** Writes FP8 values as BF16 values, a tile with one factor after the other. */
    public static void writeFp8(MemorySegment values, Scales scales, int outputs, int inputs, MemorySegment target) {
        short[] codes = new short[256];
        byte[] from = new byte[Math.min(inputs, scales.columnStep())];
        short[] to = new short[from.length];
        for (int top = 0; top < outputs; top += scales.rowStep()) {
            int bottom = Math.min(outputs, top + scales.rowStep());
            for (int left = 0; left < inputs; left += scales.columnStep()) {
                bf16(scales.at(top, left), codes);
                int right = Math.min(inputs, left + scales.columnStep());
                for (int row = top; row < bottom; row++) {
                    long at = (long) row * inputs + left;
                    MemorySegment.copy(values, JAVA_BYTE, at, from, 0, right - left);
                    for (int i = 0; i < right - left; i++) {
                        to[i] = codes[from[i] & 0xFF];
                    }
                    MemorySegment.copy(to, 0, target, LITTLE_SHORT, 2 * at, right - left);
                }
            }
        }
    }

    /** What every E4M3 byte times a factor is as BF16, rounded to nearest even. */
    private static void bf16(float factor, short[] codes) {
        for (int code = 0; code < codes.length; code++) {
            int bits = Float.floatToRawIntBits(FP8[code] * factor);
            codes[code] = (short) (bits + 0x7FFF + (bits >>> 16 & 1) >>> 16);
        }
    }

    /** One factor for every tile of {@code rowStep x columnStep} elements. */
    public record Scales(float[] values, int rowStep, int columnStep, int columns) {
        public float at(int row, int column) {
            return values[row / rowStep * columns + column / columnStep];
        }
    }

    /** The factors of the FP8 matrix {@code name}. */
    public Scales scales(String name, int outputs, int inputs) {
        TensorEntry entry = files.find(name + "_scale_inv").orElseGet(() -> require(name + "_scale"));
        float[] values = new float[Math.toIntExact(entry.elements())];
        Quants.decode(entry.type(), files.data(entry), 0, values, 0, values.length);
        int tileRows = Math.ceilDiv(outputs, TILE);
        int tileColumns = Math.ceilDiv(inputs, TILE);
        if (values.length == 1) {
            return new Scales(values, outputs, inputs, 1);
        }
        if (values.length == tileRows * tileColumns && entry.rowElements() == tileColumns) {
            return new Scales(values, TILE, TILE, tileColumns);
        }
        if (values.length == outputs) {
            return new Scales(values, 1, inputs, 1);
        }
        throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " has shape " + entry.shape()
                + ", which is neither one factor, nor one a row, nor one a tile of 128 x 128 of [" + outputs + ", "
                + inputs + "]");
    }

    private float scalar(TensorEntry entry) {
        if (entry.type() != QuantType.F32 || entry.elements() != 1) {
            throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " is " + entry.dtype() + " "
                    + entry.shape() + ", expected one F32 factor");
        }
        return files.data(entry).get(JAVA_FLOAT_UNALIGNED, 0);
    }

    private float finite(TensorEntry entry, float factor) {
        if (!Float.isFinite(factor)) {
            throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " gives the factor " + factor);
        }
        return factor;
    }

    private TensorEntry require(String name) {
        return files.find(name)
                .orElseThrow(() -> new ModelFormatException(files.path() + ": tensor " + name + " is missing"));
    }

    /** All values of E4M3: sign, 4 bits of exponent (bias 7), 3 of mantissa, no infinity. */
    private static float[] fp8() {
        float[] values = new float[256];
        for (int bits = 0; bits < 256; bits++) {
            int exponent = bits >> 3 & 15;
            int mantissa = bits & 7;
            float size = exponent == 0 ? mantissa * 0x1p-9f : Math.scalb(1 + mantissa / 8f, exponent - 7);
            values[bits] = (bits & 0x7F) == 0x7F ? Float.NaN : (bits & 0x80) != 0 ? -size : size;
        }
        return values;
    }
}
