/** From logits to a token: penalties, masks, the sampler chain. */
@NullMarked
package dev.strata.sampling;

import org.jspecify.annotations.NullMarked;
