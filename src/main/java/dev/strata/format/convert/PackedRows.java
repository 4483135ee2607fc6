package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import java.util.Set;

/** Rows of a safetensors tensor with the scale tensors that stand beside it in quantized checkpoints. */
final class PackedRows {
    private PackedRows() {}

    static Rows of(ModelFiles files, TensorEntry tensor, Set<String> used) {
        return Rows.of(files, tensor);
    }
}
