package dev.strata.format;

import java.nio.file.Path;
import java.util.List;

/**
 * One stored tensor of a model, whatever the container.
 *
 * @param name as written in the file
 * @param type element type; safetensors' packed forms are described by {@code dtype}
 * @param dtype the container's own word for the type (for safetensors {@code F8_E4M3}, {@code U8}, ...; for GGUF the type's name)
 * @param shape outermost dimension first (Hugging Face order; GGUF's dims reversed)
 * @param file the file that holds it
 * @param offset absolute position of its first byte in that file
 * @param bytes its length
 */
public record TensorEntry(
        String name, QuantType type, String dtype, List<Long> shape, Path file, long offset, long bytes) {
    /** Product of the dimensions. */
    public long elements() {
        long product = 1;
        for (long dimension : shape) {
            product = Math.multiplyExact(product, dimension);
        }
        return product;
    }

    /** Length of one row: the innermost dimension, 1 for a scalar. */
    public long rowElements() {
        return shape.isEmpty() ? 1 : shape.getLast();
    }
}
