/** Decoders and encoders of the quantized block types, one small class per family of layouts. */
@NullMarked
package dev.strata.format.quant;

import org.jspecify.annotations.NullMarked;
