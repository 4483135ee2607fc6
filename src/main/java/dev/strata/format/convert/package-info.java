/**
 * Conversion of models to GGUF: names and transforms of each family, metadata, tokenizer, choice of types by role. Source of the
 * names and transforms: the conventions of llama.cpp's GGUF files.
 */
@NullMarked
package dev.strata.format.convert;

import org.jspecify.annotations.NullMarked;
