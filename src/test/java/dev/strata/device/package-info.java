/** The contract that every backend's operations keep, as cases that checks and benchmarks share. */
@NullMarked
package dev.strata.device;

import org.jspecify.annotations.NullMarked;
