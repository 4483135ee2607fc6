package dev.strata.cuda;

import dev.strata.device.DeviceException;
import dev.strata.device.DeviceException.Kind;
import java.lang.foreign.MemorySegment;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUfunc_st;
import org.bytedeco.cuda.cudart.CUgraphExec_st;
import org.bytedeco.cuda.cudart.CUgraph_st;
import org.bytedeco.cuda.cudart.CUlaunchConfig;
import org.bytedeco.cuda.cudart.CUmod_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudart.CUtensorMap;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.SizeTPointer;

/**
 * The driver's calls that the backend makes, with handles as numbers and errors as exceptions. Nothing else names the presets, so that
 * another binding could take their place.
 */
final class Driver {
    static final int COMPUTE_CAPABILITY_MAJOR = 75;
    static final int COMPUTE_CAPABILITY_MINOR = 76;
    static final int MULTIPROCESSORS = 16;
    static final int SHARED_MEMORY_OF_A_BLOCK = 97;

    private static final int OUT_OF_MEMORY = 2;
    private static final int NOT_READY = 600;
    private static final int NOT_FOUND = 500;
    private static final int REGISTER_PORTABLE_AND_MAPPED = 3;
    private static final int NON_BLOCKING = 1;
    private static final int DISABLE_TIMING = 2;
    private static final int CAPTURE_THREAD_LOCAL = 1;
    private static final int MAX_DYNAMIC_SHARED = 8;
    private static final int PREFERRED_SHARED_CARVEOUT = 9;
    private static final int MAX_SHARED_CARVEOUT = 100;
    private static final int TENSOR_FLOAT16 = 6;
    private static final int TENSOR_BOX = 64;
    private static final int TENSOR_SWIZZLE_128 = 3;
    private static final int TENSOR_PROMOTE_128 = 2;

    private Driver() {}

    /** A native handle of one of the driver's types. */
    private static final class Handle {
        static CUstream_st stream(long address) {
            return new CUstream_st(new SegmentPointer(address, 0));
        }

        static CUevent_st event(long address) {
            return new CUevent_st(new SegmentPointer(address, 0));
        }
    }

    static void check(int code, String call, Object... details) {
        if (code != 0) {
            throw failure(code, call, details);
        }
    }

    static DeviceException failure(int code, String call, Object... details) {
        StringBuilder text = new StringBuilder(call).append('(');
        for (int i = 0; i < details.length; i++) {
            text.append(i == 0 ? "" : ", ").append(details[i]);
        }
        text.append(") failed: ").append(errorName(code));
        return new DeviceException(code == OUT_OF_MEMORY ? Kind.OUT_OF_MEMORY : Kind.FAILED, text.toString());
    }

    static String errorName(int code) {
        try (PointerPointer<BytePointer> name = new PointerPointer<>(1)) {
            if (cudart.cuGetErrorName(code, name) == 0) {
                BytePointer text = name.get(BytePointer.class, 0);
                if (text != null && !text.isNull()) {
                    return text.getString() + " (" + code + ")";
                }
            }
        }
        return "CUDA error " + code;
    }

    static void initialize() {
        check(cudart.cuInit(0), "cuInit");
    }

    static int version() {
        int[] version = new int[1];
        check(cudart.cuDriverGetVersion(version), "cuDriverGetVersion");
        return version[0];
    }

    static int device(int ordinal) {
        int[] device = new int[1];
        check(cudart.cuDeviceGet(device, ordinal), "cuDeviceGet", ordinal);
        return device[0];
    }

    static String deviceName(int device) {
        byte[] name = new byte[128];
        check(cudart.cuDeviceGetName(name, name.length, device), "cuDeviceGetName", device);
        int end = 0;
        while (end < name.length && name[end] != 0) {
            end++;
        }
        return new String(name, 0, end, java.nio.charset.StandardCharsets.UTF_8);
    }

    static int attribute(int device, int attribute) {
        int[] value = new int[1];
        check(cudart.cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute", attribute);
        return value[0];
    }

    static long retainContext(int device) {
        try (CUctx_st context = new CUctx_st()) {
            check(cudart.cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain", device);
            return context.address();
        }
    }

    static void releaseContext(int device) {
        check(cudart.cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease", device);
    }

    static void setContext(long context) {
        check(cudart.cuCtxSetCurrent(new CUctx_st(new SegmentPointer(context, 0))), "cuCtxSetCurrent");
    }

    /** Free and total bytes of the card. */
    static long[] memory() {
        try (SizeTPointer free = new SizeTPointer(1);
                SizeTPointer total = new SizeTPointer(1)) {
            check(cudart.cuMemGetInfo(free, total), "cuMemGetInfo");
            return new long[] {free.get(), total.get()};
        }
    }

    static long allocate(long bytes, String purpose) {
        long[] pointer = new long[1];
        check(cudart.cuMemAlloc(pointer, bytes), "cuMemAlloc", purpose, bytes + " bytes");
        return pointer[0];
    }

    static void free(long pointer) {
        check(cudart.cuMemFree(pointer), "cuMemFree");
    }

    static long allocatePinned(long bytes, String purpose) {
        Pointer memory = new Pointer();
        check(
                cudart.cuMemHostAlloc(memory, bytes, REGISTER_PORTABLE_AND_MAPPED),
                "cuMemHostAlloc",
                purpose,
                bytes + " bytes");
        return memory.address();
    }

    static void freePinned(long address) {
        check(cudart.cuMemFreeHost(new SegmentPointer(address, 0)), "cuMemFreeHost");
    }

    /** The driver's code; a refusal is sticky only in the runtime library, which nobody here asks. */
    static int register(MemorySegment memory) {
        return cudart.cuMemHostRegister(new SegmentPointer(memory), memory.byteSize(), REGISTER_PORTABLE_AND_MAPPED);
    }

    static void unregister(MemorySegment memory) {
        check(cudart.cuMemHostUnregister(new SegmentPointer(memory)), "cuMemHostUnregister", memory.byteSize());
    }

    static long devicePointer(MemorySegment registered) {
        long[] pointer = new long[1];
        check(
                cudart.cuMemHostGetDevicePointer(pointer, new SegmentPointer(registered), 0),
                "cuMemHostGetDevicePointer",
                registered.byteSize());
        return pointer[0];
    }

    static long newStream() {
        CUstream_st stream = new CUstream_st();
        check(cudart.cuStreamCreate(stream, NON_BLOCKING), "cuStreamCreate");
        return stream.address();
    }

    static void destroyStream(long stream) {
        check(cudart.cuStreamDestroy(Handle.stream(stream)), "cuStreamDestroy");
    }

    static void synchronizeStream(long stream) {
        check(cudart.cuStreamSynchronize(Handle.stream(stream)), "cuStreamSynchronize");
    }

    static void waitEvent(long stream, long event) {
        check(cudart.cuStreamWaitEvent(Handle.stream(stream), Handle.event(event), 0), "cuStreamWaitEvent");
    }

    static long newEvent(boolean timing) {
        CUevent_st event = new CUevent_st();
        check(cudart.cuEventCreate(event, timing ? 0 : DISABLE_TIMING), "cuEventCreate");
        return event.address();
    }

    static void destroyEvent(long event) {
        check(cudart.cuEventDestroy(Handle.event(event)), "cuEventDestroy");
    }

    static void recordEvent(long event, long stream) {
        check(cudart.cuEventRecord(Handle.event(event), Handle.stream(stream)), "cuEventRecord");
    }

    static boolean eventDone(long event) {
        int code = cudart.cuEventQuery(Handle.event(event));
        if (code != NOT_READY) {
            check(code, "cuEventQuery");
        }
        return code == 0;
    }

    static void synchronizeEvent(long event) {
        check(cudart.cuEventSynchronize(Handle.event(event)), "cuEventSynchronize");
    }

    static float elapsed(long from, long to) {
        float[] milliseconds = new float[1];
        check(cudart.cuEventElapsedTime(milliseconds, Handle.event(from), Handle.event(to)), "cuEventElapsedTime");
        return milliseconds[0];
    }

    static void copyToDevice(long target, MemorySegment source, long stream) {
        check(
                cudart.cuMemcpyHtoDAsync(target, new SegmentPointer(source), source.byteSize(), Handle.stream(stream)),
                "cuMemcpyHtoDAsync",
                source.byteSize() + " bytes");
    }

    static void copyToHost(MemorySegment target, long source, long stream) {
        check(
                cudart.cuMemcpyDtoHAsync(new SegmentPointer(target), source, target.byteSize(), Handle.stream(stream)),
                "cuMemcpyDtoHAsync",
                target.byteSize() + " bytes");
    }

    static void copyOnDevice(long target, long source, long bytes, long stream) {
        check(
                cudart.cuMemcpyDtoDAsync(target, source, bytes, Handle.stream(stream)),
                "cuMemcpyDtoDAsync",
                bytes + " bytes");
    }

    static void fill(long target, int value, long bytes, long stream) {
        check(
                cudart.cuMemsetD8Async(target, (byte) value, bytes, Handle.stream(stream)),
                "cuMemsetD8Async",
                bytes + " bytes");
    }

    static long loadModule(MemorySegment image, String name) {
        CUmod_st module = new CUmod_st();
        check(cudart.cuModuleLoadData(module, new SegmentPointer(image)), "cuModuleLoadData", name, image.byteSize());
        return module.address();
    }

    static void unloadModule(long module) {
        check(cudart.cuModuleUnload(new CUmod_st(new SegmentPointer(module, 0))), "cuModuleUnload");
    }

    /** Address of a kernel, or 0 when the module has none of that name. */
    static long function(long module, String name) {
        CUfunc_st function = new CUfunc_st();
        int code = cudart.cuModuleGetFunction(function, new CUmod_st(new SegmentPointer(module, 0)), name);
        if (code == NOT_FOUND) {
            return 0;
        }
        check(code, "cuModuleGetFunction", name);
        return function.address();
    }

    /** Writes the description of a row-major float16 matrix, read in boxes of 64 x 64 values, to 128 bytes at a multiple of 64. */
    static void describeMatrix(MemorySegment target, long address, long columns, long rows) {
        check(
                cudart.cuTensorMapEncodeTiled(
                        new CUtensorMap(new SegmentPointer(target)),
                        TENSOR_FLOAT16,
                        2,
                        new SegmentPointer(address, 0),
                        new long[] {columns, rows},
                        new long[] {2 * columns},
                        new int[] {TENSOR_BOX, TENSOR_BOX},
                        new int[] {1, 1},
                        0,
                        TENSOR_SWIZZLE_128,
                        TENSOR_PROMOTE_128,
                        0),
                "cuTensorMapEncodeTiled",
                rows + " x " + columns);
    }

    /** Where the first argument of a kernel lies in the buffer of its arguments. */
    static int firstArgument(long function, String name) {
        try (SizeTPointer offset = new SizeTPointer(1);
                SizeTPointer size = new SizeTPointer(1)) {
            check(
                    cudart.cuFuncGetParamInfo(new CUfunc_st(new SegmentPointer(function, 0)), 0, offset, size),
                    "cuFuncGetParamInfo",
                    name);
            return (int) offset.get();
        }
    }

    static void allowSharedMemory(long function, int bytes, String name) {
        check(
                cudart.cuFuncSetAttribute(new CUfunc_st(new SegmentPointer(function, 0)), MAX_DYNAMIC_SHARED, bytes),
                "cuFuncSetAttribute",
                name,
                bytes + " bytes of shared memory");
    }

    /** Asks for as much shared memory in a multiprocessor as it can have, whatever one launch needs. */
    static void preferSharedMemory(long function, String name) {
        check(
                cudart.cuFuncSetAttribute(
                        new CUfunc_st(new SegmentPointer(function, 0)), PREFERRED_SHARED_CARVEOUT, MAX_SHARED_CARVEOUT),
                "cuFuncSetAttribute",
                name,
                "all of the shared memory");
    }

    /** A kernel as launches want it; made once. */
    static Object functionHandle(long function) {
        return new CUfunc_st(new SegmentPointer(function, 0));
    }

    /** A launch description and its packed arguments in native memory; made once for each stream. */
    static Object configurationHandle(MemorySegment configuration) {
        return new CUlaunchConfig(new SegmentPointer(configuration));
    }

    static Object pointersHandle(MemorySegment pointers) {
        return new PointerPointer<Pointer>(new SegmentPointer(pointers));
    }

    @SuppressWarnings("unchecked")
    static int launch(Object configuration, Object function, Object extra) {
        return cudart.cuLaunchKernelEx(
                (CUlaunchConfig) configuration, (CUfunc_st) function, (PointerPointer<Pointer>) null, (PointerPointer<
                                Pointer>)
                        extra);
    }

    static void beginCapture(long stream) {
        check(cudart.cuStreamBeginCapture(Handle.stream(stream), CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture");
    }

    static long endCapture(long stream) {
        CUgraph_st graph = new CUgraph_st();
        check(cudart.cuStreamEndCapture(Handle.stream(stream), graph), "cuStreamEndCapture");
        return graph.address();
    }

    static long instantiate(long graph) {
        CUgraphExec_st executable = new CUgraphExec_st();
        check(
                cudart.cuGraphInstantiate(executable, new CUgraph_st(new SegmentPointer(graph, 0)), 0),
                "cuGraphInstantiate");
        return executable.address();
    }

    static void launchGraph(long executable, long stream) {
        check(
                cudart.cuGraphLaunch(new CUgraphExec_st(new SegmentPointer(executable, 0)), Handle.stream(stream)),
                "cuGraphLaunch");
    }

    static void destroyExecutable(long executable) {
        check(cudart.cuGraphExecDestroy(new CUgraphExec_st(new SegmentPointer(executable, 0))), "cuGraphExecDestroy");
    }

    static void destroyGraph(long graph) {
        check(cudart.cuGraphDestroy(new CUgraph_st(new SegmentPointer(graph, 0))), "cuGraphDestroy");
    }
}
