/**
 * The operations of {@link dev.strata.device.Ops} in plain scalar Java: float32 values, sums in double precision. It is the oracle
 * that the other backends are checked against, and the fallback where no compiled kernels are.
 */
@NullMarked
package dev.strata.device.reference;

import org.jspecify.annotations.NullMarked;
