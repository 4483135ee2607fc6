/** Declarations from which JavaCPP makes the JNI glue of the CPU kernels. */
@NullMarked
package dev.strata.cpu.jni;

import org.jspecify.annotations.NullMarked;
