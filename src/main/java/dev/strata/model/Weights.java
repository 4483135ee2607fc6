package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.device.HostTensor;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.safetensors.PackedMatrices;
import dev.strata.format.safetensors.PackedMatrices.Packing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Tensors by role from either container, shapes checked, in the form that the equations use. Matrices stay where they lie; what has to
 * be rearranged or transformed is made in {@code arena}, which has to outlive the model.
 */
final class Weights {
    private final ModelFiles files;
    private final ModelConfig config;
    private final Arena arena;
    private final String base;
    private final PackedMatrices packed;

    Weights(ModelFiles files, ModelConfig config, Arena arena) {
        this.files = files;
        this.config = config;
        this.arena = arena;
        this.packed = new PackedMatrices(files);
        this.base = gguf() ? "" : HuggingFaceNames.basePrefix(files);
    }

    boolean gguf() {
        return files.container() == ModelFiles.Container.GGUF;
    }

    ModelFiles files() {
        return files;
    }

    PackedMatrices packed() {
        return packed;
    }

    /** Memory that lives as long as the model. */
    Arena arena() {
        return arena;
    }

    Optional<TensorEntry> find(Role role, int layer) {
        return names(role, layer).stream()
                .map(files::find)
                .flatMap(Optional::stream)
                .findFirst();
    }

    boolean has(Role role, int layer) {
        return find(role, layer).isPresent()
                || !gguf()
                        && names(role, layer).stream()
                                .anyMatch(name -> packed.packing(name).isPresent());
    }

    /** The names a role's tensor may have, best first. */
    List<String> names(Role role, int layer) {
        String prefix = switch (role.scope()) {
            case TOP -> "";
            case MODEL -> base;
            case LAYER -> layerPrefix(layer);
            case DRAFT -> gguf() ? layerPrefix(layer) : "mtp.";
        };
        List<String> names = new ArrayList<>();
        for (String name : gguf() ? role.gguf() : role.huggingFace()) {
            names.add(prefix + name);
        }
        return names;
    }

    /** What the names of a layer's tensors start with; draft layers follow the trunk. */
    String layerPrefix(int layer) {
        if (gguf()) {
            return "blk." + layer + ".";
        }
        return layer < config.layers()
                ? base + "layers." + layer + "."
                : "mtp.layers." + (layer - config.layers()) + ".";
    }

    /** A matrix where it lies. */
    HostTensor matrix(Role role, int layer, int outputs, int inputs) {
        Optional<HostTensor> unpacked = unpack(role, layer, outputs, inputs);
        if (unpacked.isPresent()) {
            return unpacked.get();
        }
        TensorEntry entry = require(role, layer);
        checkShape(entry, outputs, inputs);
        return new HostTensor(entry.name(), entry.type(), outputs, inputs, files.data(entry), factor(entry));
    }

    /** The matrix of a quantized safetensors checkpoint in a type that backends know; empty when it is stored plainly. */
    private Optional<HostTensor> unpack(Role role, int layer, int outputs, int inputs) {
        if (gguf()) {
            return Optional.empty();
        }
        for (String name : names(role, layer)) {
            Packing packing = packed.packing(name).orElse(Packing.PLAIN);
            if (packing != Packing.PLAIN) {
                QuantType type = PackedMatrices.type(packing);
                MemorySegment data = arena.allocate(outputs * type.bytes(inputs), 64);
                float scale = packed.write(name, packing, outputs, inputs, data);
                return Optional.of(new HostTensor(name, type, outputs, inputs, data, scale));
            }
        }
        return Optional.empty();
    }

    /** Rows {@code from} to {@code from + outputs} of a matrix of {@code allRows} rows. */
    HostTensor rows(Role role, int layer, int allRows, int from, int outputs, int inputs) {
        HostTensor whole = matrix(role, layer, allRows, inputs);
        long rowBytes = whole.type().bytes(inputs);
        return new HostTensor(
                whole.name(),
                whole.type(),
                outputs,
                inputs,
                whole.data().asSlice(from * rowBytes, outputs * rowBytes),
                whole.scale());
    }

    /** Columns {@code from} to {@code from + inputs} of a matrix, copied together; both have to fall on block bounds. */
    HostTensor columns(HostTensor whole, int from, int inputs) {
        QuantType type = whole.type();
        if (!type.divides(from) || !type.divides(inputs)) {
            throw new ModelFormatException(files.path() + ": tensor " + whole.name() + " of type " + type
                    + " cannot be split at column " + (from + inputs) + ": its blocks have " + type.blockElements()
                    + " elements");
        }
        long rowBytes = type.bytes(inputs);
        MemorySegment data = arena.allocate(whole.outputs() * rowBytes, 64);
        for (int row = 0; row < whole.outputs(); row++) {
            long source = row * type.bytes(whole.inputs()) + type.bytes(from);
            MemorySegment.copy(whole.data(), source, data, row * rowBytes, rowBytes);
        }
        return new HostTensor(whole.name(), type, whole.outputs(), inputs, data, whole.scale());
    }

    /** A query or key matrix with rows in the order of rope over half-split pairs. */
    HostTensor rotated(Role role, int layer, int heads, int headSize, int inputs) {
        HostTensor whole = matrix(role, layer, heads * headSize, inputs);
        if (!gguf() || !Family.of(config.architecture()).adjacentPairs()) {
            return whole;
        }
        int[] picks = new int[heads * headSize];
        for (int i = 0; i < picks.length; i++) {
            int within = i % headSize;
            picks[i] = i - within + within % (headSize / 2) * 2 + within / (headSize / 2);
        }
        return pickRows(whole, picks);
    }

    /** The rows {@code picks} of a matrix, in that order, copied together. */
    HostTensor pickRows(HostTensor whole, int[] picks) {
        long rowBytes = whole.type().bytes(whole.inputs());
        MemorySegment data = arena.allocate(picks.length * rowBytes, 64);
        for (int i = 0; i < picks.length; i++) {
            MemorySegment.copy(whole.data(), picks[i] * rowBytes, data, i * rowBytes, rowBytes);
        }
        return new HostTensor(whole.name(), whole.type(), picks.length, whole.inputs(), data, whole.scale());
    }

    /** A small parameter as float32 in the form of the equations: 1 + w for norms, -exp(A_log) for decays. */
    HostTensor parameter(Role role, int layer, int rows, int columns) {
        TensorEntry entry = require(role, layer);
        if (entry.elements() != (long) rows * columns) {
            throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " has shape "
                    + files.written(entry.shape())
                    + ", expected " + rows * columns + " values");
        }
        float[] values = new float[rows * columns];
        Quants.decode(entry.type(), files.data(entry), 0, values, 0, values.length);
        transform(role, values);
        MemorySegment data = arena.allocate(4L * values.length, 64);
        MemorySegment.copy(values, 0, data, JAVA_FLOAT, 0, values.length);
        return new HostTensor(entry.name(), QuantType.F32, rows, columns, data, 1);
    }

    private void transform(Role role, float[] values) {
        if (gguf()) {
            return;
        }
        boolean plusOne = role.form() == Role.Form.NORM
                && Family.of(config.architecture()).addedNorms();
        for (int i = 0; i < values.length; i++) {
            if (plusOne) {
                values[i] += 1;
            } else if (role.form() == Role.Form.DECAY) {
                values[i] = (float) -Math.exp(values[i]);
            }
        }
    }

    TensorEntry require(Role role, int layer) {
        return find(role, layer)
                .orElseThrow(() -> new ModelFormatException(
                        files.path() + ": tensor " + String.join(" or ", names(role, layer)) + " is missing"));
    }

    private void checkShape(TensorEntry entry, int outputs, int inputs) {
        if (entry.rowElements() != inputs || entry.elements() != (long) outputs * inputs) {
            throw new ModelFormatException(files.path() + ": tensor " + entry.name() + " has shape "
                    + files.written(entry.shape())
                    + ", expected " + files.written(List.of((long) outputs, (long) inputs)));
        }
    }

    /** The tensor's own factor: the value of {@code X.scale} beside {@code X.weight}, else 1. */
    private float factor(TensorEntry entry) {
        if (!gguf() || !entry.name().endsWith(".weight")) {
            return 1;
        }
        return files.find(entry.name().replaceFirst("\\.weight$", ".scale"))
                .map(scale -> finite(scale, files.data(scale).get(JAVA_FLOAT_UNALIGNED, 0)))
                .orElse(1f);
    }

    private float finite(TensorEntry scale, float value) {
        if (!Float.isFinite(value)) {
            throw new ModelFormatException(files.path() + ": tensor " + scale.name() + " holds the factor " + value);
        }
        return value;
    }
}
