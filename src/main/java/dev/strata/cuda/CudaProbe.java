package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.Optional;

/** Looks for a usable driver before any class of the CUDA presets is touched: those cannot be loaded without one. */
public final class CudaProbe {
    /** The oldest driver that runs the embedded kernels, as cuDriverGetVersion numbers it: CUDA 13.0, the 580 line. */
    static final int OLDEST_DRIVER = 13000;

    private static final int NO_DEVICE = 100;

    private CudaProbe() {}

    /** What was found. */
    public sealed interface Result {
        /** One line for people. */
        String reason();

        default boolean isAvailable() {
            return this instanceof Available;
        }
    }

    /** A driver with at least one card. */
    public record Available(int devices, int driverVersion) implements Result {
        @Override
        public String reason() {
            return devices + (devices == 1 ? " card" : " cards") + ", driver for CUDA " + driverVersion / 1000 + "."
                    + driverVersion % 1000 / 10;
        }
    }

    /** No driver, or one that cannot be used. */
    public record NoDriver(String reason) implements Result {}

    /** A driver without a card. */
    public record NoDevice(String reason) implements Result {}

    /** Asks the system's driver. */
    public static Result probe() {
        return probe(Optional.empty());
    }

    /** Asks the driver at {@code library}, or the system's. */
    public static Result probe(Optional<Path> library) {
        try (Arena arena = Arena.ofConfined()) {
            SymbolLookup lookup;
            try {
                lookup = library.isPresent()
                        ? SymbolLookup.libraryLookup(library.get(), arena)
                        : SymbolLookup.libraryLookup("libcuda.so.1", arena);
            } catch (IllegalArgumentException e) {
                return new NoDriver("no NVIDIA driver: "
                        + library.map(Path::toString).orElse("libcuda.so.1") + " cannot be loaded");
            }
            int code = call(lookup, "cuInit", 0);
            if (code == NO_DEVICE) {
                return new NoDevice("the NVIDIA driver sees no card");
            }
            if (code != 0) {
                return new NoDriver("the NVIDIA driver refuses to start (cuInit returned " + code
                        + "): check nvidia-smi, and that the kernel module matches the library");
            }
            MemorySegment value = arena.allocate(JAVA_INT);
            int failed = call(lookup, "cuDriverGetVersion", value);
            int version = value.get(JAVA_INT, 0);
            if (failed != 0 || version < OLDEST_DRIVER) {
                return new NoDriver("the NVIDIA driver supports CUDA " + version / 1000 + "." + version % 1000 / 10
                        + ", CUDA 13.0 is needed: install a driver of the 580 line or newer");
            }
            failed = call(lookup, "cuDeviceGetCount", value);
            int devices = value.get(JAVA_INT, 0);
            if (failed != 0 || devices == 0) {
                return new NoDevice("the NVIDIA driver sees no card");
            }
            return new Available(devices, version);
        }
    }

    private static int call(SymbolLookup lookup, String name, Object argument) {
        Optional<MemorySegment> symbol = lookup.find(name);
        if (symbol.isEmpty()) {
            return -1;
        }
        boolean address = argument instanceof MemorySegment;
        var handle = Linker.nativeLinker()
                .downcallHandle(symbol.get(), FunctionDescriptor.of(JAVA_INT, address ? ADDRESS : JAVA_INT));
        try {
            return address
                    ? (int) handle.invokeExact((MemorySegment) argument)
                    : (int) handle.invokeExact((int) (Integer) argument);
        } catch (Throwable t) {
            throw new IllegalStateException("calling " + name + " failed", t);
        }
    }
}
