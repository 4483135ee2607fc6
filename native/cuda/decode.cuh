// Products of few rows on tensor cores: how a block brings stored rows and activations to shared memory, and what a warp makes of them.
//
// A tile is 16 stored rows (the rows of an mma operand) and up to eight activation rows (its columns). Stored rows come as they are by
// asynchronous copies, each into a slot of its own with the alignment that it has in memory; slots are an odd number of 16 bytes apart, so
// that eight rows lie in different banks. Lane (r, q) of a warp reads quarter q of rows r and r + 8 of a group of 32 elements: that these
// are not the elements that an mma instruction numbers does not matter as long as the activations are taken in the same order.
// Activations are float16, scaled by a power of two so that a row's largest lies between 2^13 and 2^14; sums are float32. Where all of
// a group shares a scale the plain values are multiplied exactly and the scale is applied to the sum, otherwise to the values.
#pragma once

#define STRATA_PLAIN_READS
#include "types.cuh"

// A kernel of which so many blocks are to fit a multiprocessor: what hides a block's latency is the blocks beside it.
#ifdef STRATA_EMULATED
#define STRATA_RESIDENT_KERNEL(threads, blocks, name, ...) STRATA_KERNEL(threads, name, __VA_ARGS__)
#else
#define STRATA_RESIDENT_KERNEL(threads, blocks, name, ...) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
#endif

enum Mode { STORE = 0, ADD = 1, SILU = 2, TWICE_SIGMOID = 3, ADD_SCALED = 4, INJECT = 10 };

// Most parts of a row that are normed each for itself.
const int MOST_PARTS = 4;

#define STRATA_TYPE_CODE(name, T) CODE_##name,
enum TypeCode { STRATA_EACH_TYPE(STRATA_TYPE_CODE) };

#ifdef STRATA_EMULATED
STRATA_INLINE void copy_async_some(void* shared, const void* global, int bytes) {
    memset(shared, 0, 16);
    memcpy(shared, global, bytes);
}
STRATA_INLINE u32 half2_subtract(u32 a, u32 b) {
    return half2_of(from_half((u16)a) - from_half((u16)b), from_half((u16)(a >> 16)) - from_half((u16)(b >> 16)));
}
STRATA_INLINE u32 half2_multiply(u32 a, u32 b) {
    return half2_of(from_half((u16)a) * from_half((u16)b), from_half((u16)(a >> 16)) * from_half((u16)(b >> 16)));
}
STRATA_INLINE u32 warp_most(u32 value) {
    for (int distance = 16; distance > 0; distance >>= 1) {
        value = max(value, (u32)exchange_xor((int)value, distance));
    }
    return value;
}
#define __grid_constant__
STRATA_INLINE void read_fresh_four(const float* p, float* v) { memcpy(v, p, 16); }
STRATA_INLINE u32 half2_multiply_add(u32 a, u32 b, u32 c) {
    return half2_of(from_half((u16)a) * from_half((u16)b) + from_half((u16)c),
                    from_half((u16)(a >> 16)) * from_half((u16)(b >> 16)) + from_half((u16)(c >> 16)));
}
#else
STRATA_INLINE void read_fresh_four(const float* p, float* v) {
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "l"(p)
                 : "memory");
}
STRATA_INLINE u32 half2_multiply_add(u32 a, u32 b, u32 c) {
    u32 d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
// Copies 1 to 16 bytes and writes zeros behind them.
STRATA_INLINE void copy_async_some(void* shared, const void* global, int bytes) {
    u32 target = (u32)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(global), "r"(bytes) : "memory");
}
STRATA_INLINE u32 half2_subtract(u32 a, u32 b) {
    u32 c;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}
STRATA_INLINE u32 half2_multiply(u32 a, u32 b) {
    u32 c;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}
STRATA_INLINE u32 warp_most(u32 value) { return __reduce_max_sync(0xffffffffu, value); }
#endif

STRATA_INLINE void finish(float* target, float value, int mode, const float* factors, int row) {
    switch (mode) {
        case ADD: *target += value; break;
        case SILU: *target = silu(value); break;
        case TWICE_SIGMOID: *target = 2.0f * sigmoid(value); break;
        case ADD_SCALED: *target += factors[row] * value; break;
        default: *target = value;
    }
}

// Starts the copies of `count` rows, `bytes` bytes of each; worker w of `workers` warps takes every workers-th.
STRATA_INLINE void bring_rows(u8* to, int slot, const u8* from, u64 row_bytes, int count, int bytes, int worker, int workers) {
    int lane = threadIdx.x & 31;
    for (int r = worker; r < count; r += workers) {
        const u8* row = from + r * row_bytes;
        int skew = (int)((u64)row & 15);
        int end = bytes + skew;
        for (int at = 16 * lane; at < end; at += 512) {
            copy_async_some(to + r * slot + at, row - skew + at, min(16, end - at));
        }
    }
}

// Where row r, brought from `from`, lies in its slot.
STRATA_INLINE const u8* brought(const u8* tile, int slot, const u8* from, u64 row_bytes, int r) {
    return tile + r * slot + ((u64)(from + r * row_bytes) & 15);
}

// The power of two by which a row is multiplied whose largest value is `most`, and its inverse.
STRATA_INLINE void fitting(float most, float& factor, float& inverse) {
    u32 exponent = bits_of(most) >> 23 & 255u;
    exponent = exponent < 14 ? 14 : exponent > 253 ? 253 : exponent;
    factor = float_of((267u - exponent) << 23);
    inverse = float_of((exponent - 13u) << 23);
}

// Four values from column k on, zeros behind the columns.
STRATA_INLINE void four_of(const float* x, int k, int columns, float* v) {
    if ((columns & 3) == 0 && k < columns) {
        Vec4 four = *(const Vec4*)(x + k);
        v[0] = four.x;
        v[1] = four.y;
        v[2] = four.z;
        v[3] = four.w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = k + i < columns ? x[k + i] : 0.0f;
        }
    }
}

// The same of memory that the kernel before writes: past the multiprocessor's own cache.
STRATA_INLINE void four_fresh(const float* x, int k, int columns, float* v) {
    if ((columns & 3) == 0 && k < columns) {
        read_fresh_four(x + k, v);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = k + i < columns ? read_fresh(x + k + i) : 0.0f;
        }
    }
}

// Four values as float16 to to[0..3] in the order 0, 2, 1, 3 (in which nibbles come out of a word two at a time), and (with sums) the sum of what they became over groups of 32 columns.
STRATA_INLINE void round_four(const float* v, u16* to, bool inside, float* sums, int group) {
    Word2 halves = {half2_of(v[0], v[2]), half2_of(v[1], v[3])};
    if (inside) {
        *(Word2*)to = halves;
    }
    if (sums != nullptr) {
        float sum = from_half((u16)halves.x) + from_half((u16)(halves.x >> 16)) + from_half((u16)halves.y) +
                    from_half((u16)(halves.y >> 16));
#pragma unroll
        for (int distance = 4; distance > 0; distance >>= 1) {
            sum += exchange_xor(sum, distance);
        }
        if (inside && (threadIdx.x & 7) == 0) {
            sums[group] = sum;
        }
    }
}

// Rows of activations, normed when there are weights for it (each of `parts` equal parts for itself), as float16 [rows][stride]; `inverses`
// gets what undoes their scaling, `sums` [rows][groups] the sums of every group and `factors` [rows][parts] those of the norm when they
// are there. All 256 threads; the caller puts a barrier behind.
STRATA_INLINE void bring_activations(const float* x, const float* norm, float epsilon, int parts, int rows, int columns,
                                     u16* to, int stride, float* sums, float* inverses, float* factors) {
    __shared__ float squares_of[8][MOST_PARTS], most_of[8][MOST_PARTS];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int each = rows == 1 ? 8 : rows == 2 ? 4 : rows <= 4 ? 2 : 1;  // warps a row
    int row = warp / each, part = warp % each, groups = (columns + 31) >> 5;
    const float* own = x + (long long)(row < rows ? row : 0) * columns;
    int length = columns / parts;
    for (int p = 0; p < parts; p++) {
        float squares = 0.0f, most = 0.0f;
        int end = (p + 1) * length;
#pragma unroll 4
        for (int k = p * length + 4 * (part * 32 + lane); k < end; k += 128 * each) {
            float v[4], w[4] = {1.0f, 1.0f, 1.0f, 1.0f};
            four_fresh(own, k, columns, v);
            if (norm != nullptr) {
                four_of(norm, k, columns, w);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                squares += v[i] * v[i];
                most = fmaxf(most, fabsf(v[i] * w[i]));
            }
        }
        squares = warp_sum(squares);
        most = warp_max(most);
        if (lane == 0) {
            squares_of[warp][p] = squares;
            most_of[warp][p] = most;
        }
    }
    __syncthreads();
    if (row >= rows) {
        return;
    }
    float normed[MOST_PARTS], largest = 0.0f, factor, inverse;
#pragma unroll
    for (int p = 0; p < MOST_PARTS; p++) {
        float squares = 0.0f, most = 0.0f;
        for (int i = 0; i < each && p < parts; i++) {
            squares += squares_of[row * each + i][p];
            most = fmaxf(most, most_of[row * each + i][p]);
        }
        normed[p] = norm == nullptr ? 1.0f : 1.0f / sqrtf(squares / length + epsilon);
        largest = fmaxf(largest, most * normed[p]);
    }
    fitting(largest, factor, inverse);
    if (part == 0 && lane == 0) {
        inverses[row] = inverse;
#pragma unroll
        for (int p = 0; p < MOST_PARTS; p++) {
            if (factors != nullptr && p < parts) {
                factors[row * parts + p] = normed[p];
            }
        }
    }
#pragma unroll 2
    for (int base = part * 32; base < 8 * groups; base += 32 * each) {
        int k = 4 * (base + lane);
        float v[4], w[4] = {1.0f, 1.0f, 1.0f, 1.0f};
        four_fresh(own, k, columns, v);
        if (norm != nullptr) {
            four_of(norm, k, columns, w);
        }
        float own_norm = normed[0];
#pragma unroll
        for (int p = 1; p < MOST_PARTS; p++) {
            own_norm = k >= p * length && p < parts ? normed[p] : own_norm;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = v[i] * own_norm * w[i] * factor;
        }
        round_four(v, to + row * stride + k, base + lane < 8 * groups, sums == nullptr ? nullptr : sums + row * groups, k >> 5);
    }
}

// One row of activations by one warp.
STRATA_INLINE void bring_activations_of_warp(const float* x, int columns, u16* to, float* sums, float& inverse) {
    int lane = threadIdx.x & 31, groups = (columns + 31) >> 5;
    float most = 0.0f, factor;
    for (int k = 4 * lane; k < columns; k += 128) {
        float v[4];
        four_fresh(x, k, columns, v);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            most = fmaxf(most, fabsf(v[i]));
        }
    }
    fitting(warp_max(most), factor, inverse);
    for (int base = 0; base < 8 * groups; base += 32) {
        int k = 4 * (base + lane);
        float v[4];
        four_fresh(x, k, columns, v);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] *= factor;
        }
        round_four(v, to + k, base + lane < 8 * groups, sums, k >> 5);
    }
}

// Eight weights as four pairs of float16 (0 and 2, 1 and 3 of four): plain values where a group shares a scale, otherwise scaled ones.
template <class T>
STRATA_INLINE Scale pairs_of(const u8* row, int group, int quarter, int columns, u32* pairs) {
    Scale s;
    if constexpr (T::NIBBLES) {
        u32 word;
        s = T::nibbles(row, group, quarter, word);
        // Four bits in the mantissa of 1024: n in its lowest bits, 16 n above them.
        const u32 low_bias = 0x64006400u + 0x00010001u * (u32)T::BIAS, sixteenth = 0x2c002c00u;
        const u32 high_bias = 0xd400d400u + 0x00100010u * (u32)T::BIAS;  // -(64 + BIAS)
        u32 next = word >> 8;
        pairs[0] = half2_subtract((word & 0x000f000fu) | 0x64006400u, low_bias);
        pairs[1] = half2_subtract((next & 0x000f000fu) | 0x64006400u, low_bias);
        pairs[2] = half2_multiply_add((word & 0x00f000f0u) | 0x64006400u, sixteenth, high_bias);
        pairs[3] = half2_multiply_add((next & 0x00f000f0u) | 0x64006400u, sixteenth, high_bias);
    } else if constexpr (T::BYTES) {
        u32 low, high;
        s = T::bytes(row, group, quarter, low, high);
        const u32 bias = 0x64006400u + 0x00010001u * (u32)T::BIAS;  // 1024 + BIAS: a byte in the mantissa of 1024
        pairs[0] = half2_subtract(permute_bytes(low, 0x64646464u, 0x4240u), bias);
        pairs[1] = half2_subtract(permute_bytes(low, 0x64646464u, 0x4341u), bias);
        pairs[2] = half2_subtract(permute_bytes(high, 0x64646464u, 0x4240u), bias);
        pairs[3] = half2_subtract(permute_bytes(high, 0x64646464u, 0x4341u), bias);
    } else {
        float v[8];
        s = T::read(row, group, quarter, columns, v);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            pairs[i] = half2_of(v[4 * (i >> 1) + (i & 1)], v[4 * (i >> 1) + (i & 1) + 2]);
        }
    }
    if constexpr (!T::EVEN && !T::PLAIN) {
        u32 scale = half2_of(s.scale, s.scale);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            pairs[i] = half2_multiply(pairs[i], scale);
        }
    }
    return s;
}

// One lane's view of the activations: its column's row, and the group sums of the two columns that its results belong to.
struct Columns {
    const u16* x;
    const float* sums0;
    const float* sums1;
};

STRATA_INLINE Columns columns_of(const u16* x, int stride, const float* sums, int groups, int rows) {
    int lane = threadIdx.x & 31, column = lane >> 2, pair = 2 * (lane & 3);
    Columns c;
    c.x = x + (column < rows ? column : 0) * stride;
    c.sums0 = sums + (pair < rows ? pair : 0) * groups;
    c.sums1 = sums + (pair + 1 < rows ? pair + 1 : 0) * groups;
    return c;
}

// sums[0, 1] += 32 elements a group of row `low` . columns 2q and 2q + 1, sums[2, 3] of row `high`. Groups first, first + step, ... of
// those brought, which begin with group `before` of the activations.
template <class T>
STRATA_INLINE void multiply_groups(const u8* low, const u8* high, int groups, int columns, Columns c, int before, int first,
                                   int step, float* sums) {
    int quarter = threadIdx.x & 3;
#pragma unroll 2
    for (int g = first; g < groups; g += step) {
        u32 a[4], b[4];
        Scale s = pairs_of<T>(low, g, quarter, columns, a);
        Scale t = pairs_of<T>(high, g, quarter, columns, b);
        const u16* x = c.x + 32 * (before + g);
        Word2 x0 = *(const Word2*)(x + T::first(quarter));
        Word2 x1 = *(const Word2*)(x + T::second(quarter));
        u32 left[4] = {a[0], b[0], a[1], b[1]}, right[4] = {a[2], b[2], a[3], b[3]};
        if constexpr (T::EVEN) {
            float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            multiply_f16(part, left, x0.x, x0.y);
            multiply_f16(part, right, x1.x, x1.y);
            sums[0] += s.scale * part[0];
            sums[1] += s.scale * part[1];
            sums[2] += t.scale * part[2];
            sums[3] += t.scale * part[3];
        } else {
            multiply_f16(sums, left, x0.x, x0.y);
            multiply_f16(sums, right, x1.x, x1.y);
        }
        if constexpr (T::OFFSET) {
            float sum0 = c.sums0[before + g], sum1 = c.sums1[before + g];
            sums[0] += s.offset * sum0;
            sums[1] += s.offset * sum1;
            sums[2] += t.offset * sum0;
            sums[3] += t.offset * sum1;
        }
    }
}

// The same for a type known at run time. Warp-uniform.
STRATA_INLINE void multiply_stored(int type, const u8* low, const u8* high, int groups, int columns, Columns c, int before,
                                   int first, int step, float* sums) {
    switch (type) {
#define STRATA_MULTIPLY(name, T) \
    case CODE_##name: multiply_groups<T>(low, high, groups, columns, c, before, first, step, sums); break;
        STRATA_EACH_TYPE(STRATA_MULTIPLY)
    }
}
