package dev.strata.model;

import dev.strata.expert.StoredMatrices;
import dev.strata.format.TensorEntry;
import dev.strata.format.safetensors.PackedMatrices;
import dev.strata.format.safetensors.PackedMatrices.Packing;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The same matrix of all experts of a layer in a packing of safetensors, made where it lies or from bytes that were read. */
final class PackedExperts implements StoredMatrices.Converter {
    private final PackedMatrices matrices;
    private final Packing packing;
    private final int outputs;
    private final int inputs;
    private final List<String> names;
    private final AtomicReferenceArray<PackedMatrices.@Nullable Scales> scales;

    /** @param names the matrix's tensor for every expert */
    PackedExperts(PackedMatrices matrices, Packing packing, int outputs, int inputs, List<String> names) {
        this.matrices = matrices;
        this.packing = packing;
        this.outputs = outputs;
        this.inputs = inputs;
        this.names = names;
        scales = new AtomicReferenceArray<>(names.size());
    }

    @Override
    public void write(int expert, MemorySegment target) {
        // The factor goes to the blob's tail by itself.
        float factor = matrices.write(names.get(expert), packing, outputs, inputs, target);
        assert Float.isFinite(factor);
    }

    /** Keeps the factors of FP8 tiles too, so that nothing but these tensors has to be read later. */
    @Override
    public List<TensorEntry> sources(int expert) {
        if (packing == Packing.FP8) {
            scales.set(expert, matrices.scales(names.get(expert), outputs, inputs));
        }
        return matrices.sources(names.get(expert), packing, outputs, inputs);
    }

    @Override
    public void write(int expert, MemorySegment bytes, MemorySegment target) {
        long elements = (long) outputs * inputs;
        if (packing == Packing.NVFP4) {
            PackedMatrices.repackNvfp4(
                    bytes.asSlice(0, elements / 2), bytes.asSlice(elements / 2), 0, elements / 64, target);
            return;
        }
        PackedMatrices.Scales factors = scales.get(expert);
        if (factors == null) {
            throw new IllegalStateException("the sources of " + names.get(expert) + " were not asked for");
        }
        PackedMatrices.writeFp8(bytes, factors, outputs, inputs, target);
    }
}
