package dev.strata.model;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Finds the tensor that makes a model's logits useless. Reads every weight, so it is asked only when logits are not finite. */
final class NonFiniteWeights {
    private NonFiniteWeights() {}

    /** What to throw for non-finite logits: it names the tensor where one holds NaN or infinity. */
    static RuntimeException explain(ModelFiles files) {
        for (TensorEntry tensor : files.tensors()) {
            Optional<Float> value = firstNonFinite(files, tensor);
            if (value.isPresent()) {
                return new ModelFormatException(files.path() + ": tensor " + tensor.name() + " holds " + value.get()
                        + ", so the model's outputs are not numbers: get an intact copy of the file");
            }
        }
        return new ModelFormatException(
                files.path() + ": logits are not finite although all weights are; the weights overflow float32");
    }

    private static Optional<Float> firstNonFinite(ModelFiles files, TensorEntry tensor) {
        int row = Math.toIntExact(tensor.rowElements());
        long rowBytes = tensor.type().bytes(row);
        MemorySegment data = files.data(tensor);
        float[] values = new float[row];
        for (long offset = 0; offset + rowBytes <= data.byteSize(); offset += rowBytes) {
            Quants.decode(tensor.type(), data, offset, values, 0, row);
            for (float value : values) {
                if (!Float.isFinite(value)) {
                    return Optional.of(value);
                }
            }
        }
        return Optional.empty();
    }
}
