// Products of few rows on tensor cores: what a warp makes of the stored rows and activations that lie in shared memory (activations.cuh says how).
#pragma once

#include "activations.cuh"

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

// sums[0, 1] += 32 elements a group of row `low` . columns 2q and 2q + 1, sums[2, 3] of row `high`. Groups first,
// first + step, ... of those brought, which begin with group `before` of the activations. ONE: only sums of column 0 (of quarter 0) are made.
template <class T, bool ONE>
STRATA_INLINE void multiply_groups(const u8* low, const u8* high, int groups, int columns, Columns c, int before, int first,
                                   int step, float* sums) {
    int quarter = threadIdx.x & 3;
    if constexpr (Exact<T>::value) {
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
