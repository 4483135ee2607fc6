// Packing of stored matrices (packed.h), once while a model is loaded. AVX2 packs for every set of instructions.
#pragma once
#include "quant_tiles.h"

namespace strata::STRATA_NS {

// Codes of BITS bits from the signed weights of a codebook of magnitudes m, whose levels are m >> SHIFT; the highest bit is the sign.
template <int BITS, int SHIFT>
static inline __m256i signedCodes(__m256i weights) {
    constexpr int SIGN = 1 << (BITS - 1);
    const __m256i level = _mm256_and_si256(_mm256_srli_epi16(_mm256_abs_epi8(weights), SHIFT), _mm256_set1_epi8(SIGN - 1));
    return _mm256_or_si256(level, _mm256_and_si256(_mm256_srli_epi16(weights, 8 - BITS), _mm256_set1_epi8(SIGN)));
}

// Codes of block `sub` of the stored block at p, and the factors of the run at p for lane `lane` of `lanes`, to those `at`.
struct PackMXFP4 : UnpackMXFP4 {
    static inline __m256i codes(const uint8_t* p, int, const Lookup&) { return nibbles(p + 1); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        for (int b = 0; b < 8; b++) at[b * lanes + lane] = p[b * BYTES];
    }
};
struct PackNVFP4 : UnpackNVFP4 {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup&) { return halfNibbles(p + 4 + 16 * sub); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        for (int i = 0; i < 16; i++) {
            const uint8_t scale = p[i / 4 * BYTES + i % 4] & 0x7f;
            at[i * lanes + lane] = scale == 0x7f ? 0 : scale;
        }
    }
};
template <class T>
struct PackHalves : T {
    static inline __m256i codes(const uint8_t* p, int, const Lookup&) { return nibbles(p + 2); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        for (int b = 0; b < 8; b++) memcpy(at + (b * lanes + lane) * 2, p + b * T::BYTES, 2);
    }
};
using PackQ4_0 = PackHalves<UnpackQ4_0>;
using PackIQ4_NL = PackHalves<UnpackIQ4_NL>;
// The low bytes of 8 words.
static inline void byteFactors(__m256i words, uint8_t* at, int lanes, int lane) {
    alignas(32) int32_t factors[8];
    _mm256_store_si256((__m256i*)factors, words);
    for (int b = 0; b < 8; b++) at[b * lanes + lane] = uint8_t(factors[b]);
}
template <class T>
struct PackMinima : T {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup&) { return T::weights(p, sub); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        __m256i scales, minima;
        sixBits(p + 4, &scales, &minima);
        memcpy(at + 2 * lane, p, 2);
        memcpy(at + 2 * lanes + 2 * lane, p + 2, 2);
        byteFactors(_mm256_or_si256(scales, _mm256_slli_epi32(_mm256_srli_epi32(minima, 4), 6)), at + 4 * lanes, lanes, lane);
        alignas(32) uint32_t least[8];
        _mm256_store_si256((__m256i*)least, minima);
        uint32_t word = 0;
        for (int b = 0; b < 8; b++) word |= (least[b] & 15) << (4 * b);
        memcpy(at + 12 * lanes + 4 * lane, &word, 4);
    }
};
using PackQ4_K = PackMinima<UnpackQ4_K>;
using PackQ5_K = PackMinima<UnpackQ5_K>;
struct PackQ6_K : UnpackQ6_K {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup&) { return weights(p, sub); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        memcpy(at + 2 * lane, p + 208, 2);
        for (int i = 0; i < 16; i++) at[2 * lanes + i * lanes + lane] = p[192 + i];
    }
};
struct PackIQ4_XS : UnpackIQ4_XS {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup&) { return nibbles(p + 8 + 16 * sub); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        memcpy(at + 2 * lane, p, 2);
        byteFactors(blockFactors(p), at + 2 * lanes, lanes, lane);
    }
};
struct PackQ2_0 : UnpackQ2_0 {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup&) { return weights(p, sub); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        for (int i = 0; i < 4; i++) memcpy(at + (i * lanes + lane) * 2, p + i * BYTES, 2);
    }
};
// The factor of a run and words of 8 half bytes.
static inline void oddFactors(const uint8_t* factor, const uint32_t* words, int count, uint8_t* at, int lanes, int lane) {
    memcpy(at + 2 * lane, factor, 2);
    for (int i = 0; i < count; i++) memcpy(at + 2 * lanes + (i * lanes + lane) * 4, words + i, 4);
}
// The highest 4 bits of 8 words STRIDE bytes apart.
template <int STRIDE>
static inline uint32_t topHalves(const uint8_t* p) {
    uint32_t word = 0;
    for (int i = 0; i < 8; i++) word |= read32(p + STRIDE * i) >> 28 << (4 * i);
    return word;
}
template <class T, int AT>
struct PackGrid2 : T {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup& work) { return signedCodes<3, 4>(T::weights(p, sub, work)); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        const uint32_t words[2] = {read32(p + AT), read32(p + AT + 4)};
        oddFactors(p, words, 2, at, lanes, lane);
    }
};
using PackIQ2_XS = PackGrid2<UnpackIQ2_XS, 66>;
using PackIQ2_S = PackGrid2<UnpackIQ2_S, 74>;
struct PackIQ2_XXS : UnpackIQ2_XXS {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup& work) { return signedCodes<3, 4>(weights(p, sub, work)); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        const uint32_t word = topHalves<8>(p + 6);
        oddFactors(p, &word, 1, at, lanes, lane);
    }
};
struct PackIQ3_XXS : UnpackIQ3_XXS {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup& work) { return signedCodes<4, 3>(weights(p, sub, work)); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        const uint32_t word = topHalves<4>(p + 66);
        oddFactors(p, &word, 1, at, lanes, lane);
    }
};
struct PackIQ3_S : UnpackIQ3_S {
    static inline __m256i codes(const uint8_t* p, int sub, const Lookup& work) { return signedCodes<4, 1>(weights(p, sub, work)); }
    static void factors(const uint8_t* p, uint8_t* at, int lanes, int lane) {
        const uint32_t word = read32(p + 106);
        oddFactors(p, &word, 1, at, lanes, lane);
    }
};

// The vectors of a block of 8 outputs, steps[i] having the codes of inputs 4 i ... 4 i + 3.
template <int BITS>
static inline void joinSteps(const __m256i* steps, __m256i* vectors) {
    auto join = [](__m256i low, __m256i high, int shift) { return _mm256_or_si256(low, _mm256_slli_epi16(high, shift)); };
    if constexpr (BITS >= 4) {
        auto low = [](__m256i step) { return BITS == 4 ? step : _mm256_and_si256(step, _mm256_set1_epi8(15)); };
        for (int i = 0; i < 4; i++) vectors[i] = join(low(steps[i]), low(steps[i + 4]), 4);
        for (int i = 4; i < BITS; i++) vectors[i] = _mm256_setzero_si256();
        for (int i = 0; i < 8 && BITS > 4; i++) {
            const __m256i high = _mm256_and_si256(_mm256_srli_epi16(steps[i], 4), _mm256_set1_epi8(15));
            __m256i& target = vectors[BITS == 5 ? 4 : 4 + i / 4];
            target = join(target, high, BITS == 5 ? i : i % 4 * 2);
        }
    } else if constexpr (BITS == 2) {
        for (int i = 0; i < 2; i++) vectors[i] = join(join(steps[4 * i], steps[4 * i + 1], 2), join(steps[4 * i + 2], steps[4 * i + 3], 2), 4);
    } else {
        for (int i = 0; i < 3; i++) vectors[i] = join(steps[2 * i], steps[2 * i + 1], 3);
        for (int i = 0; i < 2; i++) {
            const __m256i low = _mm256_and_si256(steps[6 + i], _mm256_set1_epi8(3));
            vectors[i] = join(vectors[i], low, 6);
            vectors[2] = join(vectors[2], _mm256_srli_epi16(_mm256_sub_epi8(steps[6 + i], low), 2), 6 + i);
        }
    }
}

template <class T, int BITS, Factors FACTORS>
static void packMatrix(const uint8_t* w, int64_t rowBytes, int lanes, int inputs, uint8_t* packed) {
    uint8_t* codes = packed + lanes * allFactors(inputs / RUN_INPUTS, factorBytes(FACTORS));
    for (int at = 0; at < inputs; at += RUN_INPUTS, w += 8 / T::SUBS * T::BYTES, packed += lanes * factorBytes(FACTORS), codes += lanes * codeBytes(BITS)) {
        for (int first = 0; first < lanes; first += 8) {
            const uint8_t* rows[8];
            Lookup work[8];
            for (int j = 0; j < 8; j++) {
                rows[j] = w + (first + j) * rowBytes;
                prepareLookup<T>(rows[j], work + j);
                T::factors(rows[j], packed, lanes, first + j);
            }
            for (int b = 0; b < 8; b++) {
                __m256i own[8], steps[8], vectors[BITS];
                for (int j = 0; j < 8; j++) own[j] = T::codes(rows[j] + b / T::SUBS * T::BYTES, b % T::SUBS, work[j]);
                transpose8(own, steps);
                joinSteps<BITS>(steps, vectors);
                for (int i = 0; i < BITS; i++) _mm256_storeu_si256((__m256i*)(codes + ((b * BITS + i) * lanes + first) * 4), vectors[i]);
            }
        }
    }
}

template <class = void>
static void fillPacks(Kernels* k) {
#define X(name, bits, factors, unit, values) k->packs[name] = packMatrix<Pack##name, bits, factors>;
    STRATA_PACKED(X)
#undef X
}

}  // namespace strata::STRATA_NS
