/**
 * Byte-level byte-pair encoding: text to token ids and back. Tokenizers come from a {@code tokenizer.json} or from GGUF metadata.
 */
@NullMarked
package dev.strata.tokenizer;

import org.jspecify.annotations.NullMarked;
