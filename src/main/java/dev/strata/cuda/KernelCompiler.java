package dev.strata.cuda;

import dev.strata.device.DeviceException;
import java.util.List;
import java.util.Map;

/** Turns kernel sources into machine code of a card. */
interface KernelCompiler {
    /** Name and version; results of different ones are kept apart. */
    String version();

    /**
     * Compiles one file.
     *
     * @param headers texts of the files it may include, by name
     * @throws DeviceException with the compiler's messages when it refuses
     */
    byte[] compile(String name, String source, Map<String, String> headers, List<String> options);
}
