package dev.strata.cpu.jni;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;

/** JNI entry points of the C++ kernels; JavaCPP generates the glue from these declarations. Addresses are raw. */
@Platform(value = "linux-x86_64", include = "strata_cpu.h", compiler = "cpp17", link = "strata_cpu")
@NoException
public final class CpuKernels {
    static {
        Loader.load();
    }

    private CpuKernels() {}

    /** See {@code native/cpu/include/strata_cpu.h}. */
    public static native int strata_cpu_best_isa();
}
