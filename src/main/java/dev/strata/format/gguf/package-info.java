/**
 * The GGUF container, versions 2 and 3, little endian: reading in place, split files, writing. Source: the GGUF specification of the
 * ggml project.
 */
@NullMarked
package dev.strata.format.gguf;

import org.jspecify.annotations.NullMarked;
