// Products of one row with stored rows by dot products of bytes: a lane has a whole group of a stored row, the lanes beside it the same group of other rows. A tensor
// core's product has eight columns, of which one row of activations fills one, and its results come late and spread over lanes (docs/kernels.md).
#pragma once

#include "multiply.cuh"

#ifdef STRATA_EMULATED
STRATA_INLINE int dot_of(u32 a, bool a_signed, u32 b, bool b_signed, int sum) {
    for (int i = 0; i < 32; i += 8) {
        sum += (a_signed ? (int)(i8)(a >> i) : (int)(u8)(a >> i)) * (b_signed ? (int)(i8)(b >> i) : (int)(u8)(b >> i));
    }
    return sum;
}
template <bool A_SIGNED, bool B_SIGNED>
STRATA_INLINE int dot_of(u32 a, u32 b, int sum) { return dot_of(a, A_SIGNED, b, B_SIGNED, sum); }
#else
// sum + a[0] b[0] + ... + a[3] b[3], bytes with or without signs.
template <bool A_SIGNED, bool B_SIGNED>
STRATA_INLINE int dot_of(u32 a, u32 b, int sum) {
    if (A_SIGNED) {
        if (B_SIGNED) {
            asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
        } else {
            asm("dp4a.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
        }
    } else if (B_SIGNED) {
        asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    } else {
        asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    }
    return sum;
}
#endif

// COUNT words from an address that is a multiple of 2 on, by reads of whole words, of which none lies behind them.
template <int COUNT>
STRATA_INLINE void words_of_halves(const u8* p, u32* words) {
    bool between = ((u64)p & 2) != 0;
    u32 order = between ? 0x5432u : 0x3210u;
    const u32* from = (const u32*)(p - (between ? 2 : 0));
    u32 before = from[0];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        u32 next = i + 1 < COUNT || between ? from[i + 1] : 0;
        words[i] = permute_bytes(before, next, order);
        before = next;
    }
}

// All of a group as bytes for products: those of the quarters' first and second four.
template <class T>
struct WholeGroup {
    STRATA_INLINE_MEMBER Scale of(const u8* row, int group, u32* first, u32* second) {
        Scale s = {0.0f, 0.0f};
#pragma unroll
        for (int q = 0; q < 4; q++) {
            s = Bytes<T>::of(row, group, q, first[q], second[q]);
        }
        return s;
    }
};
template <>
struct WholeGroup<TypeQ8_0> {
    STRATA_INLINE_MEMBER Scale of(const u8* row, int group, u32* first, u32* second) {
        const u8* b = row + 34 * group;
        u32 words[8];
        words_of_halves<8>(b + 2, words);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            first[q] = words[2 * q];
            second[q] = words[2 * q + 1];
        }
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
};
template <>
struct WholeGroup<TypeQ4_0> {
    STRATA_INLINE_MEMBER Scale of(const u8* row, int group, u32* first, u32* second) {
        const u8* b = row + 18 * group;
        u32 words[4];
        words_of_halves<4>(b + 2, words);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            first[q] = (words[q] << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
            second[q] = (words[q] & 0xf0f0f0f0u) ^ 0x80808080u;
        }
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
};

// One group of a stored row . the same of a row of activations (integers; woven for types with SIGNS), Bytes<T>::TIMES too large. sums: of the groups' activations,
// for types with an offset.
template <class T>
STRATA_INLINE float dot_group(const u8* row, int group, const u16* x, const float* sums) {
    const u16* own = x + 32 * group;
    // Sums with high and low bytes of the activations, of the halves of a group where those have scales of their own.
    int upper[2] = {0, 0}, lower[2] = {0, 0};
    if constexpr (T::SIGNS) {
        int less_upper[2] = {0, 0}, less_lower[2] = {0, 0};
#pragma unroll
        for (int q = 0; q < 4; q++) {
            u32 positive[2], negative[2];
            T::signs(row, group, q, positive, negative);
            Word4 bytes = *(const Word4*)(own + 8 * q);
            int h = q >> 1;
            upper[h] = dot_of<false, true>(positive[1], bytes.y, dot_of<false, true>(positive[0], bytes.x, upper[h]));
            lower[h] = dot_of<false, false>(positive[1], bytes.w, dot_of<false, false>(positive[0], bytes.z, lower[h]));
            less_upper[h] = dot_of<false, true>(negative[1], bytes.y, dot_of<false, true>(negative[0], bytes.x, less_upper[h]));
            less_lower[h] = dot_of<false, false>(negative[1], bytes.w, dot_of<false, false>(negative[0], bytes.z, less_lower[h]));
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            upper[h] -= less_upper[h];
            lower[h] -= less_lower[h];
        }
    } else {
        const bool SIGNED = Bytes<T>::SIGNED;
        u32 first[4], second[4];
        Scale s = WholeGroup<T>::of(row, group, first, second);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            Word4 bytes;
            if (T::second(q) == T::first(q) + 4) {
                bytes = *(const Word4*)(own + T::first(q));
            } else {
                Word2 a = *(const Word2*)(own + T::first(q)), b = *(const Word2*)(own + T::second(q));
                bytes = Word4{a.x, a.y, b.x, b.y};
            }
            int h = T::EVEN ? 0 : q >> 1;
            upper[h] = dot_of<SIGNED, true>(second[q], bytes.z, dot_of<SIGNED, true>(first[q], bytes.x, upper[h]));
            lower[h] = dot_of<SIGNED, false>(second[q], bytes.w, dot_of<SIGNED, false>(first[q], bytes.y, lower[h]));
        }
        if constexpr (T::EVEN) {
            float value = s.scale * (float)(256 * upper[0] + lower[0]);
            if constexpr (T::OFFSET) {
                value += s.offset * sums[group];
            }
            return value;
        }
    }
    if constexpr (!T::EVEN) {
        float scales[2];
        T::halves(row, group, scales);
        return scales[0] * (float)(256 * upper[0] + lower[0]) + scales[1] * (float)(256 * upper[1] + lower[1]);
    }
}

// A warp's part of the sums of ROWS stored rows (8 or 16), of which `row` is the one that this lane has (number lane % ROWS): groups part * (32 / ROWS) on, then those
// `parts` times as far on, a group `factors` times when they are there. Every lane gets its row's.
template <class T, int ROWS>
STRATA_INLINE float dot_rows(const u8* row, int groups, const u16* x, const float* sums, const float* factors, int part, int parts) {
    const int AT_ONCE = 32 / ROWS;
    float value = 0.0f;
#pragma unroll 1
    for (int g = AT_ONCE * part + (threadIdx.x & 31) / ROWS; g < groups; g += AT_ONCE * parts) {
        float of = dot_group<T>(row, g, x, sums);
        value += factors == nullptr ? of : factors[g] * of;
    }
    warp_barrier();  // lanes may have had different numbers of groups
#pragma unroll
    for (int distance = ROWS; distance < 32; distance <<= 1) {
        value += exchange_xor(value, distance);
    }
    return value * (1.0f / Bytes<T>::TIMES);
}
