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

// The products of four groups in a row, from group 4 `four` on, of rows `low` and `high` with one row of activations: column 2 j is made for the j-th of them, so that
// a lane ends with the sums of group `quarter`, to which it applies that group's scale. Column 2 j + 1 is for the second half of a group whose halves have scales of
// their own or, with APART, for `high`'s groups: those that lie `apart` groups further on. end: behind the last group.
template <class T, bool APART>
STRATA_INLINE void multiply_four(const u8* low, const u8* high, const u16* x, const float* sums, int four, int end, int apart, float* own) {
    static_assert(T::EVEN || !APART, "two columns for every group");
    int quarter = threadIdx.x & 3, column = threadIdx.x >> 2 & 7, at = 4 * four, mine = at + (column >> 1), second = column & 1;
    static_assert(!T::SIGNS || !APART, "woven activations");
    bool reads = mine < end && (APART || second == (T::EVEN ? 0 : quarter >> 1));
    const u16* own_x = x + 32 * (APART && second ? mine + apart : mine);
    Word2 x0 = {0, 0}, x1 = {0, 0};
    if (!T::SIGNS && reads) {
        x0 = *(const Word2*)(own_x + T::first(quarter));
        x1 = *(const Word2*)(own_x + T::second(quarter));
    }
    // Sums with high and low bytes of the activations; of values with SIGNS those of the positive ones, and of the negative ones those to be taken off.
    int upper[4] = {0, 0, 0, 0}, lower[4] = {0, 0, 0, 0}, less_upper[4] = {0, 0, 0, 0}, less_lower[4] = {0, 0, 0, 0};
    auto multiply = [&](int j) {
        u32 a[4];
        bool here = column >> 1 == j;
        if constexpr (T::SIGNS) {
            u32 b[4], positive[2], negative[2];
            Word4 bytes = {0, 0, 0, 0};
            if (here && reads) {
                bytes = *(const Word4*)(own_x + 8 * quarter);
            }
            T::signs(low, four, j, quarter, positive, negative);
            a[0] = positive[0], a[2] = positive[1], b[0] = negative[0], b[2] = negative[1];
            T::signs(high, four, j, quarter, positive, negative);
            a[1] = positive[0], a[3] = positive[1], b[1] = negative[0], b[3] = negative[1];
            multiply_bytes<false, true>(upper, a, bytes.x, bytes.y);
            multiply_bytes<false, false>(lower, a, bytes.z, bytes.w);
            multiply_bytes<false, true>(less_upper, b, bytes.x, bytes.y);
            multiply_bytes<false, false>(less_lower, b, bytes.z, bytes.w);
        } else {
            Bytes<T>::of(low, at + j, quarter, a[0], a[2]);
            Bytes<T>::of(high, APART ? at + j + apart : at + j, quarter, a[1], a[3]);
            multiply_bytes<Bytes<T>::SIGNED, true>(upper, a, here ? x0.x : 0u, here ? x1.x : 0u);
            multiply_bytes<Bytes<T>::SIGNED, false>(lower, a, here ? x0.y : 0u, here ? x1.y : 0u);
        }
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
    auto sum_of = [&](int i) { return (float)(256 * (upper[i] - less_upper[i]) + (lower[i] - less_lower[i])); };
    int group = at + quarter, other = APART ? group + apart : group;
    if (group < end) {
        const int HIGH = APART ? 3 : 2;
        float of_low = sum_of(0), of_high = sum_of(HIGH);
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
            own[0] += s[0] * of_low + s[1] * sum_of(1);
            own[1] += t[0] * of_high + t[1] * sum_of(3);
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
