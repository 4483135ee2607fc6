// A stand-in for libcuda.so.1 that runs the emulated kernels: the driver calls that the cuda package makes, on host memory.
//
// Work is done when it is queued, so events have always happened. A stream that is capturing records its work into a graph instead.
// "Module data" is ignored: every kernel linked into this library is found by its name. Allocations lie between guards that are looked at
// after every kernel: one that writes outside ends the process with its name.
#include "emulator/launcher.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>

namespace {

using emulator::Launch;

enum Code {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    STREAM_CAPTURE_UNSUPPORTED = 900
};

struct Kernel {
    std::string name;
    void* kernel;
    void (*call)(void*, const unsigned char*);
    size_t argument_bytes, first_argument;
};

std::map<std::string, Kernel>& kernels() {
    static std::map<std::string, Kernel> all;
    return all;
}

struct Graph {
    std::vector<std::function<void()>> work;
};

struct Stream {
    Graph* capturing = nullptr;
};

constexpr size_t GUARD = 256;
constexpr unsigned char GUARD_VALUE = 0xa5;
thread_local bool has_context = false;
std::map<unsigned long long, size_t> allocations;
size_t allocated = 0;
constexpr size_t TOTAL = 8ull << 30;
std::mutex lock;

bool intact(const unsigned char* guard) {
    for (size_t i = 0; i < GUARD; i++) {
        if (guard[i] != GUARD_VALUE) {
            return false;
        }
    }
    return true;
}

void check_guards(const char* what) {
    for (auto& allocation : allocations) {
        const unsigned char* start = reinterpret_cast<unsigned char*>(allocation.first);
        if (!intact(start - GUARD) || !intact(start + (allocation.second + 255) / 256 * 256)) {
            std::fprintf(stderr, "emulator: %s wrote outside of an allocation of %zu bytes\n", what, allocation.second);
            std::abort();
        }
    }
}

void submit(Stream* stream, std::function<void()> work) {
    std::lock_guard<std::mutex> guard(lock);
    if (stream && stream->capturing) {
        stream->capturing->work.push_back(std::move(work));
    } else {
        work();
    }
}

}  // namespace

emulator::Registration::Registration(const char* name, void* kernel, void (*call)(void*, const unsigned char*),
                                     size_t argument_bytes, size_t first_argument) {
    kernels()[name] = Kernel{name, kernel, call, argument_bytes, first_argument};
}

extern "C" {

int cuInit(unsigned) { return SUCCESS; }
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return SUCCESS;
}
int cuDeviceGetCount(int* count) {
    *count = 1;
    return SUCCESS;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? SUCCESS : INVALID_VALUE;
}
int cuDeviceGetName(char* name, int length, int) {
    std::snprintf(name, length, "emulated kernels");
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
    *bytes = TOTAL;
    return SUCCESS;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    switch (attribute) {
        case 16: *value = 4; break;        // multiprocessors
        case 75: *value = 8; break;        // compute capability, major
        case 76: *value = 0; break;        // and minor
        case 97: *value = 160 << 10; break;  // shared memory a block may ask for
        default: *value = 0;
    }
    return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
    static int only;
    *context = &only;
    return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxSetCurrent(void* context) {
    has_context = context != nullptr;
    return SUCCESS;
}
int cuGetErrorName(int code, const char** name) {
    *name = code == SUCCESS ? "CUDA_SUCCESS"
            : code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND"
                                : "CUDA_ERROR_INVALID_VALUE";
    return SUCCESS;
}
int cuGetErrorString(int, const char** text) {
    *text = "emulated";
    return SUCCESS;
}

int cuMemGetInfo_v2(size_t* available, size_t* total) {
    *total = TOTAL;
    *available = TOTAL - allocated;
    return SUCCESS;
}
int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    std::lock_guard<std::mutex> guard(lock);
    if (bytes == 0 || allocated + bytes > TOTAL) {
        return bytes == 0 ? INVALID_VALUE : OUT_OF_MEMORY;
    }
    size_t room = (bytes + 255) / 256 * 256;
    unsigned char* memory = static_cast<unsigned char*>(std::aligned_alloc(256, room + 2 * GUARD));
    std::memset(memory, GUARD_VALUE, GUARD);
    std::memset(memory + GUARD + room, GUARD_VALUE, GUARD);
    if (bytes < (64u << 20)) {
        std::memset(memory + GUARD, 0xff, bytes);  // NaN: a read of what nothing wrote shows
    }
    *pointer = reinterpret_cast<unsigned long long>(memory + GUARD);
    allocations[*pointer] = bytes;
    allocated += bytes;
    return SUCCESS;
}
int cuMemFree_v2(unsigned long long pointer) {
    std::lock_guard<std::mutex> guard(lock);
    auto found = allocations.find(pointer);
    if (found == allocations.end()) {
        return INVALID_VALUE;
    }
    allocated -= found->second;
    allocations.erase(found);
    std::free(reinterpret_cast<unsigned char*>(pointer) - GUARD);
    return SUCCESS;
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return SUCCESS;
}
int cuMemFreeHost(void* memory) {
    std::free(memory);
    return SUCCESS;
}
int cuMemHostGetDevicePointer_v2(unsigned long long* pointer, void* memory, unsigned) {
    *pointer = reinterpret_cast<unsigned long long>(memory);
    return SUCCESS;
}
int cuMemHostRegister_v2(void*, size_t, unsigned) { return SUCCESS; }
int cuMemHostUnregister(void*) { return SUCCESS; }

int cuStreamCreate(void** stream, unsigned) {
    *stream = new Stream();
    return SUCCESS;
}
int cuStreamDestroy_v2(void* stream) {
    delete static_cast<Stream*>(stream);
    return SUCCESS;
}
int cuStreamSynchronize(void* stream) {
    return stream && static_cast<Stream*>(stream)->capturing ? STREAM_CAPTURE_UNSUPPORTED : SUCCESS;
}
int cuStreamWaitEvent(void*, void*, unsigned) { return SUCCESS; }
int cuEventCreate(void** event, unsigned) {
    *event = std::malloc(1);
    return SUCCESS;
}
int cuEventDestroy_v2(void* event) {
    std::free(event);
    return SUCCESS;
}
int cuEventRecord(void*, void*) { return SUCCESS; }
int cuEventQuery(void*) { return SUCCESS; }
int cuEventSynchronize(void*) { return SUCCESS; }
int cuEventElapsedTime(float* milliseconds, void*, void*) {
    *milliseconds = 0;
    return SUCCESS;
}
int cuEventElapsedTime_v2(float* milliseconds, void*, void*) {
    *milliseconds = 0;
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(unsigned long long target, const void* source, size_t bytes, void* stream) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    submit(static_cast<Stream*>(stream), [=] { std::memcpy(reinterpret_cast<void*>(target), source, bytes); });
    return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void* target, unsigned long long source, size_t bytes, void* stream) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    submit(static_cast<Stream*>(stream), [=] { std::memcpy(target, reinterpret_cast<void*>(source), bytes); });
    return SUCCESS;
}
int cuMemcpyDtoDAsync_v2(unsigned long long target, unsigned long long source, size_t bytes, void* stream) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    submit(static_cast<Stream*>(stream),
           [=] { std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes); });
    return SUCCESS;
}
int cuMemsetD8Async(unsigned long long target, unsigned char value, size_t bytes, void* stream) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    submit(static_cast<Stream*>(stream), [=] { std::memset(reinterpret_cast<void*>(target), value, bytes); });
    return SUCCESS;
}

int cuModuleLoadData(void** module, const void*) {
    static int only;
    *module = &only;
    return SUCCESS;
}
int cuModuleUnload(void*) { return SUCCESS; }
int cuModuleGetFunction(void** function, void*, const char* name) {
    auto found = kernels().find(name);
    if (found == kernels().end()) {
        return NOT_FOUND;
    }
    *function = &found->second;
    return SUCCESS;
}
int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size) {
    if (index != 0) {
        return INVALID_VALUE;
    }
    *offset = static_cast<Kernel*>(function)->first_argument;
    *size = 0;
    return SUCCESS;
}
int cuTensorMapEncodeTiled(void* map, int, unsigned rank, void* values, const unsigned long long* sizes,
                           const unsigned long long* strides, const unsigned* box, const unsigned*, int, int swizzle, int, int) {
    if (rank != 2 || box[0] != 64 || box[1] != 64 || swizzle != 3 || strides[0] % 16 != 0 ||
        reinterpret_cast<unsigned long long>(values) % 16 != 0 || reinterpret_cast<unsigned long long>(map) % 64 != 0) {
        return INVALID_VALUE;
    }
    unsigned long long words[4] = {reinterpret_cast<unsigned long long>(values), sizes[0], sizes[1], strides[0]};
    std::memcpy(map, words, sizeof words);
    return SUCCESS;
}
int cuFuncSetAttribute(void*, int, int) { return SUCCESS; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
    *blocks = 1;
    return SUCCESS;
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void**, void** extra) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    const Kernel& kernel = *static_cast<Kernel*>(function);
    const unsigned char* buffer = nullptr;
    size_t bytes = 0;
    for (int i = 0; extra[i] != nullptr; i += 2) {
        if (extra[i] == reinterpret_cast<void*>(1)) {
            buffer = static_cast<const unsigned char*>(extra[i + 1]);
        } else if (extra[i] == reinterpret_cast<void*>(2)) {
            bytes = *static_cast<size_t*>(extra[i + 1]);
        }
    }
    if (bytes != kernel.argument_bytes || bx * by * bz > 1024 || bx * by * bz == 0 || gy > 65535 || gz > 65535 ||
        gx == 0 || gy == 0 || gz == 0) {
        std::fprintf(stderr, "emulator: launch of %s with %zu argument bytes (%zu declared), grid %u %u %u, block %u %u %u\n",
                     kernel.name.c_str(), bytes, kernel.argument_bytes, gx, gy, gz, bx, by, bz);
        return INVALID_VALUE;
    }
    Launch launch{kernel.name, kernel.kernel, kernel.call, std::vector<unsigned char>(buffer, buffer + bytes),
                  {gx, gy, gz}, {bx, by, bz}, shared};
    submit(static_cast<Stream*>(stream), [launch] {
        emulator::run(launch);
        check_guards(launch.name.c_str());
    });
    return SUCCESS;
}
struct LaunchConfiguration {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void* stream;
    void* attributes;
    unsigned attribute_count;
};
int cuLaunchKernelEx(const LaunchConfiguration* c, void* function, void** parameters, void** extra) {
    return cuLaunchKernel(function, c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, c->stream, parameters, extra);
}

int cuStreamBeginCapture_v2(void* stream, int) {
    static_cast<Stream*>(stream)->capturing = new Graph();
    return SUCCESS;
}
int cuStreamEndCapture(void* stream, void** graph) {
    *graph = static_cast<Stream*>(stream)->capturing;
    static_cast<Stream*>(stream)->capturing = nullptr;
    return SUCCESS;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    *executable = new Graph(*static_cast<Graph*>(graph));
    return SUCCESS;
}
int cuGraphLaunch(void* executable, void* stream) {
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    for (auto& work : static_cast<Graph*>(executable)->work) {
        submit(static_cast<Stream*>(stream), work);
    }
    return SUCCESS;
}
int cuGraphExecDestroy(void* executable) {
    delete static_cast<Graph*>(executable);
    return SUCCESS;
}
int cuGraphDestroy(void* graph) {
    delete static_cast<Graph*>(graph);
    return SUCCESS;
}

}  // extern "C"
