/**
 * The CPU backend: C++ kernels behind a C ABI (native/cpu), chosen at run time for the processor's instruction set, run by pinned
 * platform threads that the kernels' own pool feeds. Start at {@link dev.strata.cpu.CpuBackend}.
 */
@NullMarked
package dev.strata.cpu;

import org.jspecify.annotations.NullMarked;
