package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Whether the native library is there, and what processor it runs on. */
final class CpuLibrary {
    private static final String REASON = load();

    private CpuLibrary() {}

    /** Empty when the library is loaded. */
    static String reason() {
        return REASON;
    }

    private static String load() {
        if (CpuKernels.class.getResource("linux-x86_64/libjniCpuKernels.so") == null) {
            return "this build has no libjniCpuKernels.so for Linux on x86-64 (build it with g++ installed)";
        }
        try {
            CpuKernels.strata_cpu_best_isa(-1);
            return "";
        } catch (LinkageError failed) {
            return String.valueOf(failed.getMessage());
        }
    }

    /** The processor's own name. */
    static String processor() {
        try (var lines = Files.lines(Path.of("/proc/cpuinfo"))) {
            return lines.filter(line -> line.startsWith("model name"))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .orElse("x86-64 processor");
        } catch (IOException unreadable) {
            return "x86-64 processor";
        }
    }
}
