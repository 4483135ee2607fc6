// Products of few rows on tensor cores: how a block brings stored rows and activations to shared memory, and what a warp makes of them.
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

// A kernel of which so many blocks are to fit a multiprocessor: what hides a block's latency is the blocks beside it.
#ifdef STRATA_EMULATED
#define STRATA_RESIDENT_KERNEL(threads, blocks, name, ...) STRATA_KERNEL(threads, name, __VA_ARGS__)
#else
#define STRATA_RESIDENT_KERNEL(threads, blocks, name, ...) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
#endif

enum Mode { STORE = 0, ADD = 1, SILU = 2, TWICE_SIGMOID = 3, ADD_SCALED = 4, INJECT = 10 };

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
STRATA_INLINE void fitting(float most, bool integers, float& factor, float& inverse) {
    u32 exponent = bits_of(most) >> 23 & 255u, more = integers ? 1u : 0u;
    exponent = exponent < 16 ? 16 : exponent > 253 ? 253 : exponent;
    factor = float_of((267u + more - exponent) << 23);
    inverse = float_of((exponent - 13u - more) << 23);
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

// Whether products with a type are made of bytes.
template <class T>
struct Exact {
    static const bool value = T::EVEN && T::BYTES;
};
// The same of one row of activations: then halves of a group may have scales of their own.
template <class T>
struct OneExact {
    static const bool value = T::BYTES;
};
STRATA_INLINE bool exact(int type) {
#define STRATA_EXACT(name, T) | (Exact<T>::value ? 1u << CODE_##name : 0u)
    const u32 all = 0u EACH_STORED_TYPE(STRATA_EXACT);
#undef STRATA_EXACT
    return (all >> type & 1u) != 0;
}

// Four values of at most 32767 as integers: their high bytes, then their low bytes, to to[0..3], and (with sums) the sum of what they became over groups of 32 columns.
STRATA_INLINE void split_four(const float* v, u16* to, bool inside, float* sums, int group) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: what is added to it lies rounded in its lowest bits
    float shifted[4], sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        shifted[i] = fminf(v[i], 32767.0f) + magic;
        sum += shifted[i] - magic;
    }
    u32 low = permute_bytes(bits_of(shifted[0]), bits_of(shifted[1]), 0x5140u);
    u32 high = permute_bytes(bits_of(shifted[2]), bits_of(shifted[3]), 0x5140u);
    // Bytes of low: low 0, low 1, high 0, high 1.
    if (inside) {
        *(Word2*)to = Word2{permute_bytes(low, high, 0x7632u), permute_bytes(low, high, 0x5410u)};
    }
    if (sums != nullptr) {
#pragma unroll
        for (int distance = 4; distance > 0; distance >>= 1) {
            sum += exchange_xor(sum, distance);
        }
        if (inside && (threadIdx.x & 7) == 0) {
            sums[group] = sum;
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

// Four values in the form that products with a type want.
STRATA_INLINE void put_four(bool integers, const float* v, u16* to, bool inside, float* sums, int group) {
    if (integers) {
        split_four(v, to, inside, sums, group);
    } else {
        round_four(v, to, inside, sums, group);
    }
}

// Room for the sum of squares and the largest value of each of up to 16 warps. (Variables of templates cannot be told to lie beside others, which the emulator asks for.)
STRATA_INLINE float* sums_of_warps() {
    __shared__ Vec4 sums[8];
    return (float*)sums;
}

// Rows of activations, normed when there are weights for it, in one of the two forms, [rows][stride]; `inverses` gets what undoes their scaling, `sums`
// [rows][groups] the sums of every group when they are there. All threads of `WARPS` warps; the caller puts a barrier behind.
template <int WARPS = 8>
STRATA_INLINE void bring_activations(const float* x, const float* norm, float epsilon, int rows, int columns, bool integers, u16* to,
                                     int stride, float* sums, float* inverses) {
    float* found = sums_of_warps();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int each = rows == 1 ? WARPS : rows == 2 ? WARPS / 2 : rows <= 4 ? WARPS / 4 : WARPS / 8;  // warps a row
    int row = warp / each, part = warp % each, groups = (columns + 31) >> 5;
    const float* own = x + (long long)(row < rows ? row : 0) * columns;
    float squares = 0.0f, most = 0.0f, factor, inverse;
#pragma unroll 4
    for (int k = 4 * (part * 32 + lane); k < columns; k += 128 * each) {
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
    fitting(most * normed, integers, factor, inverse);
    if (part == 0 && lane == 0) {
        inverses[row] = inverse;
    }
    factor *= normed;
#pragma unroll 2
    for (int base = part * 32; base < 8 * groups; base += 32 * each) {
        int k = 4 * (base + lane);
        float v[4], w[4] = {1.0f, 1.0f, 1.0f, 1.0f};
        four_fresh(own, k, columns, v);
        if (norm != nullptr) {
            four_of(norm, k, columns, w);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = v[i] * w[i] * factor;
        }
        put_four(integers, v, to + row * stride + k, base + lane < 8 * groups, sums == nullptr ? nullptr : sums + row * groups,
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
STRATA_INLINE void bring_kept(const float* x, const Vec4* weights, bool has_norm, float epsilon, int columns, bool integers, u16* to,
                              float* sums, float* inverses, float* factors) {
    float* found = sums_of_warps();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    float v[KEPT][4], squares = 0.0f, most = 0.0f;
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
    fitting(most * normed, integers, factor, inverse);
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
            put_four(integers, v[j], to + k, k < columns, sums, k >> 5);
        }
    }
}

// One row of activations by `each` warps, of which this one is number `part`; `most_of` is theirs to tell each other the largest value. All threads
// of the block come here (`present`: whether there is a row), as it holds a barrier; the caller puts another one behind.
STRATA_INLINE void bring_activations_of_warps(bool present, const float* x, int columns, bool integers, u16* to, float* sums, int part,
                                              int each, float* most_of, float& inverse) {
    int lane = threadIdx.x & 31, groups = (columns + 31) >> 5;
    float most = 0.0f, factor;
    const int HELD = 4;
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
    fitting(most, integers, factor, inverse);
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
                put_four(integers, kept[j], to + k, k < columns, sums, k >> 5);
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
            put_four(integers, v, to + k, base + lane < 8 * groups, sums, k >> 5);
        }
    }
}

// Eight weights as four pairs of float16 (0 and 2, 1 and 3 of four): plain values where a group shares a scale, otherwise scaled ones.
template <class T>
STRATA_INLINE Scale pairs_of(const u8* row, int group, int quarter, int columns, u32* pairs) {
    static_assert(!T::OFFSET, "weights with an offset are multiplied as bytes");
    Scale s;
    if constexpr (T::BYTES) {
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

// Sixteen plain values of a group's quarter as the left operand of a product of bytes: rows `low` and `high`.
template <class T>
struct Bytes {
    // Whether they are signed, and by what they are too large.
    static const bool SIGNED = T::BIAS != 0;
    static const int TIMES = T::NIBBLES && T::BIAS == 8 ? 16 : 1;
    STRATA_INLINE_MEMBER Scale of(const u8* row, int group, int quarter, u32& first, u32& second) {
        if constexpr (T::NIBBLES && T::BIAS == 8) {
            u32 word;
            Scale s = T::nibbles(row, group, quarter, word);
            first = (word << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
            second = (word & 0xf0f0f0f0u) ^ 0x80808080u;
            return s;
        } else {
            static_assert(T::BIAS == 128 || T::BIAS == 32 || T::BIAS == 16 || T::BIAS == 0, "bytes around another middle");
            Scale s = T::bytes(row, group, quarter, first, second);
            if constexpr (SIGNED && T::BIAS < 128) {  // bytes below 2 * BIAS: no carries
                first += 0x01010101u * (128 - T::BIAS);
                second += 0x01010101u * (128 - T::BIAS);
            }
            if constexpr (SIGNED) {
                first ^= 0x80808080u;
                second ^= 0x80808080u;
            }
            return s;
        }
    }
};

// The products of four groups in a row, from group 4 `four` on, of rows `low` and `high` with one row of activations: column 2 j is made for the j-th of them, so that
// a lane ends with the sums of group `quarter`, to which it applies that group's scale. Column 2 j + 1 is for the second half of a group whose halves have scales of
// their own or, with APART, for `high`'s groups: those that lie `apart` groups further on. end: behind the last group.
template <class T, bool APART>
STRATA_INLINE void multiply_four(const u8* low, const u8* high, const u16* x, const float* sums, int four, int end, int apart, float* own) {
    static_assert(T::EVEN || !APART, "two columns for every group");
    int quarter = threadIdx.x & 3, column = threadIdx.x >> 2 & 7, at = 4 * four, mine = at + (column >> 1), second = column & 1;
    Word2 x0 = {0, 0}, x1 = {0, 0};
    if (mine < end && (APART || second == (T::EVEN ? 0 : quarter >> 1))) {
        const u16* own_x = x + 32 * (APART && second ? mine + apart : mine);
        x0 = *(const Word2*)(own_x + T::first(quarter));
        x1 = *(const Word2*)(own_x + T::second(quarter));
    }
    int upper[4] = {0, 0, 0, 0}, lower[4] = {0, 0, 0, 0};
    auto multiply = [&](int j) {
        u32 a[4];
        bool here = column >> 1 == j;
        Bytes<T>::of(low, at + j, quarter, a[0], a[2]);
        Bytes<T>::of(high, APART ? at + j + apart : at + j, quarter, a[1], a[3]);
        multiply_bytes<Bytes<T>::SIGNED, true>(upper, a, here ? x0.x : 0u, here ? x1.x : 0u);
        multiply_bytes<Bytes<T>::SIGNED, false>(lower, a, here ? x0.y : 0u, here ? x1.y : 0u);
    };
    if (at + 4 <= end) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            multiply(j);
        }
    } else {
#pragma unroll 1
        for (int j = 0; at + j < end; j++) {
            multiply(j);
        }
    }
    int group = at + quarter, other = APART ? group + apart : group;
    if (group < end) {
        const int HIGH = APART ? 3 : 2;
        float of_low = (float)(256 * upper[0] + lower[0]), of_high = (float)(256 * upper[HIGH] + lower[HIGH]);
        if constexpr (T::EVEN) {
            u32 unused;
            Scale s = Bytes<T>::of(low, group, quarter, unused, unused), t = Bytes<T>::of(high, other, quarter, unused, unused);
            own[0] += s.scale * of_low;
            own[1] += t.scale * of_high;
            if constexpr (T::OFFSET) {
                own[0] += s.offset * sums[group];
                own[1] += t.offset * sums[other];
            }
        } else {
            float s[2], t[2];
            T::halves(low, group, s);
            T::halves(high, group, t);
            own[0] += s[0] * of_low + s[1] * (float)(256 * upper[1] + lower[1]);
            own[1] += t[0] * of_high + t[1] * (float)(256 * upper[3] + lower[3]);
        }
    }
}

// The sums of a group's columns lie with four lanes.
template <class T>
STRATA_INLINE float gathered(float own) {
    own += exchange_xor(own, 1);
    own += exchange_xor(own, 2);
    return own * (1.0f / Bytes<T>::TIMES);
}

// sums[0, 1] += 32 elements a group of row `low` . columns 2q and 2q + 1, sums[2, 3] of row `high`. Groups (or, where four are taken at once, fours of them) first,
// first + step, ... of those brought, which begin with group `before` of the activations. ONE: only sums of column 0 (of quarter 0) are made. EXACT: whether products are made of bytes.
template <class T, bool ONE, bool EXACT = Exact<T>::value>
STRATA_INLINE void multiply_groups(const u8* low, const u8* high, int groups, int columns, Columns c, int before, int first,
                                   int step, float* sums) {
    int quarter = threadIdx.x & 3;
    if constexpr (EXACT && ONE && T::HEAVY) {
        float own[2] = {0.0f, 0.0f};
#pragma unroll 1
        for (int four = first; 4 * four < groups; four += step) {
            multiply_four<T, false>(low, high, c.x + 32 * before, T::OFFSET ? c.sums0 + before : nullptr, four, groups, 0, own);
        }
        sums[0] += gathered<T>(own[0]);
        sums[2] += gathered<T>(own[1]);
    } else if constexpr (EXACT) {
        static_assert(T::EVEN, "a column for every half");
        float own[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
        for (int g = first; g < groups; g += step) {
            u32 a[4];
            Scale s = Bytes<T>::of(low, g, quarter, a[0], a[2]);
            Scale t = Bytes<T>::of(high, g, quarter, a[1], a[3]);
            const u16* x = c.x + 32 * (before + g);
            Word2 x0 = *(const Word2*)(x + T::first(quarter));
            Word2 x1 = *(const Word2*)(x + T::second(quarter));
            int upper[4] = {0, 0, 0, 0}, lower[4] = {0, 0, 0, 0};
            multiply_bytes<Bytes<T>::SIGNED, true>(upper, a, x0.x, x1.x);
            multiply_bytes<Bytes<T>::SIGNED, false>(lower, a, x0.y, x1.y);
            own[0] += s.scale * (float)(256 * upper[0] + lower[0]);
            own[2] += t.scale * (float)(256 * upper[2] + lower[2]);
            if (!ONE) {
                own[1] += s.scale * (float)(256 * upper[1] + lower[1]);
                own[3] += t.scale * (float)(256 * upper[3] + lower[3]);
            }
            if constexpr (T::OFFSET) {
                float sum0 = c.sums0[before + g], sum1 = c.sums1[before + g];
                own[0] += s.offset * sum0;
                own[1] += s.offset * sum1;
                own[2] += t.offset * sum0;
                own[3] += t.offset * sum1;
            }
        }
        const float undone = 1.0f / Bytes<T>::TIMES;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sums[i] += own[i] * undone;
        }
    } else {
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
        }
    }
}

// The same for a type known at run time. Warp-uniform.
template <bool ONE>
STRATA_INLINE void multiply_stored(int type, const u8* low, const u8* high, int groups, int columns, Columns c, int before,
                                   int first, int step, float* sums) {
    switch (type) {
#define STRATA_MULTIPLY(name, T) \
    case CODE_##name: multiply_groups<T, ONE>(low, high, groups, columns, c, before, first, step, sums); break;
        EACH_STORED_TYPE(STRATA_MULTIPLY)
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
    int outputs, first_tile, type, mode;
    float scale;
    int piece_bytes, piece_columns, slot;
};
struct Matrices {
    Matrix of[6];
};

// Which of `count` matrices a tile of all their outputs belongs to.
template <class M>
STRATA_INLINE const M& matrix_of(const M* of, int count, int tile) {
    int which = 0;
#pragma unroll 1
    while (which + 1 < count && tile >= of[which + 1].first_tile) {
        which++;
    }
    return of[which];
}

// Products of several matrices with the same rows, normed on the way when there are weights for it.
struct ProductsInputs {
    Matrices list;
    int count;
    const float* x;
    const float* norm;
    float epsilon;
    int rows, columns, stride, sums_at, tile_at;
    const float* factors;
    int streams, unused;
};

// What becomes of one output. `before`: what was there, where something is added to it.
template <class M>
STRATA_INLINE void finish_product(const M& m, float* target, float before, float value, const float* factors, int streams,
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

// Two sums over a block of eight warps; every thread gets them.
STRATA_INLINE void sum_two(float& a, float& b, float (*partial)[2]) {
    a = warp_sum(a);
    b = warp_sum(b);
    if ((threadIdx.x & 31) == 0) {
        partial[threadIdx.x >> 5][0] = a;
        partial[threadIdx.x >> 5][1] = b;
    }
    __syncthreads();
    a = b = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        a += partial[i][0];
        b += partial[i][1];
    }
}

// The best `used` (at most 32) of up to 32 N logits by one warp, one after the other, the lower index first among equals: softmax over all, or over
// those that are chosen. The code is kept short: it runs once, and then fetching it takes longer than doing it.
template <int N>
STRATA_INLINE void choose(const float* logits, int experts, int used, int renormalise, float scale, int* ids, float* weights) {
    int lane = threadIdx.x & 31;
    float logit[N];
    u32 key[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        // Lane l has experts N l to N l + N - 1.
        logit[i] = N * lane + i < experts ? read_fresh(logits + N * lane + i) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        // Ordered as the logits are; zero is nobody's.
        u32 bits = bits_of(logit[i] + 0.0f);
        key[i] = N * lane + i >= experts ? 0 : bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
    }
    u32 kept = 0, first = 0;
    int kept_id = 0;
#pragma unroll 1
    for (int j = 0; j < used; j++) {
        u32 mine = key[0];
        int at = 0;
#pragma unroll
        for (int i = 1; i < N; i++) {
            at = key[i] > mine ? i : at;
            mine = max(mine, key[i]);
        }
        u32 top = warp_most(mine);
        first = j == 0 ? top : first;
        int winner = lowest_bit(votes(mine == top));
        int id = broadcast(N * lane + at, winner);
        kept = lane == j ? top : kept;
        kept_id = lane == j ? id : kept_id;
#pragma unroll
        for (int i = 0; i < N; i++) {
            key[i] = N * lane + i == id ? 0 : key[i];
        }
    }
    auto logit_of = [](u32 k) { return float_of(k >> 31 != 0 ? k & 0x7fffffffu : ~k); };
    float best = logit_of(first), score = lane < used ? power_of_two((logit_of(kept) - best) * 1.4426950408889634f) : 0.0f, sum = score;
    if (!renormalise) {
        sum = 0.0f;
#pragma unroll
        for (int i = 0; i < N; i++) {
            sum += N * lane + i < experts ? power_of_two((logit[i] - best) * 1.4426950408889634f) : 0.0f;
        }
    }
    sum = warp_sum(sum);
    if (lane < used) {
        ids[lane] = kept_id;
        weights[lane] = score * (scale / sum);
    }
}

// Eight weights of a stored row, those of quarter `item` & 3 of group `item` >> 2: the four from column first on, the four from column second on.
struct Eight {
    float of[8];
    int first, second;
};
template <class T>
STRATA_INLINE void read_eight(const u8* row, int item, int columns, Eight& w) {
    int group = item >> 2, quarter = item & 3;
    float v[8];
    Scale s = T::read(row, group, quarter, columns, v);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        w.of[i] = s.scale * v[i] + s.offset;
    }
    w.first = 32 * group + T::first(quarter);
    w.second = 32 * group + T::second(quarter);
}
// The same by the row's type. Warp-uniform.
STRATA_INLINE void read_eight_of(int type, const u8* row, int item, int columns, Eight& w) {
    switch (type) {
#define STRATA_EIGHT(name, T) \
    case CODE_##name: read_eight<T>(row, item, columns, w); break;
        EACH_STORED_TYPE(STRATA_EIGHT)
    }
}

// By one warp.
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

// Experts whose entries of the table a block of gate and up products keeps.
const int TABLE_KEPT = 512;

// How strongly the shared expert counts for a row, by a block of 256 threads.
STRATA_INLINE void shared_factor(const GateUpInputs& given, const float* x, int row, float* of_gate) {
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = t; given.scalar_gate != nullptr && k < given.columns; k += 256) {
        sum += given.scalar_gate[k] * read_fresh(x + k);
    }
    sum = warp_sum(sum);
    if ((t & 31) == 0) {
        of_gate[t >> 5] = sum;
    }
    __syncthreads();
    if (t == 0) {
        sum = 0.0f;
        for (int w = 0; w < 8; w++) {
            sum += of_gate[w];
        }
        given.factors[row] = given.scalar_gate == nullptr ? 1.0f : sigmoid(sum);
    }
}

// A matrix of a blob, or (offset: its address) of the shared expert.
struct Down {
    u64 offset, tail, row_bytes;
    float scale;
    int type, slot, columns;
};

// `shares`: whether there is a shared expert. each: warps of an expert. early: ids and weights were made before the kernel that makes the values began.
// expert_bytes: shared memory of a routed expert, its stored rows first, then from x_at on its activations and from sums_at on their sums (0: none); the shared
// expert's lies behind them and has its own offsets.
struct DownInputs {
    const u64* table;
    const int* ids;
    const float* weights;
    int used, shares, each, early;
    Down routed, common;
    const float* h;
    const float* common_h;
    const float* factors;
    int outputs, mode;
    const float* strengths;
    int streams, expert_bytes, x_at, sums_at, common_x_at, common_sums_at;
    float* out;
};
