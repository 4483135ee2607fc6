// Codebook types in steps of 16 outputs (step_rows.h): weights as bytes, from look-ups by byte permutations and products of bit matrices (GFNI).
//
// As in vbmi.h an entry of a codebook packs into two bytes, and 64 indexes are looked up at once in planes of bytes. What differs is how entries become
// weights. Entries of 8 weights have one plane a bit: 8 bits of low ones, 8 of high ones and 8 signs are rows of a bit matrix whose columns are the
// weights' codes, and turning it is one product for two entries. Entries of 4 weights have a half byte a weight, into which signs are put by two
// such products for 64 entries; their weights stay in the order in which they come out. So no sign costs a mask, and no weight an operation of its own.
#pragma once
#include "vbmi.h"

namespace strata::STRATA_NS {

constexpr int STEP_OUTPUTS = 16;
constexpr int UNIT_INPUTS = 64;
// Bytes of weights of 64 inputs each, of up to 16 outputs; of 256 inputs there are four.
using Units = uint8_t (*)[STEP_OUTPUTS][UNIT_INPUTS];
// The units of output j.
static inline Units unitsOf(Units units, int j) { return (Units)(units[0] + j); }

// Every byte times a bit matrix: bit b of a byte becomes the parity of the byte and row 7 - b.
static inline __m512i timesBits(__m512i bytes, __m512i matrix) { return _mm512_gf2p8affine_epi64_epi8(bytes, matrix, 0); }

// The columns of a bit matrix in every 8 bytes: byte i gets bit i of all of them, the first byte's in its top bit.
static inline __m512i turned(__m512i rows) { return timesBits(_mm512_set1_epi64(int64_t(0x8040201008040201)), rows); }

// A book of entries of 8 weights of up to 4 levels.
template <int N>
struct Bits8 {
    alignas(64) uint8_t low[N], high[N];
    alignas(64) uint8_t values[64];

    bool fill(const void* entries) {
        uint8_t levels[4] = {};
        memset(low, 0, sizeof low);
        memset(high, 0, sizeof high);
        const bool fits = levelsOf<4>(entries, N, 8, levels, [&](int i, int j, int level) {
            low[i] |= uint8_t((level & 1) << j);
            high[i] |= uint8_t((level >> 1) << j);
        });
        // A turned half byte: low and high bit of the level, then twice the sign.
        for (int i = 0; i < 64; i++) {
            const int magnitude = levels[(i >> 3 & 1) + (i >> 1 & 2)];
            values[i] = uint8_t(128 + (i >> 1 & 1 ? -magnitude : magnitude));
        }
        return fits;
    }

    // The weights of 64 entries of two outputs (in the order of PAIR_ORDER): four units of the first, four of the second.
    inline __attribute__((always_inline)) void unpack(__m512i index, const __mmask64* bits, __m512i signs, Units first, Units second) const {
        const __m512i l = lookUp(low, index, bits), h = lookUp(high, index, bits);
        const __m512i table = _mm512_load_si512(values);
        auto two = [&](__m512i rows, int i, Units target) __attribute__((always_inline)) {
            const __m512i codes = turned(rows);
            _mm512_store_si512(target[i], _mm512_permutexvar_epi8(_mm512_srli_epi16(codes, 4), table));
            _mm512_store_si512(target[i + 1], _mm512_permutexvar_epi8(codes, table));
        };
        const __m512i a = _mm512_unpacklo_epi8(l, h), b = _mm512_unpackhi_epi8(l, h);
        const __m512i s = _mm512_unpacklo_epi8(signs, signs), t = _mm512_unpackhi_epi8(signs, signs);
        two(_mm512_unpacklo_epi16(a, s), 0, first);
        two(_mm512_unpackhi_epi16(a, s), 2, first);
        two(_mm512_unpacklo_epi16(b, t), 0, second);
        two(_mm512_unpackhi_epi16(b, t), 2, second);
    }
};

// A book of entries of 4 weights of up to 8 levels.
template <int N>
struct Bits4 {
    alignas(64) uint8_t low[N], high[N];
    alignas(64) uint8_t values[64];

    bool fill(const void* entries) {
        uint8_t levels[8] = {};
        memset(low, 0, sizeof low);
        memset(high, 0, sizeof high);
        const bool fits = levelsOf<8>(entries, N, 4, levels, [&](int i, int j, int level) { (j < 2 ? low : high)[i] |= uint8_t(level << (j % 2 * 4)); });
        for (int i = 0; i < 64; i++) values[i] = uint8_t(128 + (i & 8 ? -levels[i & 7] : levels[i & 7]));
        return fits;
    }

    // The weights of 64 entries: unit w has weight w of every entry.
    inline __attribute__((always_inline)) void unpack(__m512i index, const __mmask64* bits, __m512i lowSigns, __m512i highSigns,
                                                      Units target) const {
        const __m512i table = _mm512_load_si512(values);
        const __m512i l = _mm512_or_si512(lookUp(low, index, bits), lowSigns), h = _mm512_or_si512(lookUp(high, index, bits), highSigns);
        _mm512_store_si512(target[0], _mm512_permutexvar_epi8(l, table));
        _mm512_store_si512(target[1], _mm512_permutexvar_epi8(_mm512_srli_epi16(l, 4), table));
        _mm512_store_si512(target[2], _mm512_permutexvar_epi8(h, table));
        _mm512_store_si512(target[3], _mm512_permutexvar_epi8(_mm512_srli_epi16(h, 4), table));
    }
};

static Bits8<256> BITS_IQ2XXS;
static Bits8<512> BITS_IQ2XS;
static Bits8<1024> BITS_IQ2S;
static Bits4<256> BITS_IQ3XXS;
static Bits4<512> BITS_IQ3S;

// Byte 16 l + 4 k + 2 u + v of a vector stands for entry 16 k + 8 v + 2 l + u of two outputs' 32 each: after the unpacking operations every
// unit of 64 weights has its 8 entries in order. Here: which byte of both outputs' 64 bytes that is.
struct PairOrder {
    alignas(64) uint8_t entry[64];    // of 32 + 32 bytes
    alignas(64) uint8_t word[64];     // of 64 + 64 bytes, the lower byte of a word of 16 bits
    alignas(64) uint8_t quarter[64];  // of 64 + 64 bytes, the first 4 of every 8
    alignas(64) uint8_t topBits[64];  // where in 64 bits the two of the entry are, moved to the top of a byte

    void fill() {
        for (int i = 0; i < 64; i++) {
            const int e = i / 4 % 4 * 16 + i % 2 * 8 + i / 16 * 2 + i / 2 % 2;
            entry[i] = uint8_t(e);
            word[i] = uint8_t(2 * e);
            quarter[i] = uint8_t(e / 32 * 64 + e % 32 / 4 * 8 + e % 4);
            topBits[i] = uint8_t((2 * (e % 32) + 58) & 63);
        }
    }
};
static PairOrder PAIR_ORDER;

// Bit matrices: signs complete themselves by the eighth that makes their number even, read from bits 0 to 6 or from bits 1 to 7.
constexpr int64_t EVEN_OF_LOW = 0x010204081020407f, EVEN_OF_HIGH = 0x02040810204080fe;

// Calls f(p, q, j) for every two outputs; a last single one goes with itself.
template <class F>
static inline __attribute__((always_inline)) void byPairs(const uint8_t* p, int64_t rowBytes, int outputs, const F& f) {
    for (int j = 0; j < outputs; j += 2, p += 2 * rowBytes) f(p, j + 1 < outputs ? p + rowBytes : p, j);
}

// factor * (2 s + 1) of the 16 half bytes s at AT, for every output.
template <int AT>
static inline void oddStepScales(const uint8_t* p, int64_t rowBytes, int outputs, float (*scales)[16]) {
    alignas(32) uint16_t halves[STEP_OUTPUTS] = {};
    alignas(64) float once[STEP_OUTPUTS], twice[STEP_OUTPUTS];
    for (int j = 0; j < outputs; j++) halves[j] = read16(p + j * rowBytes);
    const __m512 factors = _mm512_mul_ps(_mm512_cvtph_ps(_mm256_load_si256((const __m256i*)halves)), _mm512_set1_ps(0.125f));
    _mm512_storeu_ps(once, factors);
    _mm512_storeu_ps(twice, _mm512_add_ps(factors, factors));
    const __m512i fours = _mm512_set1_epi32(15);
    const __m512i at = _mm512_setr_epi64(0x0000000400000000, 0x0000000c00000008, 0x0000001400000010, 0x0000001c00000018, 0x0000002400000020, 0x0000002c00000028,
                                         0x0000003400000030, 0x0000003c00000038);
    for (int j = 0; j < outputs; j++) {
        const __m512i s = _mm512_and_si512(_mm512_multishift_epi64_epi8(at, _mm512_set1_epi64(int64_t(read64(p + j * rowBytes + AT)))), fours);
        _mm512_storeu_ps(scales[j], _mm512_fmadd_ps(_mm512_cvtepi32_ps(s), _mm512_set1_ps(twice[j]), _mm512_set1_ps(once[j])));
    }
}

struct BookIQ2_XXS : BytesIQ2_XXS {
    static constexpr bool STRIDED = false;
    static inline void unpack(const uint8_t* p, int64_t rowBytes, int outputs, Units units) {
        const __m512i order = _mm512_load_si512(PAIR_ORDER.quarter);
        byPairs(p, rowBytes, outputs, [&](const uint8_t* a, const uint8_t* b, int j) __attribute__((always_inline)) {
            const __m512i x = _mm512_loadu_si512(a + 2), y = _mm512_loadu_si512(b + 2);
            const __m512i index = _mm512_permutex2var_epi8(x, order, y);
            // 7 bits each from bit 32 on.
            const __m512i at = _mm512_set1_epi64(0x352e2720352e2720);
            const __m512i signs = _mm512_permutex2var_epi8(_mm512_multishift_epi64_epi8(at, x), order, _mm512_multishift_epi64_epi8(at, y));
            const __mmask64 bits[] = {_mm512_movepi8_mask(index)};
            BITS_IQ2XXS.unpack(index, bits, timesBits(signs, _mm512_set1_epi64(EVEN_OF_LOW)), unitsOf(units, j), unitsOf(units, j + 1));
        });
    }
};

struct BookIQ2_XS : BytesIQ2_XS {
    static constexpr bool STRIDED = false;
    static inline void stepScales(const uint8_t* p, int64_t rowBytes, int outputs, float (*scales)[16]) { oddStepScales<66>(p, rowBytes, outputs, scales); }
    static inline void unpack(const uint8_t* p, int64_t rowBytes, int outputs, Units units) {
        const __m512i order = _mm512_load_si512(PAIR_ORDER.word);
        byPairs(p, rowBytes, outputs, [&](const uint8_t* a, const uint8_t* b, int j) __attribute__((always_inline)) {
            const __m512i x = _mm512_loadu_si512(a + 2), y = _mm512_loadu_si512(b + 2);
            const __m512i index = _mm512_permutex2var_epi8(x, order, y);
            const __m512i upper = _mm512_permutex2var_epi8(x, _mm512_or_si512(order, _mm512_set1_epi8(1)), y);
            const __mmask64 bits[] = {_mm512_movepi8_mask(index), _mm512_movepi8_mask(_mm512_slli_epi16(upper, 7))};
            BITS_IQ2XS.unpack(index, bits, timesBits(upper, _mm512_set1_epi64(EVEN_OF_HIGH)), unitsOf(units, j), unitsOf(units, j + 1));
        });
    }
};

struct BookIQ2_S : BytesIQ2_S {
    static constexpr bool STRIDED = false;
    static inline void stepScales(const uint8_t* p, int64_t rowBytes, int outputs, float (*scales)[16]) { oddStepScales<74>(p, rowBytes, outputs, scales); }
    static inline void unpack(const uint8_t* p, int64_t rowBytes, int outputs, Units units) {
        const __m512i order = _mm512_load_si512(PAIR_ORDER.entry), top = _mm512_load_si512(PAIR_ORDER.topBits);
        auto both = [&](const uint8_t* a, const uint8_t* b) __attribute__((always_inline)) {
            const __m512i x = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)a));
            return _mm512_permutexvar_epi8(order, _mm512_inserti64x4(x, _mm256_loadu_si256((const __m256i*)b), 1));
        };
        byPairs(p, rowBytes, outputs, [&](const uint8_t* a, const uint8_t* b, int j) __attribute__((always_inline)) {
            const __m512i index = both(a + 2, b + 2);
            // Every other 8 bytes are of the second output.
            const __m128i h = _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd((const double*)(a + 66)), (const double*)(b + 66)));
            const __m512i upper = _mm512_multishift_epi64_epi8(top, _mm512_broadcast_i32x4(h));
            const __mmask64 bits[] = {_mm512_movepi8_mask(index), _mm512_movepi8_mask(_mm512_slli_epi16(upper, 1)), _mm512_movepi8_mask(upper)};
            BITS_IQ2S.unpack(index, bits, both(a + 34, b + 34), unitsOf(units, j), unitsOf(units, j + 1));
        });
    }
};

// Where in 64 inputs what evenThenOdd makes of them comes from: dword 4 w + 2 v + z has every eighth input from 32 z + 4 v + w on.
struct StridedOrder {
    alignas(64) uint8_t from[64];

    void fill() {
        for (int i = 0; i < 64; i++) {
            const int word = i / 4, w = word / 4, v = word / 2 % 2, z = word % 2;
            from[i] = uint8_t(32 * z + 4 * v + w + 8 * (i % 4));
        }
    }
};
static StridedOrder STRIDED_ORDER;

// Of 16 entries the even ones, then the odd ones: their signs are the low and the high halves of 8 bytes.
static inline __m512i evenThenOdd(__m512i bytes) {
    return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)));
}
// Every 8 of 32 bytes twice.
static inline __m512i eightTwice(const uint8_t* p) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)p)));
}
// 64 bits in the same order.
static inline __mmask64 evenThenOddBits(const uint8_t* p) {
    const uint64_t bits = read64(p), even = 0x5555555555555555;
    return _cvtu64_mask64(_pdep_u64(_pext_u64(bits, even), 0x00ff00ff00ff00ff) | _pdep_u64(_pext_u64(bits, ~even), 0xff00ff00ff00ff00));
}
// The matrix for even entries and that for odd ones.
static inline __m512i alternate(int64_t even, int64_t odd) { return _mm512_setr_epi64(even, odd, even, odd, even, odd, even, odd); }
// Bits `third` and `seventh` of a byte (or parities of several) to bits 3 and 7.
constexpr int64_t signBits(int third, int seventh) { return int64_t(uint64_t(third) << 32 | uint64_t(seventh)); }

struct BookIQ3_XXS : BytesIQ3_XXS {
    static constexpr bool STRIDED = true;
    static inline void unpack(const uint8_t* p, int64_t rowBytes, int outputs, Units units) {
        for (int j = 0; j < outputs; j++, p += rowBytes) {
            const __m512i index = evenThenOdd(_mm512_loadu_si512(p + 2));
            // 7 bits each; the eighth weight's sign makes their number even.
            const __m512i signs = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720150e0700), eightTwice(p + 66));
            const __mmask64 bits[] = {_mm512_movepi8_mask(index)};
            BITS_IQ3XXS.unpack(index, bits, timesBits(signs, alternate(signBits(1, 2), signBits(16, 32))),
                               timesBits(signs, alternate(signBits(4, 8), signBits(64, 127))), unitsOf(units, j));
        }
    }
};

struct BookIQ3_S : BytesIQ3_S {
    static constexpr bool STRIDED = true;
    static inline void unpack(const uint8_t* p, int64_t rowBytes, int outputs, Units units) {
        for (int j = 0; j < outputs; j++, p += rowBytes) {
            const __m512i index = evenThenOdd(_mm512_loadu_si512(p + 2));
            const __m512i signs = eightTwice(p + 74);
            const __mmask64 bits[] = {_mm512_movepi8_mask(index), evenThenOddBits(p + 66)};
            BITS_IQ3S.unpack(index, bits, timesBits(signs, alternate(signBits(1, 2), signBits(16, 32))),
                             timesBits(signs, alternate(signBits(4, 8), signBits(64, 128))), unitsOf(units, j));
        }
    }
};

static bool fillBits() {
    PAIR_ORDER.fill();
    STRIDED_ORDER.fill();
    return BITS_IQ2XXS.fill(GRID_IQ2XXS) && BITS_IQ2XS.fill(GRID_IQ2XS) && BITS_IQ2S.fill(GRID_IQ2S) && BITS_IQ3XXS.fill(GRID_IQ3XXS) &&
           BITS_IQ3S.fill(GRID_IQ3S);
}

}  // namespace strata::STRATA_NS
