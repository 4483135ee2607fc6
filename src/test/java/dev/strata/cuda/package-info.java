/** Tests of the CUDA backend: on a card where there is one, else on the emulated kernels. */
@NullMarked
package dev.strata.cuda;

import org.jspecify.annotations.NullMarked;
