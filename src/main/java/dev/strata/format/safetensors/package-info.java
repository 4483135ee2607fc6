/**
 * The safetensors container and the Hugging Face folder around it (index, config.json, tokenizer files), with the packed number
 * formats found there.
 */
@NullMarked
package dev.strata.format.safetensors;

import org.jspecify.annotations.NullMarked;
