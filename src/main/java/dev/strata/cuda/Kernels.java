package dev.strata.cuda;

import dev.strata.device.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** All kernels of one card, by name. */
final class Kernels implements AutoCloseable {
    /** Kernels that take matrices for the tensor unit as arguments: those have to lie at multiples of 64. */
    private static final String MATRIX_KERNELS = "_hopper_";

    private final List<Long> modules;
    private final Map<String, Kernel> found = new HashMap<>();

    private Kernels(List<Long> modules) {
        this.modules = modules;
    }

    static Kernels load(KernelImages images, int computeCapability) {
        List<Long> modules = new ArrayList<>();
        for (KernelImages.Image image : images.forComputeCapability(computeCapability)) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment memory = arena.allocate(image.bytes().length, 64);
                MemorySegment.copy(
                        image.bytes(), 0, memory, java.lang.foreign.ValueLayout.JAVA_BYTE, 0, image.bytes().length);
                modules.add(Driver.loadModule(memory, image.name()));
            }
        }
        return new Kernels(modules);
    }

    /**
     * The kernel of this name.
     *
     * @throws DeviceException of kind UNSUPPORTED when no module has it
     */
    Kernel get(String name) {
        return find(name)
                .orElseThrow(() -> new DeviceException(
                        DeviceException.Kind.UNSUPPORTED, "there is no kernel " + name + " for this card"));
    }

    Optional<Kernel> find(String name) {
        Kernel known = found.get(name);
        if (known != null) {
            return Optional.of(known);
        }
        for (long module : modules) {
            long function = Driver.function(module, name);
            if (function != 0) {
                Kernel kernel = new Kernel(
                        name,
                        Driver.functionHandle(function),
                        name.contains(MATRIX_KERNELS) ? Driver.firstArgument(function, name) : 0);
                found.put(name, kernel);
                return Optional.of(kernel);
            }
        }
        return Optional.empty();
    }

    /**
     * A kernel of a chain whose kernels overlap: all of them split a multiprocessor's memory in the same way, since a block never enters
     * one that is split in another.
     */
    Kernel chained(String name, int sharedBytes) {
        Kernel kernel = get(name, sharedBytes);
        for (long module : modules) {
            long function = Driver.function(module, name);
            if (function != 0) {
                Driver.preferSharedMemory(function, name);
            }
        }
        return kernel;
    }

    /** A kernel that asks for more than the usual 48 KiB of shared memory. */
    Kernel get(String name, int sharedBytes) {
        Kernel kernel = get(name);
        if (sharedBytes > 48 << 10) {
            for (long module : modules) {
                long function = Driver.function(module, name);
                if (function != 0) {
                    Driver.allowSharedMemory(function, sharedBytes, name);
                }
            }
        }
        return kernel;
    }

    @Override
    public void close() {
        modules.forEach(Driver::unloadModule);
    }
}
