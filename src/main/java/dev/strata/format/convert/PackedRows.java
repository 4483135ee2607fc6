package dev.strata.format.convert;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.safetensors.PackedMatrices;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Rows of safetensors matrices that are stored in FP8 or NVFP4 with scale tensors beside them. */
final class PackedRows {
    private static final List<String> SCALES = List.of("_scale", "_scale_inv", "_scale_2", "_global_scale", "_packed");

    private PackedRows() {}

    /** The rows of the matrix {@code name}, plain or packed; the tensors it consists of are added to {@code used}. */
    static Rows of(ModelFiles files, String name, Set<String> used) {
        PackedMatrices packed = new PackedMatrices(files);
        PackedMatrices.Packing packing = packed.packing(name)
                .orElseThrow(() -> new ModelFormatException(files.path() + ": has no tensor " + name));
        used.add(name);
        if (packing == PackedMatrices.Packing.PLAIN) {
            return Rows.of(files, files.find(name).orElseThrow());
        }
        SCALES.forEach(suffix -> used.add(name + suffix));
        if (packing == PackedMatrices.Packing.FP8) {
            TensorEntry tensor = files.find(name).orElseThrow();
            int width = Math.toIntExact(tensor.rowElements());
            int rows = Math.toIntExact(tensor.elements() / width);
            return new Fp8Rows(files.data(tensor), width, packed.scales(name, rows, width));
        }
        TensorEntry values =
                files.find(name + "_packed").or(() -> files.find(name)).orElseThrow();
        TensorEntry scales = files.find(name + "_scale")
                .orElseThrow(() -> new ModelFormatException(files.path() + ": has no tensor " + name + "_scale"));
        int width = Math.toIntExact(2 * values.rowElements());
        if (width % QuantType.NVFP4.blockElements() != 0 || scales.bytes() != values.bytes() / 8) {
            throw new ModelFormatException(files.path() + ": tensor " + values.name() + " has shape " + values.shape()
                    + " with scales " + scales.shape() + ", which is not NVFP4 with a scale for each 16 values");
        }
        return new Nvfp4Rows(files.data(values), files.data(scales), width, packed.factor(name));
    }

    /** E4M3 bytes with factors. */
    private record Fp8Rows(MemorySegment values, int width, PackedMatrices.Scales scales) implements Rows {
        @Override
        public long count() {
            return values.byteSize() / width;
        }

        @Override
        public QuantType storedType() {
            return QuantType.BF16;
        }

        @Override
        public void read(long row, float[] target, int at) {
            for (int i = 0; i < width; i++) {
                target[at + i] = PackedMatrices.fp8(values.get(JAVA_BYTE, row * width + i)) * scales.at((int) row, i);
            }
        }
    }

    /** E2M1 values in pairs, E4M3 scales for each 16, one factor. */
    private record Nvfp4Rows(MemorySegment values, MemorySegment scales, int width, float factor) implements Rows {
        @Override
        public long count() {
            return 2 * values.byteSize() / width;
        }

        @Override
        public QuantType storedType() {
            return QuantType.NVFP4;
        }

        @Override
        public void read(long row, float[] target, int at) {
            Quants.decode(QuantType.NVFP4, repacked(row, 1), 0, target, at, width);
            for (int i = at; i < at + width; i++) {
                target[i] *= factor;
            }
        }

        @Override
        public @Nullable MemorySegment stored(QuantType type, long first, long rows) {
            return type == QuantType.NVFP4 ? repacked(first, rows) : null;
        }

        @Override
        public float storedFactor(long row) {
            return factor;
        }

        private MemorySegment repacked(long first, long rows) {
            long blocks = width / QuantType.NVFP4.blockElements();
            MemorySegment target =
                    MemorySegment.ofArray(new byte[Math.toIntExact(rows * blocks * QuantType.NVFP4.blockBytes())]);
            PackedMatrices.repackNvfp4(values, scales, first * blocks, rows * blocks, target);
            return target;
        }
    }
}
