package dev.strata.format.gguf;

import dev.strata.format.TensorEntry;
import java.util.List;
import java.util.Map;

/**
 * What stands before the data of one GGUF file.
 *
 * @param metadata keys in file order; numbers are Long or Double, unsigned 64-bit ones keep their bits
 * @param tensors in the order of their infos, with absolute offsets
 */
public record GgufHeader(Map<String, Object> metadata, List<TensorEntry> tensors) {}
