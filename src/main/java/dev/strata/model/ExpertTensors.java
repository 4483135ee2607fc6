package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.device.ExpertLayout;
import dev.strata.expert.StoredExperts;
import dev.strata.expert.StoredMatrices;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import dev.strata.format.pack.PackLayout;
import dev.strata.format.safetensors.PackedMatrices;
import dev.strata.format.safetensors.PackedMatrices.Packing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Finds the expert matrices of every layer, whichever way the files pack them: stacked, gate and up fused, or a tensor an expert. */
public final class ExpertTensors {
    private final Weights weights;
    private final ModelFiles files;
    private final int experts;
    private final int hidden;
    private final int intermediate;
    private final boolean mixtral;

    private ExpertTensors(Weights weights, Hyperparameters sizes) {
        this.weights = weights;
        this.files = weights.files();
        this.experts = sizes.experts().count();
        this.hidden = sizes.hidden();
        this.intermediate = sizes.experts().intermediate();
        this.mixtral = sizes.config().architecture() == ModelConfig.Architecture.MIXTRAL;
    }

    /**
     * The experts of all layers, draft layers last.
     *
     * @throws ModelFormatException naming the tensor that is missing or has another shape than the metadata ask for
     */
    public static List<StoredExperts> find(ModelFiles files, Hyperparameters sizes) {
        // Nothing is rearranged here, so the arena stays empty.
        ExpertTensors tensors = new ExpertTensors(new Weights(files, sizes.config(), Arena.ofAuto()), sizes);
        List<StoredExperts> layers = new ArrayList<>();
        for (int layer = 0; layer < sizes.mixers().size(); layer++) {
            layers.add(tensors.layer(layer));
        }
        return layers;
    }

    private StoredExperts layer(int layer) {
        String prefix = weights.layerPrefix(layer);
        if (weights.gguf() && PackLayout.isPack(files.metadata())) {
            return packed(layer, prefix);
        }
        StoredMatrices gate;
        StoredMatrices up;
        StoredMatrices down;
        List<float[]> scales = List.of();
        if (weights.gguf()) {
            Optional<TensorEntry> fused = files.find(prefix + "ffn_gate_up_exps.weight");
            gate = fused.isPresent()
                    ? half(fused.get(), 0)
                    : stacked(require(prefix + "ffn_gate_exps.weight"), intermediate, hidden);
            up = fused.isPresent()
                    ? half(fused.get(), 1)
                    : stacked(require(prefix + "ffn_up_exps.weight"), intermediate, hidden);
            down = stacked(require(prefix + "ffn_down_exps.weight"), hidden, intermediate);
            scales = ggufFactors(prefix, fused.isPresent());
        } else if (files.find(prefix + "mlp.experts.gate_up_proj").isPresent()) {
            TensorEntry packed = require(prefix + "mlp.experts.gate_up_proj");
            gate = half(packed, 0);
            up = half(packed, 1);
            down = stacked(require(prefix + "mlp.experts.down_proj"), hidden, intermediate);
        } else {
            gate = separate(prefix, "gate_proj", intermediate, hidden);
            up = separate(prefix, "up_proj", intermediate, hidden);
            down = separate(prefix, "down_proj", hidden, intermediate);
            if (gate.type() == QuantType.NVFP4 || down.type() == QuantType.NVFP4) {
                scales = List.of(
                        packedFactors(prefix, "gate_proj"),
                        packedFactors(prefix, "up_proj"),
                        packedFactors(prefix, "down_proj"));
            }
        }
        ExpertLayout layout = new ExpertLayout(
                layer, experts, hidden, intermediate, gate.type(), up.type(), down.type(), !scales.isEmpty());
        return new StoredExperts(layout, gate, up, down, scales);
    }

    /** The experts of a layer of a pack, each with its matrices together. */
    private StoredExperts packed(int layer, String prefix) {
        TensorEntry tensor = require(PackLayout.name(layer));
        List<QuantType> types = PackLayout.types(files.metadata(), layer);
        long stride = tensor.rowElements();
        List<StoredMatrices> parts = new ArrayList<>();
        long at = 0;
        for (int part = 0; part < 3; part++) {
            QuantType type = types.get(part);
            long bytes = part == 2 ? type.bytes(intermediate) * hidden : type.bytes(hidden) * intermediate;
            parts.add(new StoredMatrices.Stacked(type, tensor, files.data(tensor), at, stride, bytes));
            at += bytes;
        }
        if (at > stride || tensor.bytes() != experts * stride) {
            throw new ModelFormatException(files.path() + ": tensor " + tensor.name() + " has shape "
                    + files.written(tensor.shape())
                    + ", expected " + experts + " experts of at least " + at + " bytes");
        }
        boolean fused = files.find(prefix + "ffn_gate_up_exps.scale").isPresent();
        List<float[]> scales = ggufFactors(prefix, fused);
        ExpertLayout layout = new ExpertLayout(
                layer, experts, hidden, intermediate, types.get(0), types.get(1), types.get(2), !scales.isEmpty());
        return new StoredExperts(layout, parts.get(0), parts.get(1), parts.get(2), scales);
    }

    /** Factors of gate, up and down in GGUF; those of fused gates and ups are one tensor. */
    private List<float[]> ggufFactors(String prefix, boolean fused) {
        String gatePart = fused ? "ffn_gate_up_exps" : "ffn_gate_exps";
        String upPart = fused ? "ffn_gate_up_exps" : "ffn_up_exps";
        return scales(prefix, List.of(gatePart, upPart, "ffn_down_exps"));
    }

    private StoredMatrices stacked(TensorEntry tensor, int outputs, int inputs) {
        checkShape(tensor, List.of((long) experts, (long) outputs, (long) inputs));
        long bytes = tensor.type().bytes(inputs) * outputs;
        return slices(tensor, 0, bytes, bytes);
    }

    /** The gate (0) or up (1) rows of a tensor that holds both for every expert, gates first. */
    private StoredMatrices half(TensorEntry tensor, int which) {
        checkShape(tensor, List.of((long) experts, 2L * intermediate, (long) hidden));
        long bytes = tensor.type().bytes(hidden) * intermediate;
        return slices(tensor, which * bytes, 2 * bytes, bytes);
    }

    /** An expert's matrix every {@code stride} bytes; made one by one where the whole tensor would have to be made first. */
    private StoredMatrices slices(TensorEntry tensor, long first, long stride, long bytes) {
        return files.makesTensors()
                ? new StoredMatrices.Converted(
                        tensor.type(),
                        bytes,
                        (expert, target) -> files.copy(tensor, first + expert * stride, bytes, target))
                : new StoredMatrices.Stacked(tensor.type(), tensor, files.data(tensor), first, stride, bytes);
    }

    private StoredMatrices separate(String prefix, String part, int outputs, int inputs) {
        Packing packing = weights.packed().packing(expertName(prefix, 0, part)).orElse(Packing.PLAIN);
        if (packing != Packing.PLAIN) {
            return converted(prefix, part, packing, outputs, inputs);
        }
        List<TensorEntry> tensors = new ArrayList<>();
        List<MemorySegment> segments = new ArrayList<>();
        for (int expert = 0; expert < experts; expert++) {
            TensorEntry tensor = require(expertName(prefix, expert, part));
            checkShape(tensor, List.of((long) outputs, (long) inputs));
            if (expert > 0 && tensor.type() != tensors.getFirst().type()) {
                throw new ModelFormatException(files.path() + ": tensor " + tensor.name() + " is " + tensor.type()
                        + " where expert 0 of the layer is "
                        + tensors.getFirst().type());
            }
            tensors.add(tensor);
            segments.add(files.data(tensor));
        }
        return new StoredMatrices.Separate(tensors, segments);
    }

    private String expertName(String prefix, int expert, String part) {
        return prefix + (mixtral ? "block_sparse_moe.experts." : "mlp.experts.") + expert + "."
                + (mixtral ? mixtralPart(part) : part) + ".weight";
    }

    private static String mixtralPart(String part) {
        return switch (part) {
            case "gate_proj" -> "w1";
            case "up_proj" -> "w3";
            default -> "w2";
        };
    }

    private StoredMatrices converted(String prefix, String part, Packing packing, int outputs, int inputs) {
        for (int expert = 1; expert < experts; expert++) {
            String name = expertName(prefix, expert, part);
            if (weights.packed().packing(name).orElse(Packing.PLAIN) != packing) {
                throw new ModelFormatException(
                        files.path() + ": tensor " + name + " is not packed like that of expert 0: " + packing);
            }
        }
        QuantType type = PackedMatrices.type(packing);
        return new StoredMatrices.Converted(
                type,
                outputs * type.bytes(inputs),
                new PackedExperts(
                        weights.packed(),
                        packing,
                        outputs,
                        inputs,
                        IntStream.range(0, experts)
                                .mapToObj(expert -> expertName(prefix, expert, part))
                                .toList()));
    }

    private float[] packedFactors(String prefix, String part) {
        float[] factors = new float[experts];
        for (int expert = 0; expert < experts; expert++) {
            String name = expertName(prefix, expert, part);
            boolean nvfp4 = weights.packed().packing(name).equals(Optional.of(Packing.NVFP4));
            factors[expert] = nvfp4 ? weights.packed().factor(name) : 1;
        }
        return factors;
    }

    private List<float[]> scales(String prefix, List<String> parts) {
        List<float[]> scales = new ArrayList<>();
        boolean any = false;
        for (String part : parts) {
            Optional<TensorEntry> tensor = files.find(prefix + part + ".scale");
            any |= tensor.isPresent();
            scales.add(factors(tensor));
        }
        return any ? scales : List.of();
    }

    private float[] factors(Optional<TensorEntry> tensor) {
        float[] factors = new float[experts];
        if (tensor.isEmpty()) {
            Arrays.fill(factors, 1);
            return factors;
        }
        TensorEntry entry = tensor.get();
        if (entry.type() != QuantType.F32 || (entry.elements() != 1 && entry.elements() != experts)) {
            throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " is " + entry.type() + " "
                    + files.written(entry.shape()) + ", expected F32 factors of 1 or " + experts + " experts");
        }
        MemorySegment data = files.data(entry);
        for (int expert = 0; expert < experts; expert++) {
            factors[expert] = data.get(JAVA_FLOAT_UNALIGNED, entry.elements() == 1 ? 0 : 4L * expert);
            if (!Float.isFinite(factors[expert])) {
                throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " holds the factor "
                        + factors[expert] + " for expert " + expert);
            }
        }
        return factors;
    }

    private void checkShape(TensorEntry tensor, List<Long> expected) {
        if (!tensor.shape().equals(expected)) {
            throw new ModelFormatException(files.path() + ": tensor " + tensor.name() + " at offset " + tensor.offset()
                    + ": expected " + files.written(expected) + " got " + files.written(tensor.shape()));
        }
    }

    private TensorEntry require(String name) {
        return files.find(name)
                .orElseThrow(() -> new ModelFormatException(files.path() + ": tensor " + name + " is missing"));
    }
}
