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

// The same of rows of a multiple of four columns, without a branch.
STRATA_INLINE void four_held(const float* x, int k, int columns, float* v) {
    read_fresh_four(x + min(k, columns - 4), v);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = k < columns ? v[i] : 0.0f;
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

// Room for a block's sums and maxima, [32][parts]. (Variables of templates cannot be told to lie beside others, which the emulator asks for.)
STRATA_INLINE float (*sums_of_warps())[MOST_PARTS] {
    __shared__ float sums[32][MOST_PARTS];
    return sums;
}

// Rows of activations, normed when there are weights for it (each of `parts` equal parts for itself), as float16 [rows][stride]; `inverses`
// gets what undoes their scaling, `sums` [rows][groups] the sums of every group and `factors` [rows][parts] those of the norm when they
// are there. All threads of `WARPS` warps; the caller puts a barrier behind. HELD: rows that fit stay in registers between their two uses.
template <int WARPS = 8, bool HELD = false>
STRATA_INLINE void bring_activations(const float* x, const float* norm, float epsilon, int parts, int rows, int columns,
                                     u16* to, int stride, float* sums, float* inverses, float* factors) {
    float(*squares_of)[MOST_PARTS] = sums_of_warps(), (*most_of)[MOST_PARTS] = squares_of + 16;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int each = rows == 1 ? WARPS : rows == 2 ? WARPS / 2 : rows <= 4 ? WARPS / 4 : WARPS / 8;  // warps a row
    int row = warp / each, part = warp % each, groups = (columns + 31) >> 5;
    const float* own = x + (long long)(row < rows ? row : 0) * columns;
    int length = columns / parts;
    const int KEPT = 4;
    bool held = HELD && parts == 1 && (columns & 3) == 0 && columns <= KEPT * 128 * each;
    float kept[HELD ? KEPT : 1][4], scales[HELD ? KEPT : 1][4];
    if (held) {
#pragma unroll
        for (int j = 0; j < (HELD ? KEPT : 1); j++) {
            int k = 4 * (part * 32 + lane) + 128 * each * j;
            four_held(own, k, columns, kept[j]);
            Vec4 w = {1.0f, 1.0f, 1.0f, 1.0f};
            if (norm != nullptr) {
                w = *(const Vec4*)(norm + min(k, columns - 4));
            }
            scales[j][0] = w.x;
            scales[j][1] = w.y;
            scales[j][2] = w.z;
            scales[j][3] = w.w;
        }
        float squares = 0.0f, most = 0.0f;
#pragma unroll
        for (int j = 0; j < (HELD ? KEPT : 1); j++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                squares += kept[j][i] * kept[j][i];
                kept[j][i] *= scales[j][i];
                most = fmaxf(most, fabsf(kept[j][i]));
            }
        }
        squares = warp_sum(squares);
        most = warp_max(most);
        if (lane == 0) {
            squares_of[warp][0] = squares;
            most_of[warp][0] = most;
        }
    }
    for (int p = 0; p < parts && !held; p++) {
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
    if (held) {
#pragma unroll
        for (int j = 0; j < (HELD ? KEPT : 1); j++) {
            int base = part * 32 + 32 * each * j;
            if (base < 8 * groups) {
                int k = 4 * (base + lane);
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    kept[j][i] = kept[j][i] * (normed[0] * factor);
                }
                round_four(kept[j], to + row * stride + k, base + lane < 8 * groups, sums == nullptr ? nullptr : sums + row * groups,
                           k >> 5);
            }
        }
        return;
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
    const int KEPT = 8;
    if ((columns & 3) == 0 && columns <= 128 * KEPT) {
        float kept[KEPT][4];
#pragma unroll
        for (int j = 0; j < KEPT; j++) {
            four_held(x, 4 * lane + 128 * j, columns, kept[j]);
        }
#pragma unroll
        for (int j = 0; j < KEPT; j++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                most = fmaxf(most, fabsf(kept[j][i]));
            }
        }
        fitting(warp_max(most), factor, inverse);
#pragma unroll
        for (int j = 0; j < KEPT; j++) {
            if (32 * j < 8 * groups) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    kept[j][i] *= factor;
                }
                int k = 4 * lane + 128 * j;
                round_four(kept[j], to + k, 32 * j + lane < 8 * groups, sums, k >> 5);
            }
        }
        return;
    }
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

// Adds an output to every residual stream, as strongly as the stream takes it.
STRATA_INLINE void inject(float* residual, float value, const float* strengths, int streams, int row, int hidden, int column) {
    for (int s = 0; s < streams; s++) {
        residual[((long long)row * streams + s) * hidden + column] += strengths[row * streams + s] * value;
    }
}

struct Matrix {
    const u8* weights;
    float* out;
    u64 row_bytes;
    int outputs, first_block, type, mode;
    float scale;
    int piece_bytes, piece_columns, slot;
};
struct Matrices {
    Matrix of[6];
};

STRATA_INLINE const Matrix& matrix_of(const Matrices& list, int count, int tile) {
    int which = 0;
    while (which + 1 < count && tile >= list.of[which + 1].first_block) {
        which++;
    }
    return list.of[which];
}

// Products of several matrices with the same rows, normed on the way when there are weights for it.
struct ProductsInputs {
    Matrices list;
    int count;
    const float* x;
    const float* norm;
    float epsilon;
    int parts, rows, columns, stride, sums_at, tile_at;
    const float* factors;
    int streams;
    float* norm_factors;
};

// What becomes of one output. `before`: what was there, where something is added to it.
STRATA_INLINE void finish_product(const Matrix& m, float* target, float before, float value, const float* factors, int streams,
                                  int row, int column) {
    if (m.mode == INJECT) {
        inject(m.out, value, factors, streams, row, m.outputs, column);
    } else if (m.mode == ADD) {
        *target = before + value;
    } else {
        finish(target, value, m.mode, factors, row);
    }
}

// A warp's 16 x 8 sums to shared memory.
STRATA_INLINE void put_partial(float (*partial)[8], const float* result) {
    int lane = threadIdx.x & 31;
    float* to = &partial[lane >> 2][2 * (lane & 3)];
    to[0] = result[0];
    to[1] = result[1];
    to[64] = result[2];
    to[65] = result[3];
}

// Whether this block is the last of `blocks` to come here for counter `arrivals`, which is zero again afterwards. All threads.
STRATA_INLINE bool last_of(int* arrivals, int blocks) {
    __shared__ int before;
    publish();
    __syncthreads();
    if (threadIdx.x == 0) {
        before = atomicAdd(arrivals, 1);
        if (before == blocks - 1) {
            *arrivals = 0;
        }
    }
    __syncthreads();
    publish();
    return before == blocks - 1;
}

// The best `used` of up to 32 N logits by one warp: softmax, then one after the other, the lower index first among equals.
template <int N>
STRATA_INLINE void choose(const float* logits, int experts, int used, int renormalise, float scale, int* ids, float* weights) {
    int lane = threadIdx.x & 31;
    float score[N], best = -INFINITY, sum = 0.0f;
    u32 key[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        score[i] = 32 * i + lane < experts ? read_fresh(logits + 32 * i + lane) : -INFINITY;
        best = fmaxf(best, score[i]);
    }
    best = warp_max(best);
#pragma unroll
    for (int i = 0; i < N; i++) {
        score[i] = 32 * i + lane < experts ? expf(score[i] - best) : 0.0f;
        sum += score[i];
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int i = 0; i < N; i++) {
        score[i] /= sum;
        key[i] = 32 * i + lane < experts ? bits_of(score[i]) + 1 : 0;
    }
    float kept = 0.0f, chosen_sum = 0.0f;
    int kept_id = 0;
    for (int j = 0; j < used; j++) {
        u32 mine = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            mine = max(mine, key[i]);
        }
        u32 top = warp_most(mine);
        u32 behind = 0;  // counted from the end: the largest is the lowest index
#pragma unroll
        for (int i = N - 1; i >= 0; i--) {
            behind = key[i] == top ? (u32)(32 * N - (32 * i + lane)) : behind;
        }
        int id = 32 * N - (int)warp_most(behind);
#pragma unroll
        for (int i = 0; i < N; i++) {
            key[i] = 32 * i + lane == id ? 0 : key[i];
        }
        float value = float_of(top - 1);
        chosen_sum += value;
        if (lane == j) {
            kept = value;
            kept_id = id;
        }
    }
    if (lane < used) {
        ids[lane] = kept_id;
        weights[lane] = kept * (renormalise ? scale / fmaxf(chosen_sum, 6.103515625e-5f) : scale);
    }
}

// A stored row times 32 values a group, both in shared memory; sums go on in `sum`. One of `parts` warps that share the columns.
template <class T>
STRATA_INLINE void score(const u8* stored, const float* x, int columns, float& sum, int part, int parts) {
    int lane = threadIdx.x & 31, quarter = lane & 3, groups = (columns + 31) >> 5;
#pragma unroll 2
    for (int g = 8 * part + (lane >> 2); g < groups; g += 8 * parts) {
        float v[8];
        Scale s = T::read(stored, g, quarter, columns, v);
        Vec4 low = *(const Vec4*)(x + 32 * g + T::first(quarter)), high = *(const Vec4*)(x + 32 * g + T::second(quarter));
        float a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sum += (s.scale * v[i] + s.offset) * a[i];
        }
    }
}

// The stored row of an expert's score by its type. Warp-uniform.
STRATA_INLINE void score_stored(int type, const u8* stored, const float* x, int columns, float& sum, int part, int parts) {
    switch (type) {
#define STRATA_SCORE(name, T) \
    case CODE_##name: score<T>(stored, x, columns, sum, part, parts); break;
        STRATA_EACH_TYPE(STRATA_SCORE)
    }
}

STRATA_INLINE void choose_any(const float* logits, int experts, int used, int renormalise, float scale, int* ids, float* weights) {
    if (experts <= 128) {
        choose<4>(logits, experts, used, renormalise, scale, ids, weights);
    } else if (experts <= 256) {
        choose<8>(logits, experts, used, renormalise, scale, ids, weights);
    } else {
        choose<16>(logits, experts, used, renormalise, scale, ids, weights);
    }
}

// `normed` gets the normed rows when there is a norm.
struct RouteInputs {
    const u8* router;
    u64 row_bytes;
    int type;
    float router_scale;
    int slot, x_at;
    const float* x;
    const float* norm;
    float epsilon;
    int columns, experts, used, renormalise;
    float scale;
    int* arrivals;
    float* logits;
    float* normed;
    int* ids;
    float* weights;
};

// The two matrices of a gated product. In a blob `gate` and `up` are offsets and the factors lie `tail` bytes into it (0: none).
struct GateUp {
    u64 gate, up, tail, gate_bytes, up_bytes;
    float gate_scale, up_scale;
    int gate_type, up_type, gate_slot, up_slot, intermediate;
};

// `factors` gets the shared expert's factor of every row.
struct GateUpInputs {
    const u64* table;
    const int* ids;
    int pairs, used, first_expert, experts;
    GateUp routed, common;
    const float* x;
    int columns, sums_at, tile_at;
    float* h;
    float* common_h;
    const float* scalar_gate;
    float* factors;
};

// A matrix of a blob, or (offset: its address) of the shared expert.
struct Down {
    u64 offset, tail, row_bytes;
    float scale;
    int type, slot, columns;
};

// `shares`: whether there is a shared expert. warp_bytes: shared memory of a warp, its stored rows first, then from x_at on its activations and from
// sums_at on their sums (0: none).
struct DownInputs {
    const u64* table;
    const int* ids;
    const float* weights;
    int used, shares;
    Down routed, common;
    const float* h;
    const float* common_h;
    const float* factors;
    int outputs, mode;
    const float* strengths;
    int streams, warp_bytes, x_at, sums_at;
    float* out;
};
