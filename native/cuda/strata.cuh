// Words shared by all kernels: integer names, warp reductions, and the few machine instructions that C++ has no word for.
//
// No toolkit header is needed: conversions, ldmatrix, mma and asynchronous copies are inline PTX (sm_80 and later). With
// STRATA_EMULATED the same kernels are compiled for the host and run by emulator/, where every thread is a fiber.
#pragma once

#ifdef STRATA_EMULATED
#include "emulator/device.h"
#endif

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// A kernel by its plain name, without C++ mangling. Parameters are packed with natural alignment by the host.
#ifndef STRATA_EMULATED
#define STRATA_KERNEL(threads, name, ...) extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
// The same for blocks that have a multiprocessor to themselves.
#define STRATA_KERNEL_ALONE(threads, name, ...) \
    extern "C" __global__ void __launch_bounds__(threads, 1) name(__VA_ARGS__)
#define STRATA_DYNAMIC_SHARED(name) extern __shared__ __align__(128) u8 name[]
#define STRATA_TABLE static __device__ const
#endif

// A kernel of which so many blocks are to fit a multiprocessor: what hides a block's latency is the blocks beside it.
#ifdef STRATA_EMULATED
#define STRATA_RESIDENT_KERNEL(threads, blocks, name, ...) STRATA_KERNEL(threads, name, __VA_ARGS__)
#else
#define STRATA_RESIDENT_KERNEL(threads, blocks, name, ...) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
#endif

#define STRATA_INLINE static __device__ __forceinline__
#define STRATA_INLINE_MEMBER static __device__ __forceinline__
#define STRATA_MEMBER __device__ __forceinline__

struct alignas(16) Vec4 {
    float x, y, z, w;
};
struct alignas(16) Word4 {
    u32 x, y, z, w;
};
struct alignas(8) Word2 {
    u32 x, y;
};

#ifndef STRATA_EMULATED
#ifdef __CUDACC_RTC__
#define INFINITY __int_as_float(0x7f800000)
#endif

STRATA_INLINE float float_of(u32 bits) { return __uint_as_float(bits); }
STRATA_INLINE u32 bits_of(float value) { return __float_as_uint(value); }

STRATA_INLINE float from_half(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

STRATA_INLINE u16 to_half(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// Two values as float16, the first in the low half.
STRATA_INLINE u32 half2_of(float low, float high) {
    u32 bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

// Four of eight bytes; where the highest bit of a selector's nibble is set the byte is made of the sign of the chosen one.
STRATA_INLINE u32 permute_bytes(u32 low, u32 high, u32 selector) {
    u32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(selector));
    return bytes;
}

STRATA_INLINE void copy_async_16(void* shared, const void* global) {
    u32 target = (u32)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(global) : "memory");
}
// Copies 16 bytes, or writes zeros when there is nothing to copy.
STRATA_INLINE void copy_async_16_or_zero(void* shared, const void* global, bool present) {
    u32 target = (u32)__cvta_generic_to_shared(shared);
    int bytes = present ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(global), "r"(bytes) : "memory");
}
STRATA_INLINE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
STRATA_INLINE void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

STRATA_INLINE void load_matrices(u32 out[4], const void* shared) {
    u32 address = (u32)__cvta_generic_to_shared(shared);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
}
STRATA_INLINE void load_matrices_transposed(u32 out[4], const void* shared) {
    u32 address = (u32)__cvta_generic_to_shared(shared);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
}

// c[16 x 8] += a[16 x 16] b[16 x 8], float16 operands, float32 sums.
STRATA_INLINE void multiply_f16(float c[4], const u32 a[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// c[16 x 8] += a[16 x 32] b[32 x 8], bytes with or without signs, exact. Lane (r, q): a[0], a[2] of row r, a[1], a[3] of row r + 8,
// columns 4q and 16 + 4q on; b0, b1 the same columns of column r.
template <bool A_SIGNED, bool B_SIGNED>
STRATA_INLINE void multiply_bytes(int c[4], const u32 a[4], u32 b0, u32 b1) {
#define STRATA_MULTIPLY_BYTES(A, B)                                                                                     \
    asm("mma.sync.aligned.m16n8k32.row.col.s32." A "." B ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"    \
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                                \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if (A_SIGNED) {
        if (B_SIGNED) {
            STRATA_MULTIPLY_BYTES("s8", "s8");
        } else {
            STRATA_MULTIPLY_BYTES("s8", "u8");
        }
    } else if (B_SIGNED) {
        STRATA_MULTIPLY_BYTES("u8", "s8");
    } else {
        STRATA_MULTIPLY_BYTES("u8", "u8");
    }
#undef STRATA_MULTIPLY_BYTES
}

STRATA_INLINE float exchange_xor(float value, int distance) { return __shfl_xor_sync(0xffffffffu, value, distance); }
STRATA_INLINE int exchange_xor(int value, int distance) { return __shfl_xor_sync(0xffffffffu, value, distance); }
STRATA_INLINE float broadcast(float value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
STRATA_INLINE int broadcast(int value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
STRATA_INLINE u32 votes(bool vote) { return __ballot_sync(0xffffffffu, vote); }
STRATA_INLINE void warp_barrier() { __syncwarp(); }
STRATA_INLINE int lowest_bit(u32 bits) { return __ffs(bits) - 1; }
STRATA_INLINE int population(u32 bits) { return __popc(bits); }

#ifdef STRATA_PLAIN_READS
// Weights that lie in shared memory.
STRATA_INLINE u32 read_u32(const void* p) { return *(const u32*)p; }
STRATA_INLINE u32 read_u16(const void* p) { return *(const u16*)p; }
STRATA_INLINE u32 read_u8(const void* p) { return *(const u8*)p; }
STRATA_INLINE Word4 read_16(const void* p) { return *(const Word4*)p; }
STRATA_INLINE Word2 read_8(const void* p) { return *(const Word2*)p; }
#else
// Memory read through the read-only path.
STRATA_INLINE u32 read_u32(const void* p) { return __ldg((const u32*)p); }
STRATA_INLINE u32 read_u16(const void* p) { return __ldg((const u16*)p); }
STRATA_INLINE u32 read_u8(const void* p) { return __ldg((const u8*)p); }
STRATA_INLINE Word4 read_16(const void* p) {
    uint4 v = __ldg((const uint4*)p);
    Word4 r = {v.x, v.y, v.z, v.w};
    return r;
}
STRATA_INLINE Word2 read_8(const void* p) {
    uint2 v = __ldg((const uint2*)p);
    Word2 r = {v.x, v.y};
    return r;
}
#endif

// Asks for the 128-byte lines of `bytes` bytes in the L2 cache, the i-th by thread i of `threads`.
STRATA_INLINE void prefetch_lines(const u8* p, u64 bytes, int thread, int threads) {
#if __CUDA_ARCH__ >= 900
    for (u64 at = 128ull * thread; at < bytes; at += 128ull * threads) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(p + at));
    }
#endif
}

// Lets the next kernel of the stream start its preamble, and waits for the one before: a no-op without programmatic launches.
STRATA_INLINE void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
STRATA_INLINE void release_next_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif

// Memory that another block of the running launch wrote.
#ifdef STRATA_EMULATED
STRATA_INLINE float read_fresh(const float* p) { return *p; }
STRATA_INLINE int read_fresh(const int* p) { return *p; }
STRATA_INLINE void read_fresh_four(const float* p, float* v) { memcpy(v, p, 16); }
STRATA_INLINE int arrive(int* counter) { return atomicAdd(counter, 1); }
#else
STRATA_INLINE float read_fresh(const float* p) {
    float value;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(p) : "memory");
    return value;
}
STRATA_INLINE int read_fresh(const int* p) {
    int value;
    asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}
STRATA_INLINE void read_fresh_four(const float* p, float* v) {
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "l"(p)
                 : "memory");
}
// How often that was called before; this thread's writes so far are seen by who comes later.
STRATA_INLINE int arrive(int* counter) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}
#endif

STRATA_INLINE float from_bf16(u32 bits) { return float_of(bits << 16); }

// The largest float16 instead of infinity; what is not a number stays so.
STRATA_INLINE float in_half_range(float v) { return v > 65504.0f ? 65504.0f : v < -65504.0f ? -65504.0f : v; }
STRATA_INLINE u32 half2_in_range(float low, float high) { return half2_of(in_half_range(low), in_half_range(high)); }

#ifndef STRATA_EMULATED
STRATA_INLINE float warp_sum(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) {
        value += exchange_xor(value, distance);
    }
    return value;
}

STRATA_INLINE float warp_max(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) {
        value = fmaxf(value, exchange_xor(value, distance));
    }
    return value;
}
#endif

// Largest and sum of four neighbouring lanes.
STRATA_INLINE float quad_max(float v) {
    v = fmaxf(v, exchange_xor(v, 1));
    return fmaxf(v, exchange_xor(v, 2));
}
STRATA_INLINE float quad_sum(float v) {
    v += exchange_xor(v, 1);
    return v + exchange_xor(v, 2);
}

// Whether this block is the last of `blocks` to come here for counter `arrivals`, which is zero again afterwards. All threads; what thread 0 wrote
// before, and the others in front of a barrier, is seen by the last block.
STRATA_INLINE bool last_of(int* arrivals, int blocks) {
    __shared__ int before;
    if (threadIdx.x == 0) {
        before = arrive(arrivals);
        if (before == blocks - 1) {
            *arrivals = 0;
        }
    }
    __syncthreads();
    return before == blocks - 1;
}

// Sum over a block of at most 1024 threads; every thread gets it. `partial` holds 32 floats of shared memory.
STRATA_INLINE float block_sum(float value, float* partial) {
    value = warp_sum(value);
    int warp = threadIdx.x >> 5;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {
        partial[warp] = value;
    }
    __syncthreads();
    int warps = (blockDim.x + 31) >> 5;
    float sum = 0.0f;
    for (int i = 0; i < warps; i++) {
        sum += partial[i];
    }
    return sum;
}

STRATA_INLINE float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
STRATA_INLINE float silu(float x) { return x / (1.0f + expf(-x)); }
STRATA_INLINE float power_of_two(float x) {
#ifdef STRATA_EMULATED
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// 1 / sqrt(x) but for its last bit.
STRATA_INLINE float inverse_root(float x) {
#ifdef STRATA_EMULATED
    return 1.0f / sqrtf(x);
#else
    return rsqrtf(x);
#endif
}

// How a pair of a head's values turns at a position. The angle is brought near zero in float64; what the card's own sine is wrong by there is below 2^-20.
STRATA_INLINE void turn_of(int position, double frequency, float magnitude, float& sine, float& cosine) {
    double angle = position * frequency;
    angle -= rint(angle * 0.15915494309189535) * 6.283185307179586;
#ifdef STRATA_EMULATED
    sine = sinf((float)angle) * magnitude;
    cosine = cosf((float)angle) * magnitude;
#else
    sine = __sinf((float)angle) * magnitude;
    cosine = __cosf((float)angle) * magnitude;
#endif
}
