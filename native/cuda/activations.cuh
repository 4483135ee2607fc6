// Products of few rows on tensor cores: how a block brings stored rows and activations to shared memory. What a warp makes of them is in multiply.cuh.
//
// A tile is 16 stored rows (the rows of an mma operand) and up to eight activation rows (its columns). Stored rows come as they are by
// asynchronous copies, each into a slot of its own with the alignment that it has in memory; slots are an odd number of 16 bytes apart, so
// that eight rows lie in different banks. Lane (r, q) of a warp reads quarter q of rows r and r + 8 of a group of 32 elements: that these
// are not the elements that an mma instruction numbers does not matter as long as the activations are taken in the same order.
// Where all of a group shares a scale and its plain values are bytes they are multiplied as such, exactly, and the scale is applied to the sum: activations are
// then 16-bit integers, the largest of a row between 2^14 and 2^15, as two rows of bytes (high ones with the sign, low ones without). For other types
// they are float16, the largest between 2^13 and 2^14, and the weights scaled float16 values. Sums over groups are float32.
#pragma once

#define STRATA_PLAIN_READS
#include "types.cuh"
#include "integers.cuh"

#define STRATA_TYPE_CODE(name, T) CODE_##name,
enum TypeCode { EACH_STORED_TYPE(STRATA_TYPE_CODE) };

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
#else
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

template <class T>
STRATA_INLINE int form_of() {
    if constexpr (T::BYTES) {
        return T::SIGNS ? WOVEN : INTEGERS;
    } else {
        return HALVES;
    }
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

// Whether products of several rows with a type are made of bytes. (Those of one row are where a type has them, T::BYTES: then halves of a group may have scales of
// their own.)
template <class T>
struct Exact {
    static const bool value = T::EVEN && T::BYTES;
};
STRATA_INLINE bool exact(int type) {
#define STRATA_EXACT(name, T) | (Exact<T>::value ? 1u << CODE_##name : 0u)
    const u32 all = 0u EACH_STORED_TYPE(STRATA_EXACT);
#undef STRATA_EXACT
    return (all >> type & 1u) != 0;
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

// Four values in the form that products with a type want.
STRATA_INLINE void put_four(int form, const float* v, u16* to, bool inside, float* sums, int group) {
    if (form != HALVES) {
        split_four(v, form, to, inside, sums, group);
    } else {
        round_four(v, to, inside, sums, group);
    }
}

// Starts the copies of a row that the kernel before left as integers; `sums` where they are wanted.
STRATA_INLINE void bring_integers(const u8* from, int columns, u16* to, float* factors, float* sums, int thread, int threads) {
    IntegerRow row = integer_row((u8*)from, columns);
#pragma unroll 1
    for (int i = 16 * thread; i < 2 * columns; i += 16 * threads) {
        copy_async_16((u8*)to + i, row.bytes + i);
    }
    for (int i = thread; i < columns >> 5; i += threads) {
        factors[i] = read_fresh(row.factors + i);
        if (sums != nullptr) {
            sums[i] = read_fresh(row.sums + i);
        }
    }
    copy_async_commit();
}

// Room for the sum of squares and the largest value of each of up to 16 warps. (Variables of templates cannot be told to lie beside others, which the emulator asks for.)
STRATA_INLINE float* sums_of_warps() {
    __shared__ Vec4 sums[8];
    return (float*)sums;
}

// Rows of activations, normed when there are weights for it, in one of the forms, [rows][stride]; `inverses` gets what undoes their scaling, `sums`
// [rows][groups] the sums of every group when they are there. All threads of `WARPS` warps; the caller puts a barrier behind.
template <int WARPS = 8>
STRATA_INLINE void bring_activations(const float* x, const float* norm, float epsilon, int rows, int columns, int form, u16* to,
                                     int stride, float* sums, float* inverses) {
    float* found = sums_of_warps();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int each = rows == 1 ? WARPS : rows == 2 ? WARPS / 2 : rows <= 4 ? WARPS / 4 : WARPS / 8;  // warps a row
    int row = warp / each, part = warp % each, groups = (columns + 31) >> 5;
    const float* own = x + (long long)(row < rows ? row : 0) * columns;
    float squares = 0.0f, most = 0.0f, factor, inverse;
    auto read = [&](int k, float* v, float* w) {
        four_fresh(own, k, columns, v);
        w[0] = w[1] = w[2] = w[3] = 1.0f;
        if (norm != nullptr) {
            four_of(norm, k, columns, w);
        }
    };
#pragma unroll 4
    for (int k = 4 * (part * 32 + lane); k < columns; k += 128 * each) {
        float v[4], w[4];
        read(k, v, w);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            squares += v[i] * v[i];
            most = fmaxf(most, fabsf(v[i] * w[i]));
        }
    }
    squares = warp_sum(squares);
    most = warp_max(most);
    if (lane == 0) {
        found[2 * warp] = squares;
        found[2 * warp + 1] = most;
    }
    __syncthreads();
    if (row >= rows) {
        return;
    }
    squares = most = 0.0f;
    for (int i = row * each; i < (row + 1) * each; i++) {
        squares += found[2 * i];
        most = fmaxf(most, found[2 * i + 1]);
    }
    float normed = norm == nullptr ? 1.0f : 1.0f / sqrtf(squares / columns + epsilon);
    fitting(most * normed, form, factor, inverse);
    if (part == 0 && lane == 0) {
        inverses[row] = inverse;
    }
    factor *= normed;
#pragma unroll 2
    for (int base = part * 32; base < 8 * groups; base += 32 * each) {
        int k = 4 * (base + lane);
        float v[4], w[4];
        read(k, v, w);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = v[i] * w[i] * factor;
        }
        put_four(form, v, to + row * stride + k, base + lane < 8 * groups, sums == nullptr ? nullptr : sums + row * groups,
                 k >> 5);
    }
}

// One row that a block keeps in registers between its two uses: four values a thread, up to KEPT times over. Weights of its norm are read before the
// kernel waits.
const int KEPT = 4;
template <int WARPS>
STRATA_INLINE bool keeps(int rows, int columns) {
    return rows == 1 && (columns & 31) == 0 && columns <= KEPT * 128 * WARPS;
}
template <int WARPS>
STRATA_INLINE void keep_norm(const float* norm, int columns, Vec4* weights) {
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        int k = 4 * (threadIdx.x + 32 * WARPS * j);
        weights[j] = Vec4{1.0f, 1.0f, 1.0f, 1.0f};
        if (norm != nullptr && k < columns) {
            weights[j] = *(const Vec4*)(norm + k);
        }
    }
}
template <int WARPS>
STRATA_INLINE void read_kept(const float* x, int columns, float (*v)[4]) {
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        int k = 4 * (threadIdx.x + 32 * WARPS * j);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[j][i] = 0.0f;
        }
        if (k < columns) {
            read_fresh_four(x + k, v[j]);
        }
    }
}
template <int WARPS>
STRATA_INLINE void keep(float (*v)[4], const Vec4* weights, bool has_norm, float epsilon, int columns, int form, u16* to, float* sums, float* inverses, float* factors) {
    float* found = sums_of_warps();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    float squares = 0.0f, most = 0.0f;
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        if (128 * WARPS * j < columns) {
            squares += v[j][0] * v[j][0] + v[j][1] * v[j][1] + v[j][2] * v[j][2] + v[j][3] * v[j][3];
            v[j][0] *= weights[j].x;
            v[j][1] *= weights[j].y;
            v[j][2] *= weights[j].z;
            v[j][3] *= weights[j].w;
            most = fmaxf(most, fmaxf(fmaxf(fabsf(v[j][0]), fabsf(v[j][1])), fmaxf(fabsf(v[j][2]), fabsf(v[j][3]))));
        }
    }
    most = float_of(warp_most(bits_of(most)));  // floats that are not negative are ordered as their bits are
    if (has_norm) {
        squares = warp_sum(squares);
    }
    if (lane == 0) {
        found[2 * warp] = squares;
        found[2 * warp + 1] = most;
    }
    __syncthreads();
    squares = most = 0.0f;
#pragma unroll
    for (int i = 0; i < WARPS / 2; i++) {
        Vec4 two = ((const Vec4*)found)[i];
        squares += two.x + two.z;
        most = fmaxf(most, fmaxf(two.y, two.w));
    }
    float normed = has_norm ? inverse_root(squares / columns + epsilon) : 1.0f, factor, inverse;
    fitting(most * normed, form, factor, inverse);
    if (threadIdx.x == 0) {
        *inverses = inverse;
        if (factors != nullptr) {
            *factors = normed;
        }
    }
    factor *= normed;
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        if (128 * (warp + WARPS * j) < columns) {
            int k = 4 * (threadIdx.x + 32 * WARPS * j);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[j][i] *= factor;
            }
            put_four(form, v[j], to + k, k < columns, sums, k >> 5);
        }
    }
}
template <int WARPS>
STRATA_INLINE void bring_kept(const float* x, const Vec4* weights, bool has_norm, float epsilon, int columns, int form, u16* to, float* sums, float* inverses, float* factors) {
    float v[KEPT][4];
    read_kept<WARPS>(x, columns, v);
    keep<WARPS>(v, weights, has_norm, epsilon, columns, form, to, sums, inverses, factors);
}

// One row of activations by `each` warps, of which this one is number `part` and keeps HELD fours of values a thread; `most_of` is theirs to tell each other the largest value. All threads
// of the block come here (`present`: whether there is a row), as it holds a barrier; the caller puts another one behind.
template <int HELD = 4>
STRATA_INLINE void bring_activations_of_warps(bool present, const float* x, int columns, int form, u16* to, float* sums, int part,
                                              int each, float* most_of, float& inverse) {
    int lane = threadIdx.x & 31, groups = (columns + 31) >> 5;
    float most = 0.0f, factor;
    bool held = (columns & 31) == 0 && columns <= 128 * HELD * each;
    float kept[HELD][4];
    if (present && held) {
#pragma unroll
        for (int j = 0; j < HELD; j++) {
            int k = 4 * (lane + 32 * (part + each * j));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                kept[j][i] = 0.0f;
            }
            if (k < columns) {
                read_fresh_four(x + k, kept[j]);
            }
        }
#pragma unroll
        for (int j = 0; j < HELD; j++) {
            most = fmaxf(most, fmaxf(fmaxf(fabsf(kept[j][0]), fabsf(kept[j][1])), fmaxf(fabsf(kept[j][2]), fabsf(kept[j][3]))));
        }
    } else if (present) {
        for (int k = 4 * (lane + 32 * part); k < columns; k += 128 * each) {
            float v[4];
            four_fresh(x, k, columns, v);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                most = fmaxf(most, fabsf(v[i]));
            }
        }
    }
    most = float_of(warp_most(bits_of(most)));
    if (lane == 0) {
        most_of[part] = most;
    }
    __syncthreads();
    for (int i = 0; i < each; i++) {
        most = fmaxf(most, most_of[i]);
    }
    fitting(most, form, factor, inverse);
    if (present && held) {
#pragma unroll
        for (int j = 0; j < HELD; j++) {
            int base = 32 * (part + each * j);
            if (4 * base < columns) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    kept[j][i] *= factor;
                }
                int k = 4 * (base + lane);
                put_four(form, kept[j], to + k, k < columns, sums, k >> 5);
            }
        }
    } else if (present) {
        for (int base = 32 * part; base < 8 * groups; base += 32 * each) {
            int k = 4 * (base + lane);
            float v[4];
            four_fresh(x, k, columns, v);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[i] *= factor;
            }
            put_four(form, v, to + k, base + lane < 8 * groups, sums, k >> 5);
        }
    }
}
