// Quantized types: how eight weights are read from a row.
//
// A row is cut into groups of 32 elements and a group into four quarters of eight; a warp reads eight groups of a row at once, so
// that neighbouring lanes read neighbouring bytes. Which eight elements form quarter q depends on the type: the four from first(q) on
// and the four from second(q) on. `read` yields eight plain values and a scale (and for some types an offset):
// weight = scale * value + offset. Block layouts are those of GGUF; all eight elements of a quarter share scale and offset.
// Types whose plain values fit a byte give them as such by `bytes`: value = byte - BIAS, first(q).. in `low`, second(q).. in `high`. Those of them whose
// quarters do not share one scale have one for quarters 0 and 1 and one for quarters 2 and 3: `halves`.
// Addresses are multiples of 2 (MXFP4: 1; NVFP4, Q4_1, Q5_1 and the K types with 4-byte fields: 4).
#pragma once

#include "strata.cuh"
#include "grids.cuh"

struct Scale {
    float scale, offset;
};

// Four bytes at an address that is a multiple of 2.
STRATA_INLINE u32 read_u32_of_halves(const u8* p) { return read_u16(p) | read_u16(p + 2) << 16; }
STRATA_INLINE u32 read_u32_of_bytes(const u8* p) {
    return read_u8(p) | read_u8(p + 1) << 8 | read_u8(p + 2) << 16 | read_u8(p + 3) << 24;
}

// 2^23 + n as a float has n in its lowest bits: a conversion by one `or` and one subtraction.
STRATA_INLINE float small_integer(u32 n, float bias) { return float_of(0x4b000000u | n) - (8388608.0f + bias); }

STRATA_INLINE void from_bytes(u32 low, u32 high, float bias, float* v) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = small_integer(low >> (8 * i) & 255u, bias);
        v[4 + i] = small_integer(high >> (8 * i) & 255u, bias);
    }
}

// Looks the eight nibbles of q up in a table of 16 bytes; low nibbles to `low`, high ones to `high`.
STRATA_INLINE void looked_up(u32 q, u32 t0, u32 t1, u32 t2, u32 t3, u32& low, u32& high) {
    u32 index = q & 0x77777777u;
    u32 pick = 0x32103210u | ((q & 0x88888888u) >> 1);
    u32 first = permute_bytes(permute_bytes(t0, t1, index), permute_bytes(t2, t3, index), pick);
    u32 second = permute_bytes(permute_bytes(t0, t1, index >> 16), permute_bytes(t2, t3, index >> 16), pick >> 16);
    low = permute_bytes(first, second, 0x6420u);
    high = permute_bytes(first, second, 0x7531u);
}

// Tables are of signed bytes, as products of bytes want them; what adds 128 goes away where it is taken off again.
STRATA_INLINE void plus_128(u32& low, u32& high) {
    low ^= 0x80808080u;
    high ^= 0x80808080u;
}

// -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113, each plus 128.
STRATA_INLINE void iq4_values(u32 q, u32& low, u32& high) {
    looked_up(q, 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u, low, high);
    plus_128(low, high);
}

// Twice the E2M1 values: 0, 1, 2, 3, 4, 6, 8, 12 and the same negated, each plus 128.
STRATA_INLINE void e2m1_values(u32 q, u32& low, u32& high) {
    looked_up(q, 0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu, low, high);
    plus_128(low, high);
}

// The same values without their signs where they are positive and, in the second pair, where they are negative, otherwise zeros: a nibble's highest bit asks
// a permutation for the sign of the byte that the others choose. The nibbles of the word's first two bytes are in `first`, low before high.
STRATA_INLINE void e2m1_signs(u32 q, u32* positive, u32* negative) {
    u32 inverted = q ^ 0x88888888u;
    positive[0] = permute_bytes(0x03020100u, 0x0c080604u, q);
    positive[1] = permute_bytes(0x03020100u, 0x0c080604u, q >> 16);
    negative[0] = permute_bytes(0x03020100u, 0x0c080604u, inverted);
    negative[1] = permute_bytes(0x03020100u, 0x0c080604u, inverted >> 16);
}

// The higher bytes of twice the values as float16, whose lower bytes are zeros.
STRATA_INLINE void e2m1_halves(u32 q, u32& low, u32& high) {
    looked_up(q, 0x42403c00u, 0x4a484644u, 0xc2c0bc80u, 0xcac8c6c4u, low, high);
}

// Eight bytes of a codebook with their signs (bit i of `signs`: element i is negative).
STRATA_INLINE void signed_bytes(u32 low, u32 high, u32 signs, float* v) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = float_of(bits_of(small_integer(low >> (8 * i) & 255u, 0.0f)) | (signs << (31 - i) & 0x80000000u));
        v[4 + i] = float_of(bits_of(small_integer(high >> (8 * i) & 255u, 0.0f)) | (signs << (27 - i) & 0x80000000u));
    }
}

// Seven sign bits and their parity.
STRATA_INLINE u32 with_parity(u32 bits) { return bits | (u32)(population(bits) & 1) << 7; }

STRATA_INLINE void split_halves(u32 word, float* v) {
    v[0] = from_half((u16)word);
    v[1] = from_half((u16)(word >> 16));
}
STRATA_INLINE void split_bf16(u32 word, float* v) {
    v[0] = float_of(word << 16);
    v[1] = float_of(word & 0xffff0000u);
}

// SIGNS: whether `signs` gives the bytes of positive and of negative values apart, woven. BYTES: whether `bytes` is there; NIBBLES: whether `nibbles` gives the bytes as low and high halves of a word; EVEN: whether all quarters of a group share one scale.
// Elements in file order: quarter q holds 8q .. 8q + 7.
struct InOrder {
    STRATA_INLINE_MEMBER int first(int quarter) { return 8 * quarter; }
    STRATA_INLINE_MEMBER int second(int quarter) { return 8 * quarter + 4; }
};
// Low nibbles are the first half of a group, high nibbles the second.
struct InHalves {
    STRATA_INLINE_MEMBER int first(int quarter) { return 4 * quarter; }
    STRATA_INLINE_MEMBER int second(int quarter) { return 16 + 4 * quarter; }
};

// Reads plain values by way of bytes.
template <class T>
struct FromBytes {
    static const bool BYTES = true, NIBBLES = false, SIGNS = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int, float* v) {
        u32 low, high;
        Scale s = T::bytes(row, group, quarter, low, high);
        from_bytes(low, high, (float)T::BIAS, v);
        return s;
    }
};

// Unquantized types have no blocks: a row may end inside a group.
struct TypeF32 : InOrder {
    static const bool PLAIN = true, BYTES = false, NIBBLES = false, EVEN = false, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int columns, float* v) {
        int k = 32 * group + 8 * quarter;
        const float* p = (const float*)row + k;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            v[i] = k + i < columns ? p[i] : 0.0f;
        }
        return Scale{1.0f, 0.0f};
    }
};

struct TypeF16 : InOrder {
    static const bool PLAIN = true, BYTES = false, NIBBLES = false, EVEN = false, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int columns, float* v) {
        int k = 32 * group + 8 * quarter;
        const u8* p = row + 2 * (long long)k;
        if (k + 8 <= columns && ((u64)p & 15) == 0) {
            Word4 w = read_16(p);
            split_halves(w.x, v);
            split_halves(w.y, v + 2);
            split_halves(w.z, v + 4);
            split_halves(w.w, v + 6);
        } else {
            for (int i = 0; i < 8; i++) {
                v[i] = k + i < columns ? from_half((u16)read_u16(p + 2 * i)) : 0.0f;
            }
        }
        return Scale{1.0f, 0.0f};
    }
};

struct TypeBf16 : InOrder {
    static const bool PLAIN = true, BYTES = false, NIBBLES = false, EVEN = false, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int columns, float* v) {
        int k = 32 * group + 8 * quarter;
        const u8* p = row + 2 * (long long)k;
        if (k + 8 <= columns && ((u64)p & 15) == 0) {
            Word4 w = read_16(p);
            split_bf16(w.x, v);
            split_bf16(w.y, v + 2);
            split_bf16(w.z, v + 4);
            split_bf16(w.w, v + 6);
        } else {
            for (int i = 0; i < 8; i++) {
                v[i] = k + i < columns ? from_bf16(read_u16(p + 2 * i)) : 0.0f;
            }
        }
        return Scale{1.0f, 0.0f};
    }
};

// 32 elements in 34 bytes: f16 d; i8 q[32].
struct TypeQ8_0 : InOrder, FromBytes<TypeQ8_0> {
    static const bool PLAIN = false, EVEN = true, OFFSET = false;
    static const int BIAS = 128;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)34 * group;
        low = read_u32_of_halves(b + 2 + 8 * quarter) ^ 0x80808080u;
        high = read_u32_of_halves(b + 6 + 8 * quarter) ^ 0x80808080u;
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
};

// 32 elements in 18 bytes: f16 d; q[16].
struct TypeQ4_0 : InHalves, FromBytes<TypeQ4_0> {
    static const bool PLAIN = false, NIBBLES = true, EVEN = true, OFFSET = false;
    static const int BIAS = 8;
    STRATA_INLINE_MEMBER Scale nibbles(const u8* row, int group, int quarter, u32& word) {
        const u8* b = row + (long long)18 * group;
        word = read_u32_of_halves(b + 2 + 4 * quarter);
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        u32 q;
        Scale s = nibbles(row, group, quarter, q);
        low = q & 0x0f0f0f0fu;
        high = q >> 4 & 0x0f0f0f0fu;
        return s;
    }
};

// 32 elements in 20 bytes: f16 d, m; q[16].
struct TypeQ4_1 : InHalves, FromBytes<TypeQ4_1> {
    static const bool PLAIN = false, EVEN = true, OFFSET = true;
    static const int BIAS = 0;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)20 * group;
        u32 q = read_u32(b + 4 + 4 * quarter), both = read_u32(b);
        low = q & 0x0f0f0f0fu;
        high = q >> 4 & 0x0f0f0f0fu;
        return Scale{from_half((u16)both), from_half((u16)(both >> 16))};
    }
};

// The lowest four bits, each as the fifth bit of a byte.
STRATA_INLINE u32 fifth_bits(u32 bits) { return ((bits & 15u) * 0x00204081u & 0x01010101u) << 4; }

// 32 elements in 22 bytes: f16 d; u32 h (the fifth bits, in the order of the elements); q[16].
struct TypeQ5_0 : InHalves, FromBytes<TypeQ5_0> {
    static const bool PLAIN = false, EVEN = true, OFFSET = false;
    static const int BIAS = 16;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)22 * group;
        u32 q = read_u32_of_halves(b + 6 + 4 * quarter), h = read_u32_of_halves(b + 2) >> (4 * quarter);
        low = (q & 0x0f0f0f0fu) | fifth_bits(h);
        high = (q >> 4 & 0x0f0f0f0fu) | fifth_bits(h >> 16);
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
};

// 32 elements in 24 bytes: f16 d, m; u32 h; q[16].
struct TypeQ5_1 : InHalves, FromBytes<TypeQ5_1> {
    static const bool PLAIN = false, EVEN = true, OFFSET = true;
    static const int BIAS = 0;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)24 * group;
        u32 q = read_u32(b + 8 + 4 * quarter), h = read_u32(b + 4) >> (4 * quarter), both = read_u32(b);
        low = (q & 0x0f0f0f0fu) | fifth_bits(h);
        high = (q >> 4 & 0x0f0f0f0fu) | fifth_bits(h >> 16);
        return Scale{from_half((u16)both), from_half((u16)(both >> 16))};
    }
};

struct TypeIq4Nl : InHalves, FromBytes<TypeIq4Nl> {
    static const bool PLAIN = false, EVEN = true, OFFSET = false;
    static const int BIAS = 128;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)18 * group;
        iq4_values(read_u32_of_halves(b + 2 + 4 * quarter), low, high);
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
};

// 32 elements in 17 bytes: u8 exponent; q[16].
struct TypeMxfp4 : InHalves, FromBytes<TypeMxfp4> {
    static const bool PLAIN = false, EVEN = true, OFFSET = false;
    static const int BIAS = 128;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)17 * group;
        e2m1_values(read_u32_of_bytes(b + 1 + 4 * quarter), low, high);
        u32 e = read_u8(b);  // 2^(e - 128); the two smallest are subnormal
        return Scale{float_of(e < 2 ? 0x00200000u << e : (e - 1) << 23), 0.0f};
    }
};

// An E4M3 number without a sign, the one that is no number as zero.
STRATA_INLINE float e4m3_of(u32 s) {
    float value = 256.0f * from_half((u16)(s << 7));
    return s == 127u ? 0.0f : value;
}

// 64 elements in 36 bytes: u8 s[4]; q[32]; 16 elements a scale, low nibbles the first 8 of them.
struct TypeNvfp4 : FromBytes<TypeNvfp4> {
    static const bool PLAIN = false, EVEN = false, OFFSET = false, SIGNS = true;
    static const int BIAS = 128;
    STRATA_INLINE_MEMBER int first(int quarter) { return 16 * (quarter >> 1) + 4 * (quarter & 1); }
    STRATA_INLINE_MEMBER int second(int quarter) { return 16 * (quarter >> 1) + 4 * (quarter & 1) + 8; }
    STRATA_INLINE_MEMBER Scale nibbles(const u8* row, int group, int quarter, u32& word) {
        const u8* b = row + (long long)36 * (group >> 1);
        int sub = 2 * (group & 1) + (quarter >> 1);
        word = read_u32(b + 4 + 16 * (group & 1) + 4 * quarter);
        return Scale{0.5f * e4m3_of(read_u32(b) >> (8 * sub) & 127u), 0.0f};  // the values are doubled
    }
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        u32 word;
        Scale s = nibbles(row, group, quarter, word);
        e2m1_values(word, low, high);
        return s;
    }
    STRATA_INLINE_MEMBER void signs(const u8* row, int group, int quarter, u32* positive, u32* negative) {
        e2m1_signs(read_u32(row + 36 * (group >> 1) + 4 + 16 * (group & 1) + 4 * quarter), positive, negative);
    }
    STRATA_INLINE_MEMBER void halves(const u8* row, int group, float* scales) {
        u32 both = read_u16(row + (long long)36 * (group >> 1) + 2 * (group & 1));
        scales[0] = 0.5f * e4m3_of(both & 127u);
        scales[1] = 0.5f * e4m3_of(both >> 8 & 127u);
    }
};

// Scale and minimum of sub-block j of the K types with 6-bit scales.
STRATA_INLINE Scale k_scale(const u8* b, int j) {
    u32 d = read_u32(b);
    // Those of the first four have a byte each, the others four bits beside them and the highest two of the first four's bytes.
    const u8* s = b + 4 + (j & 3);
    u32 first = read_u8(s), second = read_u8(s + 4), both = read_u8(s + 8);
    u32 scale = j < 4 ? first & 63u : (both & 15u) | first >> 6 << 4;
    u32 minimum = j < 4 ? second & 63u : both >> 4 | second >> 6 << 4;
    return Scale{from_half((u16)d) * (float)scale, -(from_half((u16)(d >> 16)) * (float)minimum)};
}

// 256 elements in 144 bytes: f16 d, dmin; s[12]; q[128].
struct TypeQ4_K : InOrder, FromBytes<TypeQ4_K> {
    static const bool PLAIN = false, EVEN = true, OFFSET = true;
    static const int BIAS = 0;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)144 * (group >> 3);
        int j = group & 7;
        const u8* q = b + 16 + 32 * (j >> 1) + 8 * quarter;
        int shift = 4 * (j & 1);
        low = read_u32(q) >> shift & 0x0f0f0f0fu;
        high = read_u32(q + 4) >> shift & 0x0f0f0f0fu;
        return k_scale(b, j);
    }
};

// 256 elements in 176 bytes: f16 d, dmin; s[12]; qh[32]; q[128].
struct TypeQ5_K : InOrder, FromBytes<TypeQ5_K> {
    static const bool PLAIN = false, EVEN = true, OFFSET = true;
    static const int BIAS = 0;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)176 * (group >> 3);
        int j = group & 7;
        const u8* q = b + 48 + 32 * (j >> 1) + 8 * quarter;
        const u8* h = b + 16 + 8 * quarter;
        int shift = 4 * (j & 1);
        low = (read_u32(q) >> shift & 0x0f0f0f0fu) | (read_u32(h) >> j & 0x01010101u) << 4;
        high = (read_u32(q + 4) >> shift & 0x0f0f0f0fu) | (read_u32(h + 4) >> j & 0x01010101u) << 4;
        return k_scale(b, j);
    }
};

// 256 elements in 210 bytes: ql[128]; qh[64]; i8 sc[16]; f16 d.
struct TypeQ6_K : InOrder, FromBytes<TypeQ6_K> {
    static const bool PLAIN = false, EVEN = false, OFFSET = false;
    static const int BIAS = 32;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)210 * (group >> 3);
        int half = (group >> 2) & 1, part = group & 3;
        const u8* q = b + 64 * half + 32 * (part & 1) + 8 * quarter;
        const u8* h = b + 128 + 32 * half + 8 * quarter;
        int shift = 4 * (part >> 1), high_shift = 2 * part;
        low = (read_u32_of_halves(q) >> shift & 0x0f0f0f0fu) |
                  (read_u32_of_halves(h) >> high_shift & 0x03030303u) << 4;
        high = (read_u32_of_halves(q + 4) >> shift & 0x0f0f0f0fu) |
                   (read_u32_of_halves(h + 4) >> high_shift & 0x03030303u) << 4;
        float scale = (float)(i8)read_u8(b + 192 + 2 * (group & 7) + (quarter >> 1));
        return Scale{from_half((u16)read_u16(b + 208)) * scale, 0.0f};
    }
    STRATA_INLINE_MEMBER void halves(const u8* row, int group, float* scales) {
        const u8* b = row + (long long)210 * (group >> 3);
        float d = from_half((u16)read_u16(b + 208));
        u32 both = read_u16(b + 192 + 2 * (group & 7));
        scales[0] = d * (float)(i8)both;
        scales[1] = d * (float)(i8)(both >> 8);
    }
};

// 256 elements in 136 bytes: f16 d; u16 sh; sl[4]; q[128].
struct TypeIq4Xs : InHalves, FromBytes<TypeIq4Xs> {
    static const bool PLAIN = false, EVEN = true, OFFSET = false;
    static const int BIAS = 128;
    STRATA_INLINE_MEMBER Scale bytes(const u8* row, int group, int quarter, u32& low, u32& high) {
        const u8* b = row + (long long)136 * (group >> 3);
        int j = group & 7;
        iq4_values(read_u32(b + 8 + 16 * j + 4 * quarter), low, high);
        u32 head = read_u32(b);
        u32 scale = (read_u8(b + 4 + (j >> 1)) >> (4 * (j & 1)) & 15u) | (head >> (16 + 2 * j) & 3u) << 4;
        return Scale{from_half((u16)head) * (float)((int)scale - 32), 0.0f};
    }
};

// 64 elements in 18 bytes: f16 d; two bits an element, levels -1, 0, 1, 2.
struct TypeQ2_0 : InOrder {
    static const bool PLAIN = false, BYTES = false, NIBBLES = false, EVEN = true, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int, float* v) {
        const u8* b = row + (long long)18 * (group >> 1);
        u32 q = read_u16(b + 2 + 8 * (group & 1) + 2 * quarter);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            v[i] = small_integer(q >> (2 * i) & 3u, 1.0f);
        }
        return Scale{from_half((u16)read_u16(b)), 0.0f};
    }
};

// 256 elements in 74 bytes: f16 d; u16 q[32]; sc[8].
struct TypeIq2Xs : InOrder {
    static const bool PLAIN = false, BYTES = false, NIBBLES = false, EVEN = false, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int, float* v) {
        const u8* b = row + (long long)74 * (group >> 3);
        int j = group & 7;
        u32 q = read_u16(b + 2 + 2 * (4 * j + quarter));
        u64 values = GRID_IQ2_XS[q & 511u];
        signed_bytes((u32)values, (u32)(values >> 32), with_parity(q >> 9), v);
        u32 scale = read_u8(b + 66 + j) >> (4 * (quarter >> 1)) & 15u;
        return Scale{from_half((u16)read_u16(b)) * (0.5f + (float)scale) * 0.25f, 0.0f};
    }
};

// 256 elements in 98 bytes: f16 d; q[64]; u32 a[8].
struct TypeIq3Xxs : InOrder {
    static const bool PLAIN = false, BYTES = false, NIBBLES = false, EVEN = true, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int, float* v) {
        const u8* b = row + (long long)98 * (group >> 3);
        int j = group & 7;
        u32 q = read_u16(b + 2 + 8 * j + 2 * quarter);
        u32 a = read_u32_of_halves(b + 66 + 4 * j);
        signed_bytes(GRID_IQ3_XXS[q & 255u], GRID_IQ3_XXS[q >> 8], with_parity(a >> (7 * quarter) & 127u), v);
        return Scale{from_half((u16)read_u16(b)) * (0.5f + (float)(a >> 28)) * 0.5f, 0.0f};
    }
};

// 256 elements in 110 bytes: f16 d; q[64]; qh[8]; sg[32]; sc[4].
struct TypeIq3S : InOrder {
    static const bool PLAIN = false, BYTES = false, NIBBLES = false, EVEN = true, OFFSET = false;
    STRATA_INLINE_MEMBER Scale read(const u8* row, int group, int quarter, int, float* v) {
        const u8* b = row + (long long)110 * (group >> 3);
        int j = group & 7;
        u32 q = read_u16(b + 2 + 8 * j + 2 * quarter);
        u32 h = read_u8(b + 66 + j) >> (2 * quarter);
        u32 signs = read_u8(b + 74 + 4 * j + quarter);
        signed_bytes(GRID_IQ3_S[(q & 255u) | (h & 1u) << 8], GRID_IQ3_S[q >> 8 | (h & 2u) << 7], signs, v);
        u32 scale = read_u8(b + 106 + (j >> 1)) >> (4 * (j & 1)) & 15u;
        return Scale{from_half((u16)read_u16(b)) * (float)(1 + 2 * scale), 0.0f};
    }
};

// Calls M(name, type) for every type that products read as stored.
#define EACH_STORED_TYPE(M)                                                                                          \
    M(f32, TypeF32) M(f16, TypeF16) M(bf16, TypeBf16) M(q8_0, TypeQ8_0) M(q4_0, TypeQ4_0) M(iq4_nl, TypeIq4Nl)        \
    M(mxfp4, TypeMxfp4) M(nvfp4, TypeNvfp4) M(q4_k, TypeQ4_K) M(q5_k, TypeQ5_K) M(q6_k, TypeQ6_K)                     \
    M(iq4_xs, TypeIq4Xs) M(q2_0, TypeQ2_0) M(iq2_xs, TypeIq2Xs) M(iq3_xxs, TypeIq3Xxs) M(iq3_s, TypeIq3S)          \
    M(q4_1, TypeQ4_1) M(q5_0, TypeQ5_0) M(q5_1, TypeQ5_1)
