// How AVX2 unpacks stored blocks to int16 in the order of the activations: the 16 even elements of 32, then the 16 odd ones.
//
// Every type gives: SUBS (blocks of 32 in a stored block), unpack(block, sub), scales(block, n) for n <= 8 consecutive blocks of 32,
// mins where HAS_MIN, and HALVES = 2 where scales() is for 16 elements (then scales fills 16 values).
#pragma once
#include <immintrin.h>

#include "../kernels.h"
#include "../numbers.h"

namespace strata::STRATA_NS {

struct Pair {
    __m256i even;
    __m256i odd;
};

// Bytes to int16: even bytes, then odd bytes.
static inline Pair unsignedPair(__m256i bytes) {
    return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(bytes, 8)};
}
static inline Pair signedPair(__m256i bytes) {
    return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
}

// 16 bytes twice, the upper half shifted right by 4: low nibbles are elements 0-15, then 16-31.
static inline __m256i nibbles(const uint8_t* p) {
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)p));
    __m256i shifted = _mm256_srlv_epi64(both, _mm256_setr_epi64x(0, 0, 4, 4));
    return _mm256_and_si256(shifted, _mm256_set1_epi8(15));
}

static inline __m256i table16(const int8_t* values) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)values));
}

// float16 numbers `stride` bytes apart.
static inline __m256 halves(const uint8_t* p, int stride, int n) {
    if (n == 8) {
        __m128i h = _mm_cvtsi32_si128(read16(p));
        h = _mm_insert_epi16(h, read16(p + stride), 1);
        h = _mm_insert_epi16(h, read16(p + 2 * stride), 2);
        h = _mm_insert_epi16(h, read16(p + 3 * stride), 3);
        h = _mm_insert_epi16(h, read16(p + 4 * stride), 4);
        h = _mm_insert_epi16(h, read16(p + 5 * stride), 5);
        h = _mm_insert_epi16(h, read16(p + 6 * stride), 6);
        h = _mm_insert_epi16(h, read16(p + 7 * stride), 7);
        return _mm256_cvtph_ps(h);
    }
    alignas(16) uint16_t h[8] = {};
    for (int i = 0; i < n; i++) h[i] = read16(p + i * stride);
    return _mm256_cvtph_ps(_mm_load_si128((const __m128i*)h));
}

static inline float half(const uint8_t* p) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(read16(p)))); }

struct Base {
    static constexpr int HALVES = 1;
    static constexpr bool HAS_MIN = false;
    // What mins() stands for when it is the same multiple of the scale everywhere: panels subtract it from the weights instead.
    static constexpr int OFFSET = 0;
    static inline __m256 mins(const uint8_t*, int) { return _mm256_setzero_ps(); }
};

struct UnpackQ8_0 : Base {
    static constexpr int SUBS = 1, BYTES = 34;
    static inline Pair unpack(const uint8_t* p, int) { return signedPair(_mm256_loadu_si256((const __m256i*)(p + 2))); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves(p, BYTES, n); }
};

struct UnpackQ4_0 : Base {
    static constexpr int SUBS = 1, BYTES = 18;
    static constexpr bool HAS_MIN = true;
    static constexpr int OFFSET = 8;
    static inline Pair unpack(const uint8_t* p, int) { return unsignedPair(nibbles(p + 2)); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves(p, BYTES, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return _mm256_mul_ps(halves(p, BYTES, n), _mm256_set1_ps(-8)); }
};

struct UnpackQ4_1 : Base {
    static constexpr int SUBS = 1, BYTES = 20;
    static constexpr bool HAS_MIN = true;
    static inline Pair unpack(const uint8_t* p, int) { return unsignedPair(nibbles(p + 4)); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves(p, BYTES, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return halves(p + 2, BYTES, n); }
};

// Bit i of 32 as byte i: 16 where set.
static inline __m256i fifthBits(uint32_t bits) {
    __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(int(bits)),
                                         _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    __m256i mask = _mm256_set1_epi64x(int64_t(0x8040201008040201));
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(spread, mask), mask), _mm256_set1_epi8(16));
}

struct UnpackQ5_0 : Base {
    static constexpr int SUBS = 1, BYTES = 22;
    static constexpr bool HAS_MIN = true;
    static constexpr int OFFSET = 16;
    static inline Pair unpack(const uint8_t* p, int) {
        return unsignedPair(_mm256_or_si256(nibbles(p + 6), fifthBits(read32(p + 2))));
    }
    static inline __m256 scales(const uint8_t* p, int n) { return halves(p, BYTES, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return _mm256_mul_ps(halves(p, BYTES, n), _mm256_set1_ps(-16)); }
};

struct UnpackQ5_1 : Base {
    static constexpr int SUBS = 1, BYTES = 24;
    static constexpr bool HAS_MIN = true;
    static inline Pair unpack(const uint8_t* p, int) {
        return unsignedPair(_mm256_or_si256(nibbles(p + 8), fifthBits(read32(p + 4))));
    }
    static inline __m256 scales(const uint8_t* p, int n) { return halves(p, BYTES, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return halves(p + 2, BYTES, n); }
};

struct UnpackIQ4_NL : Base {
    static constexpr int SUBS = 1, BYTES = 18;
    static inline Pair unpack(const uint8_t* p, int) {
        return signedPair(_mm256_shuffle_epi8(table16(VALUES_IQ4), nibbles(p + 2)));
    }
    static inline __m256 scales(const uint8_t* p, int n) { return halves(p, BYTES, n); }
};

struct UnpackMXFP4 : Base {
    static constexpr int SUBS = 1, BYTES = 17;
    static inline Pair unpack(const uint8_t* p, int) {
        return signedPair(_mm256_shuffle_epi8(table16(VALUES_FP4), nibbles(p + 1)));
    }
    static inline __m256 scales(const uint8_t* p, int n) {
        alignas(32) uint32_t bits[8] = {};
        for (int i = 0; i < n; i++) {
            uint32_t e = p[i * BYTES];
            bits[i] = e < 2 ? 0x00200000u << e : (e - 1) << 23;
        }
        return _mm256_castsi256_ps(_mm256_load_si256((const __m256i*)bits));
    }
};

struct UnpackNVFP4 : Base {
    static constexpr int SUBS = 2, BYTES = 36;
    static constexpr int HALVES = 2;
    // 8 bytes hold 16 elements: low nibbles 0-7, high nibbles 8-15.
    static inline Pair unpack(const uint8_t* p, int sub) {
        __m256i q = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(p + 4 + 16 * sub)));
        __m256i twice = _mm256_permute4x64_epi64(q, 0x50);
        __m256i n = _mm256_and_si256(_mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4)), _mm256_set1_epi8(15));
        return signedPair(_mm256_shuffle_epi8(table16(VALUES_FP4), n));
    }
    static void scales16(const uint8_t* p, int n, float* out) {
        for (int i = 0; i < n; i++) {
            const uint8_t* s = p + i / 2 * BYTES + i % 2 * 2;
            out[2 * i] = SCALE_UE4M3[s[0]];
            out[2 * i + 1] = SCALE_UE4M3[s[1]];
        }
        for (int i = 2 * n; i < 16; i++) out[i] = 0;
    }
};

// 8 scales and 8 minima of 6 bits.
static inline void sixBits(const uint8_t* s, __m256i* scale, __m256i* min) {
    uint32_t a = read32(s), b = read32(s + 4), c = read32(s + 8);
    uint64_t sc = (a & 0x3f3f3f3f) | uint64_t((c & 0x0f0f0f0f) | ((a >> 2) & 0x30303030)) << 32;
    uint64_t mn = (b & 0x3f3f3f3f) | uint64_t(((c >> 4) & 0x0f0f0f0f) | ((b >> 2) & 0x30303030)) << 32;
    *scale = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(int64_t(sc)));
    *min = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(int64_t(mn)));
}

struct UnpackQ4_K : Base {
    static constexpr int SUBS = 8, BYTES = 144;
    static constexpr bool HAS_MIN = true;
    static inline Pair unpack(const uint8_t* p, int sub) {
        __m256i q = _mm256_loadu_si256((const __m256i*)(p + 16 + 32 * (sub / 2)));
        const __m256i low = _mm256_set1_epi16(15);
        if (sub % 2 == 0) return {_mm256_and_si256(q, low), _mm256_and_si256(_mm256_srli_epi16(q, 8), low)};
        return {_mm256_and_si256(_mm256_srli_epi16(q, 4), low), _mm256_srli_epi16(q, 12)};
    }
    static inline __m256 scales(const uint8_t* p, int) {
        __m256i sc, mn;
        sixBits(p + 4, &sc, &mn);
        return _mm256_mul_ps(_mm256_set1_ps(half(p)), _mm256_cvtepi32_ps(sc));
    }
    static inline __m256 mins(const uint8_t* p, int) {
        __m256i sc, mn;
        sixBits(p + 4, &sc, &mn);
        return _mm256_mul_ps(_mm256_set1_ps(-half(p + 2)), _mm256_cvtepi32_ps(mn));
    }
};

struct UnpackQ5_K : Base {
    static constexpr int SUBS = 8, BYTES = 176;
    static constexpr bool HAS_MIN = true;
    static inline Pair unpack(const uint8_t* p, int sub) {
        __m256i q = _mm256_loadu_si256((const __m256i*)(p + 48 + 32 * (sub / 2)));
        __m256i h = _mm256_loadu_si256((const __m256i*)(p + 16));
        __m256i n = _mm256_and_si256(_mm256_srli_epi16(q, 4 * (sub % 2)), _mm256_set1_epi8(15));
        __m256i bit = _mm256_and_si256(_mm256_srli_epi16(h, sub), _mm256_set1_epi8(1));
        return unsignedPair(_mm256_or_si256(n, _mm256_slli_epi16(bit, 4)));
    }
    static inline __m256 scales(const uint8_t* p, int n) { return UnpackQ4_K::scales(p, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return UnpackQ4_K::mins(p, n); }
};

// int16 factors of the two halves of block `sub` of 16 int8 factors.
static inline __m256i halfFactors(__m128i factors, int sub) {
    __m128i pair = _mm_shuffle_epi8(factors, _mm_set1_epi16(short(2 * sub | (2 * sub + 1) << 8)));
    return _mm256_cvtepi8_epi16(_mm_unpacklo_epi64(_mm_shuffle_epi8(pair, _mm_setzero_si128()),
                                                   _mm_shuffle_epi8(pair, _mm_set1_epi8(1))));
}

struct UnpackQ6_K : Base {
    static constexpr int SUBS = 8, BYTES = 210;
    static constexpr int HALVES = 2;
    static inline Pair unpack(const uint8_t* p, int sub) {
        int h = sub / 4, r = sub % 4;
        __m256i ql = _mm256_loadu_si256((const __m256i*)(p + 64 * h + 32 * (r % 2)));
        __m256i qh = _mm256_loadu_si256((const __m256i*)(p + 128 + 32 * h));
        __m256i n = _mm256_and_si256(_mm256_srli_epi16(ql, 4 * (r / 2)), _mm256_set1_epi8(15));
        __m256i top = _mm256_and_si256(_mm256_srli_epi16(qh, 2 * r), _mm256_set1_epi8(3));
        return signedPair(_mm256_sub_epi8(_mm256_or_si256(n, _mm256_slli_epi16(top, 4)), _mm256_set1_epi8(32)));
    }
    static inline void scales16(const uint8_t* p, int, float* out) {
        __m256 d = _mm256_set1_ps(half(p + 208));
        __m128i s = _mm_loadu_si128((const __m128i*)(p + 192));
        _mm256_storeu_ps(out, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(s))));
        _mm256_storeu_ps(out + 8, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(s, 8)))));
    }
};

struct UnpackIQ4_XS : Base {
    static constexpr int SUBS = 8, BYTES = 136;
    static inline Pair unpack(const uint8_t* p, int sub) {
        return signedPair(_mm256_shuffle_epi8(table16(VALUES_IQ4), nibbles(p + 8 + 16 * sub)));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        __m256i low = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(int(read32(p + 4))), shift), _mm256_set1_epi32(15));
        __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(read16(p + 2)), _mm256_srli_epi32(shift, 1));
        high = _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4);
        __m256i ls = _mm256_sub_epi32(_mm256_or_si256(low, high), _mm256_set1_epi32(32));
        return _mm256_mul_ps(_mm256_set1_ps(half(p)), _mm256_cvtepi32_ps(ls));
    }
};

struct UnpackQ2_0 : Base {
    static constexpr int SUBS = 2, BYTES = 18;
    static constexpr bool HAS_MIN = true;
    static constexpr int OFFSET = 1;
    // A byte holds 4 consecutive elements: word 2i and 2i+1 of each half come from byte i, shifted by 0 and 4 (odd: 2 and 6).
    static inline Pair unpack(const uint8_t* p, int sub) {
        __m256i q = _mm256_set1_epi64x(int64_t(read64(p + 2 + 8 * sub)));
        __m256i spread = _mm256_shuffle_epi8(
            q, _mm256_setr_epi8(0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1, 4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6,
                                -1, 7, -1, 7, -1));
        __m256i aligned = _mm256_mullo_epi16(spread, _mm256_set1_epi32(0x00010010));
        const __m256i mask = _mm256_set1_epi16(3);
        return {_mm256_and_si256(_mm256_srli_epi16(aligned, 4), mask), _mm256_and_si256(_mm256_srli_epi16(aligned, 6), mask)};
    }
    static inline __m256 scales(const uint8_t* p, int n) {
        alignas(32) float d[8] = {};
        for (int i = 0; i < n; i += 2) d[i] = d[i + 1] = half(p + i / 2 * BYTES);
        return _mm256_load_ps(d);
    }
    static inline __m256 mins(const uint8_t* p, int n) { return _mm256_sub_ps(_mm256_setzero_ps(), scales(p, n)); }
};

// Byte j negated where bit j of `signs` is set.
static inline __m256i applySigns(__m256i bytes, uint32_t signs) {
    __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(int(signs)),
                                         _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    __m256i mask = _mm256_set1_epi64x(int64_t(0x8040201008040201));
    __m256i negative = _mm256_cmpeq_epi8(_mm256_and_si256(spread, mask), mask);
    return _mm256_sub_epi8(_mm256_xor_si256(bytes, negative), negative);
}

// Four groups of 7 stored sign bits, the eighth of each making their number even.
static inline uint32_t evenSigns(uint32_t a) {
    uint32_t s = (a & 0x7f) | (a & 0x3f80) << 1 | (a & 0x1fc000) << 2 | (a & 0xfe00000) << 3;
    uint32_t x = s ^ (s >> 4);
    x ^= x >> 2;
    x ^= x >> 1;
    return s | (x & 0x01010101) << 7;
}

// (2 s + 1) of 16 nibbles.
static inline __m128i oddFactors(const uint8_t* p) {
    __m128i s = _mm_loadl_epi64((const __m128i*)p);
    const __m128i low = _mm_set1_epi8(15);
    __m128i n = _mm_unpacklo_epi8(_mm_and_si128(s, low), _mm_and_si128(_mm_srli_epi16(s, 4), low));
    return _mm_add_epi8(_mm_add_epi8(n, n), _mm_set1_epi8(1));
}

struct UnpackIQ2_XXS : Base {
    static constexpr int SUBS = 8, BYTES = 66;
    static inline Pair unpack(const uint8_t* p, int sub) {
        const uint8_t* q = p + 2 + 8 * sub;
        __m256i g = _mm256_set_epi64x(int64_t(GRID_IQ2XXS[q[3]]), int64_t(GRID_IQ2XXS[q[2]]), int64_t(GRID_IQ2XXS[q[1]]),
                                      int64_t(GRID_IQ2XXS[q[0]]));
        return signedPair(applySigns(g, evenSigns(read32(q + 4))));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        alignas(32) int s[8];
        for (int i = 0; i < 8; i++) s[i] = 2 * (p[2 + 8 * i + 7] >> 4) + 1;
        return _mm256_mul_ps(_mm256_set1_ps(half(p) * 0.125f), _mm256_cvtepi32_ps(_mm256_load_si256((const __m256i*)s)));
    }
};

struct UnpackIQ2_XS : Base {
    static constexpr int SUBS = 8, BYTES = 74;
    static inline Pair unpack(const uint8_t* p, int sub) {
        uint64_t q = read64(p + 2 + 8 * sub);
        __m256i g = _mm256_set_epi64x(int64_t(GRID_IQ2XS[q >> 48 & 511]), int64_t(GRID_IQ2XS[q >> 32 & 511]),
                                      int64_t(GRID_IQ2XS[q >> 16 & 511]), int64_t(GRID_IQ2XS[q & 511]));
        uint32_t packed = uint32_t(q >> 9 & 127) | uint32_t(q >> 25 & 127) << 7 | uint32_t(q >> 41 & 127) << 14 |
                          uint32_t(q >> 57) << 21;
        Pair w = signedPair(applySigns(g, evenSigns(packed)));
        __m256i factor = halfFactors(oddFactors(p + 66), sub);
        return {_mm256_mullo_epi16(w.even, factor), _mm256_mullo_epi16(w.odd, factor)};
    }
    static inline __m256 scales(const uint8_t* p, int) { return _mm256_set1_ps(half(p) * 0.125f); }
};

struct UnpackIQ2_S : Base {
    static constexpr int SUBS = 8, BYTES = 82;
    static inline Pair unpack(const uint8_t* p, int sub) {
        const uint8_t* q = p + 2 + 4 * sub;
        int h = p[66 + sub];
        __m256i g = _mm256_set_epi64x(int64_t(GRID_IQ2S[q[3] | (h & 0xc0) << 2]), int64_t(GRID_IQ2S[q[2] | (h & 0x30) << 4]),
                                      int64_t(GRID_IQ2S[q[1] | (h & 0x0c) << 6]), int64_t(GRID_IQ2S[q[0] | (h & 0x03) << 8]));
        Pair w = signedPair(applySigns(g, read32(p + 34 + 4 * sub)));
        __m256i factor = halfFactors(oddFactors(p + 74), sub);
        return {_mm256_mullo_epi16(w.even, factor), _mm256_mullo_epi16(w.odd, factor)};
    }
    static inline __m256 scales(const uint8_t* p, int) { return _mm256_set1_ps(half(p) * 0.125f); }
};

struct UnpackIQ3_XXS : Base {
    static constexpr int SUBS = 8, BYTES = 98;
    static inline Pair unpack(const uint8_t* p, int sub) {
        const uint8_t* q = p + 2 + 8 * sub;
        const uint32_t* t = GRID_IQ3XXS;
        __m256i g = _mm256_setr_epi32(int(t[q[0]]), int(t[q[1]]), int(t[q[2]]), int(t[q[3]]), int(t[q[4]]), int(t[q[5]]),
                                      int(t[q[6]]), int(t[q[7]]));
        return signedPair(applySigns(g, evenSigns(read32(p + 66 + 4 * sub))));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        __m256i s = _mm256_srli_epi32(_mm256_loadu_si256((const __m256i*)(p + 66)), 28);
        s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
        return _mm256_mul_ps(_mm256_set1_ps(half(p) * 0.25f), _mm256_cvtepi32_ps(s));
    }
};

struct UnpackIQ3_S : Base {
    static constexpr int SUBS = 8, BYTES = 110;
    static inline Pair unpack(const uint8_t* p, int sub) {
        const uint8_t* q = p + 2 + 8 * sub;
        int h = p[66 + sub];
        const uint32_t* t = GRID_IQ3S;
        __m256i g = _mm256_setr_epi32(int(t[q[0] | (h << 8 & 256)]), int(t[q[1] | (h << 7 & 256)]),
                                      int(t[q[2] | (h << 6 & 256)]), int(t[q[3] | (h << 5 & 256)]),
                                      int(t[q[4] | (h << 4 & 256)]), int(t[q[5] | (h << 3 & 256)]),
                                      int(t[q[6] | (h << 2 & 256)]), int(t[q[7] | (h << 1 & 256)]));
        return signedPair(applySigns(g, read32(p + 74 + 4 * sub)));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        __m256i s = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(int(read32(p + 106))), shift), _mm256_set1_epi32(15));
        s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
        return _mm256_mul_ps(_mm256_set1_ps(half(p)), _mm256_cvtepi32_ps(s));
    }
};

// Types whose products run on int16 blocks.
#define STRATA_UNPACKED(X) \
    X(Q8_0) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS) X(NVFP4) X(MXFP4) X(Q2_0) \
    X(IQ2_XXS) X(IQ2_XS) X(IQ2_S) X(IQ3_XXS) X(IQ3_S)

}  // namespace strata::STRATA_NS
