package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** NVRTC, the CUDA toolkit's compiler as a library. */
final class RuntimeCompiler implements KernelCompiler {
    static final String LIBRARY = "libnvrtc.so.13";

    private final SymbolLookup library;
    private final String version;

    private RuntimeCompiler(SymbolLookup library, String version) {
        this.library = library;
        this.version = version;
    }

    /** Opens the library; it stays open. */
    static RuntimeCompiler open(Path file) {
        SymbolLookup library = SymbolLookup.libraryLookup(file, Arena.global());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment major = arena.allocate(JAVA_INT);
            MemorySegment minor = arena.allocate(JAVA_INT);
            RuntimeCompiler compiler = new RuntimeCompiler(library, "");
            check("nvrtcVersion", compiler.call("nvrtcVersion", major, minor));
            return new RuntimeCompiler(library, "nvrtc " + major.get(JAVA_INT, 0) + "." + minor.get(JAVA_INT, 0));
        }
    }

    @Override
    public String version() {
        return version;
    }

    @Override
    public byte[] compile(String name, String source, Map<String, String> headers, List<String> options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(ADDRESS);
            List<String> names = List.copyOf(headers.keySet());
            check(
                    "nvrtcCreateProgram",
                    call(
                            "nvrtcCreateProgram",
                            handle,
                            arena.allocateFrom(source),
                            arena.allocateFrom(name),
                            names.size(),
                            texts(arena, names.stream().map(headers::get).toList()),
                            texts(arena, names)));
            MemorySegment program = handle.get(ADDRESS, 0);
            try {
                int code = call("nvrtcCompileProgram", program, options.size(), texts(arena, options));
                if (code != 0) {
                    throw new DeviceException(
                            DeviceException.Kind.FAILED,
                            version + " cannot compile " + name + " with " + options + " (" + code + "): "
                                    + new String(
                                                    bytes(program, "nvrtcGetProgramLog"),
                                                    java.nio.charset.StandardCharsets.UTF_8)
                                            .strip());
                }
                return bytes(program, "nvrtcGetCUBIN");
            } finally {
                check("nvrtcDestroyProgram", call("nvrtcDestroyProgram", handle));
            }
        }
    }

    private byte[] bytes(MemorySegment program, String what) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(JAVA_LONG);
            check(what + "Size", call(what + "Size", program, size));
            MemorySegment bytes = arena.allocate(Math.max(1, size.get(JAVA_LONG, 0)));
            check(what, call(what, program, bytes));
            return bytes.asSlice(0, size.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
        }
    }

    private static MemorySegment texts(Arena arena, List<String> texts) {
        MemorySegment pointers = arena.allocate(ADDRESS, Math.max(1, texts.size()));
        for (int i = 0; i < texts.size(); i++) {
            pointers.setAtIndex(ADDRESS, i, arena.allocateFrom(texts.get(i)));
        }
        return pointers;
    }

    /** A call that returns an nvrtcResult; arguments are addresses or ints. */
    private int call(String name, Object... arguments) {
        MemorySegment symbol = library.find(name)
                .orElseThrow(() ->
                        new DeviceException(DeviceException.Kind.UNSUPPORTED, LIBRARY + " has no function " + name));
        MemoryLayout[] layouts = Arrays.stream(arguments)
                .map(argument -> argument instanceof Integer ? JAVA_INT : ADDRESS)
                .toArray(MemoryLayout[]::new);
        MethodHandle handle = Linker.nativeLinker().downcallHandle(symbol, FunctionDescriptor.of(JAVA_INT, layouts));
        try {
            return (int) handle.invokeWithArguments(arguments);
        } catch (Throwable t) {
            throw new IllegalStateException("calling " + name + " failed", t);
        }
    }

    private static void check(String call, int code) {
        if (code != 0) {
            throw new DeviceException(DeviceException.Kind.FAILED, call + " failed with " + code);
        }
    }
}
