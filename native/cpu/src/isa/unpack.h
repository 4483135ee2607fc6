// How AVX2 unpacks stored blocks to int16 in the order of the activations: the 16 even elements of 32, then the 16 odd ones.
//
// Every type gives: SUBS (blocks of 32 in a stored block), weights(block, sub) as bytes, scales(block, n) for n <= 8 consecutive blocks of 32,
// mins where HAS_MIN, OFFSET, and HALVES = 2 where scales() is for 16 elements (then scales fills 16 values).
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
// The same times SHIFTED, one operation less and one shift instead of three. Four products of magnitudes up to 62 stay below 2^31.
constexpr float SHIFTED = 256;
static inline Pair shiftedPair(__m256i bytes) {
    return {_mm256_slli_epi16(bytes, 8), _mm256_and_si256(bytes, _mm256_set1_epi16(short(0xff00)))};
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

// Word i of eight from 16 bytes at p + i * (stride - 2) + 2 * i: the words at p, p + stride ... One blend a word, on any vector unit;
// insertions take two operations each, and words stored and read back as a vector would wait for the stores.
template <int STRIDE>
static inline __m128i words8(const uint8_t* p) {
    auto at = [&](int i) __attribute__((always_inline)) { return _mm_loadu_si128((const __m128i*)(p + i * (STRIDE - 2))); };
    __m128i a = _mm_blend_epi16(at(0), at(1), 2), b = _mm_blend_epi16(at(2), at(3), 8);
    __m128i c = _mm_blend_epi16(at(4), at(5), 32), d = _mm_blend_epi16(at(6), at(7), 128);
    return _mm_blend_epi16(_mm_blend_epi16(a, b, 0x0c), _mm_blend_epi16(c, d, 0xc0), 0xf0);
}

// The words of n stored blocks.
template <int STRIDE>
static inline __m128i words(const uint8_t* p, int n) {
    if (n == 8) return words8<STRIDE>(p);
    alignas(16) uint16_t h[8] = {};
    for (int i = 0; i < n; i++) h[i] = read16(p + i * STRIDE);
    return _mm_load_si128((const __m128i*)h);
}

// float16 numbers STRIDE bytes apart.
template <int STRIDE>
static inline __m256 halves(const uint8_t* p, int n) {
    return _mm256_cvtph_ps(words<STRIDE>(p, n));
}

static inline float half(const uint8_t* p) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(read16(p)))); }

struct Base {
    static constexpr int HALVES = 1;
    static constexpr bool HAS_MIN = false;
    // What is to be subtracted from every unpacked weight.
    static constexpr int OFFSET = 0;
    // Codebook types look up by indexes and signs that are worked out for a whole stored block first; weights() gives 32 signed bytes.
    static constexpr bool GRID = false;
    // Whether weights() is signed.
    static constexpr bool SIGNED = false;
    // Whether unpack() gives the pair of a block with fewer operations than weights().
    static constexpr bool PAIRS = false;
    // Whether a weight is a code of 4 bits.
    static constexpr bool CODES = false;
    // Whether the weights of every second block come 16 times too large.
    static constexpr bool ODD_SIXTEENFOLD = false;
    static inline __m256 mins(const uint8_t*, int) { return _mm256_setzero_ps(); }
};

struct UnpackQ8_0 : Base {
    static constexpr int SUBS = 1, BYTES = 34;
    static constexpr bool SIGNED = true;
    static inline __m256i weights(const uint8_t* p, int) { return _mm256_loadu_si256((const __m256i*)(p + 2)); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves<BYTES>(p, n); }
};

struct UnpackQ4_0 : Base {
    static constexpr int SUBS = 1, BYTES = 18;
    static constexpr int OFFSET = 8;
    static inline __m256i weights(const uint8_t* p, int) { return nibbles(p + 2); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves<BYTES>(p, n); }
};

struct UnpackQ4_1 : Base {
    static constexpr int SUBS = 1, BYTES = 20;
    static constexpr bool HAS_MIN = true;
    static inline __m256i weights(const uint8_t* p, int) { return nibbles(p + 4); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves<BYTES>(p, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return halves<BYTES>(p + 2, n); }
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
    static constexpr int OFFSET = 16;
    static inline __m256i weights(const uint8_t* p, int) { return _mm256_or_si256(nibbles(p + 6), fifthBits(read32(p + 2))); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves<BYTES>(p, n); }
};

struct UnpackQ5_1 : Base {
    static constexpr int SUBS = 1, BYTES = 24;
    static constexpr bool HAS_MIN = true;
    static inline __m256i weights(const uint8_t* p, int) { return _mm256_or_si256(nibbles(p + 8), fifthBits(read32(p + 4))); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves<BYTES>(p, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return halves<BYTES>(p + 2, n); }
};

// The 16 values of IQ4 with 128 added, so that they need no sign.
static constexpr int IQ4_OFFSET = 128;
static inline __m256i iq4Table() { return _mm256_xor_si256(table16(VALUES_IQ4), _mm256_set1_epi8(-128)); }

struct UnpackIQ4_NL : Base {
    static constexpr int SUBS = 1, BYTES = 18;
    static constexpr int OFFSET = IQ4_OFFSET;
    static inline __m256i weights(const uint8_t* p, int) { return _mm256_shuffle_epi8(iq4Table(), nibbles(p + 2)); }
    static inline __m256 scales(const uint8_t* p, int n) { return halves<BYTES>(p, n); }
};

// The doubled E2M1 values with 12 added, so that they need no sign.
static constexpr int FP4_OFFSET = 12;
static inline __m256i fp4Table() {
    return _mm256_broadcastsi128_si256(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
}

struct UnpackMXFP4 : Base {
    static constexpr int SUBS = 1, BYTES = 17;
    static constexpr int OFFSET = FP4_OFFSET;
    static inline __m256i weights(const uint8_t* p, int) { return _mm256_shuffle_epi8(fp4Table(), nibbles(p + 1)); }
    static inline __m256 scales(const uint8_t* p, int n) {
        __m256i x = _mm256_cvtepu16_epi32(_mm_and_si128(words<BYTES>(p, n), _mm_set1_epi16(0xff)));
        // 2^(e-128); below e = 2 it is subnormal.
        __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(x, _mm256_set1_epi32(1)), 23);
        __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), x);
        return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), x)));
    }
};

struct UnpackNVFP4 : Base {
    static constexpr int SUBS = 2, BYTES = 36;
    static constexpr int HALVES = 2;
    static constexpr int OFFSET = FP4_OFFSET;
    // 8 bytes hold 16 elements: low nibbles 0-7, high nibbles 8-15.
    static inline __m256i halfNibbles(const uint8_t* p) {
        __m256i q = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)p));
        // Each half twice: a shuffle within lanes is one operation, a permutation across them two.
        __m256i twice = _mm256_shuffle_epi8(q, _mm256_setr_epi64x(0x0706050403020100, 0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x0f0e0d0c0b0a0908));
        return _mm256_and_si256(_mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4)), _mm256_set1_epi8(15));
    }
    static inline __m256i weights(const uint8_t* p, int sub) { return _mm256_shuffle_epi8(fp4Table(), halfNibbles(p + 4 + 16 * sub)); }
    static inline void scales16(const uint8_t* p, int n, __m256* low, __m256* high) {
        __m128i bytes;
        if (n == 8) {
            auto at = [&](int i) __attribute__((always_inline)) { return _mm_loadu_si128((const __m128i*)(p + i * (BYTES - 4))); };
            bytes = _mm_blend_epi32(_mm_blend_epi32(at(0), at(1), 2), _mm_blend_epi32(at(2), at(3), 8), 12);
        } else {
            alignas(16) uint32_t words[4] = {};
            for (int i = 0; i < n; i += 2) words[i / 2] = read32(p + i / 2 * BYTES);
            bytes = _mm_load_si128((const __m128i*)words);
        }
        // 0x7f stands for 0; the sign is not looked at.
        const __m128i mask = _mm_set1_epi8(0x7f);
        bytes = _mm_and_si128(bytes, mask);
        bytes = _mm_andnot_si128(_mm_cmpeq_epi8(bytes, mask), bytes);
        *low = fromUe4m3(bytes);
        *high = fromUe4m3(_mm_srli_si128(bytes, 8));
    }
    // Half the value of 8 bytes: exponent and mantissa in their float32 places, 2^120 below the value.
    static inline __m256 fromUe4m3(__m128i bytes) {
        __m256i x = _mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 20);
        return _mm256_mul_ps(_mm256_castsi256_ps(x), _mm256_set1_ps(0x1p119f));
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
    static constexpr bool PAIRS = true;
    static inline __m256i weights(const uint8_t* p, int sub) {
        __m256i q = _mm256_loadu_si256((const __m256i*)(p + 16 + 32 * (sub / 2)));
        return _mm256_and_si256(_mm256_srli_epi16(q, 4 * (sub % 2)), _mm256_set1_epi8(15));
    }
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
    static inline __m256i weights(const uint8_t* p, int sub) {
        __m256i q = _mm256_loadu_si256((const __m256i*)(p + 48 + 32 * (sub / 2)));
        __m256i h = _mm256_loadu_si256((const __m256i*)(p + 16));
        __m256i n = _mm256_and_si256(_mm256_srli_epi16(q, 4 * (sub % 2)), _mm256_set1_epi8(15));
        __m256i bit = _mm256_and_si256(_mm256_srli_epi16(h, sub), _mm256_set1_epi8(1));
        return _mm256_or_si256(n, _mm256_slli_epi16(bit, 4));
    }
    static inline __m256 scales(const uint8_t* p, int n) { return UnpackQ4_K::scales(p, n); }
    static inline __m256 mins(const uint8_t* p, int n) { return UnpackQ4_K::mins(p, n); }
};

struct UnpackQ6_K : Base {
    static constexpr int SUBS = 8, BYTES = 210;
    static constexpr int HALVES = 2;
    static constexpr int OFFSET = 32;
    static inline __m256i weights(const uint8_t* p, int sub) {
        int h = sub / 4, r = sub % 4;
        __m256i ql = _mm256_loadu_si256((const __m256i*)(p + 64 * h + 32 * (r % 2)));
        __m256i qh = _mm256_loadu_si256((const __m256i*)(p + 128 + 32 * h));
        __m256i n = _mm256_and_si256(_mm256_srli_epi16(ql, 4 * (r / 2)), _mm256_set1_epi8(15));
        __m256i top = _mm256_and_si256(_mm256_srli_epi16(qh, 2 * r), _mm256_set1_epi8(3));
        return _mm256_or_si256(n, _mm256_slli_epi16(top, 4));
    }
    static inline void scales16(const uint8_t* p, int, __m256* low, __m256* high) {
        __m256 d = _mm256_set1_ps(half(p + 208));
        __m128i s = _mm_loadu_si128((const __m128i*)(p + 192));
        *low = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(s)));
        *high = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(s, 8))));
    }
};

struct UnpackIQ4_XS : Base {
    static constexpr int SUBS = 8, BYTES = 136;
    static constexpr int OFFSET = IQ4_OFFSET;
    static inline __m256i weights(const uint8_t* p, int sub) { return _mm256_shuffle_epi8(iq4Table(), nibbles(p + 8 + 16 * sub)); }
    static inline __m256i blockFactors(const uint8_t* p) {
        __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        __m256i low = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(int(read32(p + 4))), shift), _mm256_set1_epi32(15));
        __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(read16(p + 2)), _mm256_srli_epi32(shift, 1));
        high = _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4);
        return _mm256_sub_epi32(_mm256_or_si256(low, high), _mm256_set1_epi32(32));
    }
    static inline __m256 scales(const uint8_t* p, int) { return _mm256_mul_ps(_mm256_set1_ps(half(p)), _mm256_cvtepi32_ps(blockFactors(p))); }
};

struct UnpackQ2_0 : Base {
    static constexpr int SUBS = 2, BYTES = 18;
    static constexpr int OFFSET = 1;
    static constexpr bool PAIRS = true;
    static inline __m256i weights(const uint8_t* p, int sub) {
        __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(p + 2 + 8 * sub)));
        q = _mm256_or_si256(q, _mm256_slli_epi32(q, 12));
        q = _mm256_or_si256(q, _mm256_slli_epi32(q, 6));
        return _mm256_and_si256(q, _mm256_set1_epi8(3));
    }
    // A byte holds 4 consecutive elements: the even ones go to the halves of a word of 32 bits, which shifted by 2 gives the odd ones.
    static inline Pair unpack(const uint8_t* p, int sub) {
        __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(p + 2 + 8 * sub)));
        __m256i spread = _mm256_or_si256(q, _mm256_slli_epi32(q, 12));
        const __m256i mask = _mm256_set1_epi32(0x00030003);
        return {_mm256_and_si256(spread, mask), _mm256_and_si256(_mm256_srli_epi32(spread, 2), mask)};
    }
    static inline __m256 scales(const uint8_t* p, int n) {
        if (n == 8) {
            auto at = [&](int i) __attribute__((always_inline)) { return _mm_loadu_si128((const __m128i*)(p + i * (BYTES - 2))); };
            __m128i h = _mm_blend_epi16(_mm_blend_epi16(at(0), at(1), 2), _mm_blend_epi16(at(2), at(3), 8), 12);
            return _mm256_cvtph_ps(_mm_unpacklo_epi16(h, h));
        }
        alignas(16) uint16_t h[8] = {};
        for (int i = 0; i < n; i++) h[i] = read16(p + i / 2 * BYTES);
        return _mm256_cvtph_ps(_mm_load_si128((const __m128i*)h));
    }
};

// Byte j negated where bit j of `signs` is set.
static inline __m256i applySigns(__m256i bytes, uint32_t signs) {
    __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(int(signs)),
                                         _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    __m256i mask = _mm256_set1_epi64x(int64_t(0x8040201008040201));
    __m256i negative = _mm256_cmpeq_epi8(_mm256_and_si256(spread, mask), mask);
    return _mm256_sub_epi8(_mm256_xor_si256(bytes, negative), negative);
}

// Indexes (times the size of a table's entry where that is 16) and signs of one stored block of a codebook type.
struct Lookup {
    alignas(32) uint16_t index[64];
    alignas(32) uint8_t signs[32];

    inline uint32_t signsOf(int sub) const { return read32(signs + 4 * sub); }
};

// A codebook of N entries of type E, 16 bytes apart with zeros between: a load at the right distance brings an entry to any of its places in a
// vector, and joining them takes one `or` an entry, on any vector unit; insertions are two operations on few.
template <class E, int N>
struct Spread {
    static constexpr int PLACES = 16 / sizeof(E);
    alignas(64) E entries[PLACES * (N + 1)];

    void fill(const E* grid) {
        memset(entries, 0, sizeof entries);
        for (int i = 0; i < N; i++) entries[PLACES * (i + 1)] = grid[i];
    }
    template <int PLACE>
    inline __m128i at(uint32_t index16) const {
        return _mm_loadu_si128((const __m128i*)((const uint8_t*)(entries + PLACES - PLACE) + index16));
    }
    inline __m128i lane(const uint16_t* i) const {
        __m128i first = _mm_or_si128(at<0>(i[0]), at<1>(i[1]));
        if constexpr (PLACES == 2) return first;
        else return _mm_or_si128(first, _mm_or_si128(at<2>(i[2]), at<3>(i[3])));
    }
    // The entries of 32 bytes.
    inline __m256i block(const uint16_t* i) const { return _mm256_set_m128i(lane(i + PLACES), lane(i)); }
};
static Spread<uint32_t, 256> SPREAD_IQ3XXS;
static Spread<uint32_t, 512> SPREAD_IQ3S;
static Spread<uint64_t, 512> SPREAD_IQ2XS;
static Spread<uint64_t, 1024> SPREAD_IQ2S;

static inline void fillSpreads() {
    SPREAD_IQ3XXS.fill(GRID_IQ3XXS);
    SPREAD_IQ3S.fill(GRID_IQ3S);
    SPREAD_IQ2XS.fill(GRID_IQ2XS);
    SPREAD_IQ2S.fill(GRID_IQ2S);
}

// Bytes of 7 sign bits, completed by the eighth that makes their number even.
static inline __m256i evenSigns(__m256i bits) {
    const __m256i odd = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
    __m256i folded = _mm256_and_si256(_mm256_xor_si256(bits, _mm256_srli_epi16(bits, 4)), _mm256_set1_epi8(15));
    return _mm256_or_si256(bits, _mm256_shuffle_epi8(odd, folded));
}

// 8 words of 4 x 7 sign bits.
static inline void wordSigns(__m256i a, Lookup* work) {
    __m256i b = _mm256_and_si256(a, _mm256_set1_epi32(0x7f));
    b = _mm256_or_si256(b, _mm256_and_si256(_mm256_slli_epi32(a, 1), _mm256_set1_epi32(0x7f00)));
    b = _mm256_or_si256(b, _mm256_and_si256(_mm256_slli_epi32(a, 2), _mm256_set1_epi32(0x7f0000)));
    b = _mm256_or_si256(b, _mm256_and_si256(_mm256_slli_epi32(a, 3), _mm256_set1_epi32(0x7f000000)));
    _mm256_store_si256((__m256i*)work->signs, evenSigns(b));
}

// Four entries of 8 bytes.
static inline __m256i lookup8(const uint64_t* grid, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    auto two = [&](uint32_t i, uint32_t j) __attribute__((always_inline)) {
        return _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd((const double*)(grid + i)), (const double*)(grid + j)));
    };
    return _mm256_set_m128i(two(c, d), two(a, b));
}

// factor * (2 s + 1) of 16 nibbles s.
static inline void oddScales(const uint8_t* p, float factor, __m256* low, __m256* high) {
    __m128i s = _mm_loadl_epi64((const __m128i*)p);
    const __m128i mask = _mm_set1_epi8(15);
    __m128i n = _mm_unpacklo_epi8(_mm_and_si128(s, mask), _mm_and_si128(_mm_srli_epi16(s, 4), mask));
    n = _mm_add_epi8(_mm_add_epi8(n, n), _mm_set1_epi8(1));
    *low = _mm256_mul_ps(_mm256_set1_ps(factor), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(n)));
    *high = _mm256_mul_ps(_mm256_set1_ps(factor), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(n, 8))));
}

struct Grid : Base {
    static constexpr int SUBS = 8;
    static constexpr bool GRID = true;
    static constexpr bool SIGNED = true;
};

struct UnpackIQ2_XXS : Grid {
    static constexpr int BYTES = 66;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        // Index words and sign words alternate.
        __m256i a = _mm256_permute4x64_epi64(_mm256_shuffle_epi32(_mm256_loadu_si256((const __m256i*)(p + 2)), 0xd8), 0xd8);
        __m256i b = _mm256_permute4x64_epi64(_mm256_shuffle_epi32(_mm256_loadu_si256((const __m256i*)(p + 34)), 0xd8), 0xd8);
        wordSigns(_mm256_permute2x128_si256(a, b, 0x31), work);
    }
    static inline __m256i weights(const uint8_t* p, int sub, const Lookup& work) {
        const uint8_t* q = p + 2 + 8 * sub;
        return applySigns(lookup8(GRID_IQ2XXS, q[0], q[1], q[2], q[3]), work.signsOf(sub));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        // The upper halves of the sign words.
        __m256i s = _mm256_srli_epi32(_mm256_cvtepu16_epi32(words8<8>(p + 2 + 6)), 12);
        s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
        return _mm256_mul_ps(_mm256_set1_ps(half(p) * 0.125f), _mm256_cvtepi32_ps(s));
    }
};

struct UnpackIQ2_XS : Grid {
    static constexpr int BYTES = 74;
    static constexpr int HALVES = 2;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        __m256i a = _mm256_loadu_si256((const __m256i*)(p + 2)), b = _mm256_loadu_si256((const __m256i*)(p + 34));
        const __m256i mask = _mm256_set1_epi16(511 * 16);
        _mm256_store_si256((__m256i*)work->index, _mm256_and_si256(_mm256_slli_epi16(a, 4), mask));
        _mm256_store_si256((__m256i*)(work->index + 16), _mm256_and_si256(_mm256_slli_epi16(b, 4), mask));
        __m256i bits = _mm256_packus_epi16(_mm256_srli_epi16(a, 9), _mm256_srli_epi16(b, 9));
        _mm256_store_si256((__m256i*)work->signs, evenSigns(_mm256_permute4x64_epi64(bits, 0xd8)));
    }
    static inline __m256i weights(const uint8_t*, int sub, const Lookup& work) {
        return applySigns(SPREAD_IQ2XS.block(work.index + 4 * sub), work.signsOf(sub));
    }
    static inline void scales16(const uint8_t* p, int, __m256* low, __m256* high) { oddScales(p + 66, half(p) * 0.125f, low, high); }
};

struct UnpackIQ2_S : Grid {
    static constexpr int BYTES = 82;
    static constexpr int HALVES = 2;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        // Two bits of a byte for each of four indexes: byte i spread over words 4 i ... 4 i + 3, shifted by multiplication.
        const __m256i spread = _mm256_setr_epi8(0, -1, 0, -1, 0, -1, 0, -1, 1, -1, 1, -1, 1, -1, 1, -1, 2, -1, 2, -1, 2, -1, 2, -1, 3, -1, 3,
                                                -1, 3, -1, 3, -1);
        const __m256i factors = _mm256_set1_epi64x(0x0004001000400100);
        STRATA_UNROLL
        for (int i = 0; i < 2; i++) {
            __m256i q = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)(p + 2 + 16 * i)));
            __m256i h = _mm256_shuffle_epi8(_mm256_set1_epi32(int(read32(p + 66 + 4 * i))), spread);
            h = _mm256_and_si256(_mm256_mullo_epi16(h, factors), _mm256_set1_epi16(0x300));
            _mm256_store_si256((__m256i*)(work->index + 16 * i), _mm256_slli_epi16(_mm256_or_si256(q, h), 4));
        }
    }
    static inline __m256i weights(const uint8_t* p, int sub, const Lookup& work) {
        return applySigns(SPREAD_IQ2S.block(work.index + 4 * sub), read32(p + 34 + 4 * sub));
    }
    static inline void scales16(const uint8_t* p, int, __m256* low, __m256* high) { oddScales(p + 74, half(p) * 0.125f, low, high); }
};

struct UnpackIQ3_XXS : Grid {
    static constexpr int BYTES = 98;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        wordSigns(_mm256_loadu_si256((const __m256i*)(p + 66)), work);
        STRATA_UNROLL
        for (int i = 0; i < 4; i++) {
            __m256i q = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)(p + 2 + 16 * i)));
            _mm256_store_si256((__m256i*)(work->index + 16 * i), _mm256_slli_epi16(q, 4));
        }
    }
    static inline __m256i weights(const uint8_t*, int sub, const Lookup& work) {
        return applySigns(SPREAD_IQ3XXS.block(work.index + 8 * sub), work.signsOf(sub));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        __m256i s = _mm256_srli_epi32(_mm256_loadu_si256((const __m256i*)(p + 66)), 28);
        s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
        return _mm256_mul_ps(_mm256_set1_ps(half(p) * 0.25f), _mm256_cvtepi32_ps(s));
    }
};

struct UnpackIQ3_S : Grid {
    static constexpr int BYTES = 110;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        // The ninth bits: bit i of 16 to word i.
        const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
        STRATA_UNROLL
        for (int i = 0; i < 4; i++) {
            __m256i q = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)(p + 2 + 16 * i)));
            __m256i h = _mm256_and_si256(_mm256_set1_epi16(short(read16(p + 66 + 2 * i))), bit);
            __m256i ninth = _mm256_and_si256(_mm256_cmpeq_epi16(h, bit), _mm256_set1_epi16(4096));
            _mm256_store_si256((__m256i*)(work->index + 16 * i), _mm256_or_si256(_mm256_slli_epi16(q, 4), ninth));
        }
    }
    static inline __m256i weights(const uint8_t* p, int sub, const Lookup& work) {
        return applySigns(SPREAD_IQ3S.block(work.index + 8 * sub), read32(p + 74 + 4 * sub));
    }
    static inline __m256 scales(const uint8_t* p, int) {
        __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        __m256i s = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(int(read32(p + 106))), shift), _mm256_set1_epi32(15));
        s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
        return _mm256_mul_ps(_mm256_set1_ps(half(p)), _mm256_cvtepi32_ps(s));
    }
};

// A codebook type's indexes of the stored block at p. They are to be loaded from there: the compiler would extract them from vectors at
// two operations each.
template <class T>
static inline __attribute__((always_inline)) void prepareLookup(const uint8_t* p, Lookup* work) {
    if constexpr (T::GRID) {
        T::prepare(p, work);
        asm volatile("" : "+m"(*work));
    }
}

// Block `sub` of the stored block at p as bytes.
template <class T>
static inline __m256i weightsOf(const uint8_t* p, int sub, const Lookup& work) {
    if constexpr (T::GRID) return T::weights(p, sub, work);
    else return T::weights(p, sub);
}

// The same as rows read it: weights of codebook types come SHIFTED.
template <class T>
static inline Pair rowBlock(const uint8_t* p, int sub, const Lookup& work) {
    if constexpr (T::PAIRS) return T::unpack(p, sub);
    const __m256i bytes = weightsOf<T>(p, sub, work);
    return T::GRID ? shiftedPair(bytes) : T::SIGNED ? signedPair(bytes) : unsignedPair(bytes);
}

// Factors of n <= 8 blocks from p on, to output o of a panel of WIDTH outputs from its block b on.
template <class T, int WIDTH>
static inline void panelFactors(const uint8_t* p, int n, float scale, PanelQ* panel, int b, int o) {
    alignas(32) float values[16];
    if constexpr (T::HALVES == 2) {
        __m256 low, high;
        T::scales16(p, n, &low, &high);
        _mm256_store_ps(values, low);
        _mm256_store_ps(values + 8, high);
        for (int i = 0; i < 2 * n; i++) panel->scale[(2 * b + i) * WIDTH + o] = scale * values[i];
    } else {
        _mm256_store_ps(values, T::scales(p, n));
        for (int i = 0; i < n; i++) panel->scale[(b + i) * WIDTH + o] = scale * values[i];
        if constexpr (T::HAS_MIN) {
            _mm256_store_ps(values, T::mins(p, n));
            for (int i = 0; i < n; i++) panel->min[(b + i) * WIDTH + o] = scale * values[i];
        }
    }
}

// Types whose products run on int16 blocks.
#define STRATA_UNPACKED(X) \
    X(Q8_0) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS) X(NVFP4) X(MXFP4) X(Q2_0) \
    X(IQ2_XXS) X(IQ2_XS) X(IQ2_S) X(IQ3_XXS) X(IQ3_S)

}  // namespace strata::STRATA_NS
