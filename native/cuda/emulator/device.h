// The device side of the emulator: what nvcc's built-in names mean when a kernel is compiled for the host.
//
// One block runs at a time on one host thread; its threads are fibers that give way at barriers and warp exchanges. Shared memory
// is static storage. A barrier that not all live threads of a warp or block reach ends the process with a message.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define __constant__ static const

namespace emulator {

struct Triple {
    unsigned x, y, z;
};

extern Triple thread_index, block_index, block_size, grid_size;

void block_barrier();
// Publishes `bytes` of this lane and returns the 32 lanes' values, `stride` apart. All live lanes of the warp take part.
const unsigned char* exchange(const void* value, int bytes);
constexpr int STRIDE = 64;
unsigned char* dynamic_shared();

template <class T>
inline T lane_value(const unsigned char* all, int lane) {
    T value;
    std::memcpy(&value, all + lane * STRIDE, sizeof(T));
    return value;
}

// Calls a kernel with arguments unpacked from a buffer in which every one has its natural alignment.
template <class... A>
struct Caller {
    template <size_t... I>
    static void apply(void (*kernel)(A...), std::tuple<A...>& values, std::index_sequence<I...>) {
        kernel(std::get<I>(values)...);
    }
    static void call(void* kernel, const unsigned char* buffer) {
        std::tuple<A...> values;
        size_t offset = 0;
        read(values, buffer, offset, std::index_sequence_for<A...>());
        apply(reinterpret_cast<void (*)(A...)>(kernel), values, std::index_sequence_for<A...>());
    }
    template <size_t... I>
    static void read(std::tuple<A...>& values, const unsigned char* buffer, size_t& offset, std::index_sequence<I...>) {
        (read_one(std::get<I>(values), buffer, offset), ...);
    }
    template <class T>
    static void read_one(T& value, const unsigned char* buffer, size_t& offset) {
        offset = aligned(offset, alignof(T));
        std::memcpy(&value, buffer + offset, sizeof(T));
        offset += sizeof(T);
    }
    static size_t bytes() {
        size_t offset = 0;
        ((offset = aligned(offset, alignof(A)) + sizeof(A)), ...);
        return offset;
    }
    // Arguments begin 16 bytes behind a multiple of 64, as on compute capability 9.0.
    static size_t aligned(size_t offset, size_t alignment) {
        return (offset + 16 + alignment - 1) / alignment * alignment - 16;
    }
    static size_t first() {
        size_t offsets[] = {aligned(0, alignof(A))...};
        return offsets[0];
    }
};

struct Registration {
    Registration(const char* name, void* kernel, void (*call)(void*, const unsigned char*), size_t argument_bytes,
                 size_t first_argument);
    template <class... A>
    Registration(const char* name, void (*kernel)(A...))
        : Registration(name, reinterpret_cast<void*>(kernel), &Caller<A...>::call, Caller<A...>::bytes(),
                       Caller<A...>::first()) {}
};

}  // namespace emulator

#define threadIdx (::emulator::thread_index)
#define blockIdx (::emulator::block_index)
#define blockDim (::emulator::block_size)
#define gridDim (::emulator::grid_size)
#define __syncthreads() ::emulator::block_barrier()

#define STRATA_KERNEL(threads, name, ...)                              \
    static void name(__VA_ARGS__);                                     \
    static ::emulator::Registration register_##name(#name, &name); \
    static void name(__VA_ARGS__)
#define STRATA_KERNEL_ALONE STRATA_KERNEL
#define STRATA_DYNAMIC_SHARED(name) unsigned char* name = ::emulator::dynamic_shared()
#define STRATA_TABLE static const
#define STRATA_INLINE_EMULATED static inline

STRATA_INLINE_EMULATED float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}
STRATA_INLINE_EMULATED uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}
// By hand: the compiler's own conversion is a call where the host has none in hardware, and most of the emulator's time went there.
STRATA_INLINE_EMULATED float from_half(uint16_t bits) {
    uint32_t magnitude = (uint32_t)(bits & 0x7fff) << 13;
    float value = float_of(magnitude) * 0x1p112f;
    uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
    return float_of(bits_of(value) | special | (uint32_t)(bits & 0x8000) << 16);
}
STRATA_INLINE_EMULATED uint16_t to_half(float value) {
    _Float16 half = (_Float16)value;
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}
STRATA_INLINE_EMULATED uint32_t half2_of(float low, float high) { return to_half(low) | (uint32_t)to_half(high) << 16; }
STRATA_INLINE_EMULATED uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    uint64_t both = (uint64_t)high << 32 | low;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t pick = selector >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(both >> (8 * (pick & 7))) & 255;
        if (pick & 8) {
            byte = byte & 128 ? 255 : 0;
        }
        result |= byte << (8 * i);
    }
    return result;
}
STRATA_INLINE_EMULATED void copy_async_16(void* shared, const void* global) { std::memcpy(shared, global, 16); }
STRATA_INLINE_EMULATED void copy_async_16_or_zero(void* shared, const void* global, bool present) {
    if (present) {
        std::memcpy(shared, global, 16);
    } else {
        std::memset(shared, 0, 16);
    }
}
STRATA_INLINE_EMULATED void copy_async_commit() {}
template <int PENDING>
STRATA_INLINE_EMULATED void copy_async_wait() {}

void load_matrices(uint32_t out[4], const void* shared);
void load_matrices_transposed(uint32_t out[4], const void* shared);
void multiply_f16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
void multiply_bytes_of(bool a_signed, bool b_signed, int c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
template <bool A_SIGNED, bool B_SIGNED>
inline void multiply_bytes(int c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    multiply_bytes_of(A_SIGNED, B_SIGNED, c, a, b0, b1);
}

template <class T>
inline T exchange_xor(T value, int distance) {
    const unsigned char* all = emulator::exchange(&value, sizeof(T));
    return emulator::lane_value<T>(all, (emulator::thread_index.x & 31) ^ distance);
}
template <class T>
inline T broadcast(T value, int lane) {
    return emulator::lane_value<T>(emulator::exchange(&value, sizeof(T)), lane);
}
STRATA_INLINE_EMULATED uint32_t votes(bool vote) {
    int mine = vote;
    const unsigned char* all = emulator::exchange(&mine, sizeof(int));
    uint32_t bits = 0;
    for (int lane = 0; lane < 32; lane++) {
        bits |= (uint32_t)(emulator::lane_value<int>(all, lane) != 0) << lane;
    }
    return bits;
}
STRATA_INLINE_EMULATED void warp_barrier() {
    int nothing = 0;
    emulator::exchange(&nothing, sizeof(int));
}
STRATA_INLINE_EMULATED int lowest_bit(uint32_t bits) { return __builtin_ctz(bits); }
STRATA_INLINE_EMULATED int population(uint32_t bits) { return __builtin_popcount(bits); }

// The sum and the largest of a warp's values, in one exchange instead of five.
STRATA_INLINE_EMULATED float warp_sum(float value) {
    const unsigned char* all = emulator::exchange(&value, sizeof(float));
    float sums[32];
    for (int lane = 0; lane < 32; lane++) {
        sums[lane] = emulator::lane_value<float>(all, lane);
    }
    for (int distance = 16; distance > 0; distance >>= 1) {
        for (int lane = 0; lane < distance; lane++) {
            sums[lane] += sums[lane + distance];
        }
    }
    return sums[0];
}
STRATA_INLINE_EMULATED float warp_max(float value) {
    const unsigned char* all = emulator::exchange(&value, sizeof(float));
    float top = emulator::lane_value<float>(all, 0);
    for (int lane = 1; lane < 32; lane++) {
        top = std::fmax(top, emulator::lane_value<float>(all, lane));
    }
    return top;
}

struct Word4;
struct Word2;
STRATA_INLINE_EMULATED uint32_t read_u32(const void* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}
STRATA_INLINE_EMULATED uint32_t read_u16(const void* p) {
    uint16_t v;
    std::memcpy(&v, p, 2);
    return v;
}
STRATA_INLINE_EMULATED uint32_t read_u8(const void* p) { return *(const unsigned char*)p; }
struct EmulatedRead {
    const void* p;
    template <class T>
    operator T() const {
        T v;
        std::memcpy(&v, p, sizeof(T));
        return v;
    }
};
STRATA_INLINE_EMULATED EmulatedRead read_16(const void* p) { return EmulatedRead{p}; }
STRATA_INLINE_EMULATED EmulatedRead read_8(const void* p) { return EmulatedRead{p}; }
STRATA_INLINE_EMULATED void prefetch_lines(const unsigned char*, unsigned long long, int, int) {}
STRATA_INLINE_EMULATED void wait_for_previous_kernel() {}
STRATA_INLINE_EMULATED void release_next_kernel() {}

inline int atomicAdd(int* target, int value) {
    int before = *target;
    *target += value;
    return before;
}

using std::max;
using std::min;
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
