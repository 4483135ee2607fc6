/**
 * Model files: block layouts of quantized types and the readers and writers of GGUF, safetensors and packs. A leaf: it knows
 * nothing of models or devices.
 */
@NullMarked
package dev.strata.format;

import org.jspecify.annotations.NullMarked;
