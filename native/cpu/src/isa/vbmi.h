// Codebook entries without gathers (as the panels of prompts read them), and byte rows of other types with fewer operations, for AVX-512 VBMI.
//
// An entry of a codebook is 4 or 8 magnitudes out of at most 8 or 4: packed to 16 bits (3 or 2 bits a magnitude), the entries of a book are
// two planes of bytes, which two-register byte permutations look up 64 indexes at a time, 128 entries each. `vpmultishiftqb` then brings
// every code to a byte of its own and one byte permutation turns codes into magnitudes. books.h has the rows of these types.
#pragma once
#include "byte_rows.h"

namespace strata::STRATA_NS {

// Calls store(entry, place, level) for every magnitude of a codebook of n entries of `count` bytes, and lists the magnitudes of the levels. Whether there are no more
// than LEVELS.
template <int LEVELS, class F>
static bool levelsOf(const void* entries, int n, int count, uint8_t* levels, const F& store) {
    const uint8_t* e = (const uint8_t*)entries;
    int known = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < count; j++) {
            int level = 0;
            while (level < known && levels[level] != e[i * count + j]) level++;
            if (level == LEVELS) return false;
            if (level == known) levels[known++] = e[i * count + j];
            store(i, j, level);
        }
    }
    return true;
}

// 64 entries of one plane of a book: the low 7 bits of every index byte, the masks give the bits above.
template <int N>
static inline __attribute__((always_inline)) __m512i lookUp(const uint8_t (&plane)[N], __m512i index, const __mmask64* bits) {
    __m512i part[N / 128];
    STRATA_UNROLL
    for (int i = 0; i < N / 128; i++)
        part[i] = _mm512_permutex2var_epi8(_mm512_load_si512(plane + 128 * i), index, _mm512_load_si512(plane + 128 * i + 64));
    int bit = 0;
    STRATA_UNROLL
    for (int n = N / 128; n > 1; n /= 2, bit++)
        STRATA_UNROLL
        for (int i = 0; i < n / 2; i++) part[i] = _mm512_mask_blend_epi8(bits[bit], part[2 * i], part[2 * i + 1]);
    return part[0];
}

// A codebook of N entries of 32 / BITS / 2 ... 8 bytes each as planes of packed entries; COUNT magnitudes an entry.
template <int N, int COUNT>
struct Packed {
    static constexpr int BITS = COUNT == 4 ? 3 : 2;
    static constexpr int LEVELS = 1 << BITS;
    alignas(64) uint8_t low[N], high[N];
    alignas(64) uint8_t values[64];  // magnitudes with 128 added, by the low bits of an index

    // Whether every entry could be packed.
    bool fill(const void* entries) {
        uint8_t levels[LEVELS] = {};
        memset(low, 0, sizeof low);
        memset(high, 0, sizeof high);
        const bool fits = levelsOf<LEVELS>(entries, N, COUNT, levels, [&](int i, int j, int level) {
            low[i] |= uint8_t(level << (BITS * j));
            high[i] |= uint8_t(level << (BITS * j) >> 8);
        });
        for (int i = 0; i < 64; i++) values[i] = uint8_t(128 + levels[i % LEVELS]);
        return fits;
    }

    // Magnitudes with 128 added of the packed entries at `words`, 64 in all.
    inline __m512i expand(const uint16_t* words) const {
        __m512i w;
        if constexpr (COUNT == 4) {
            w = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i*)words));
            // Two entries a word of 64 bits, four codes of 3 bits each.
            w = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1916131009060300), w);
        } else {
            w = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i*)words));
            w = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0e0c0a0806040200), w);
        }
        return _mm512_permutexvar_epi8(w, _mm512_load_si512(values));
    }
};

static Packed<256, 4> PACKED_IQ3XXS;
static Packed<512, 4> PACKED_IQ3S;
static Packed<256, 8> PACKED_IQ2XXS;
static Packed<512, 8> PACKED_IQ2XS;
static Packed<1024, 8> PACKED_IQ2S;

static inline __mmask64 mask64(const uint8_t* p) { return _cvtu64_mask64(read64(p)); }

// Magnitudes with 128 added get their signs: 128 + m negated is 128 - m.
static inline __m512i negated(__m512i w, __mmask64 negative) {
    return _mm512_mask_sub_epi8(w, negative, _mm512_setzero_si512(), w);
}

// 64 packed entries, whose planes are in the order of the indexes, to work->index.
static inline void keepEntries(__m512i low, __m512i high, Lookup* work) {
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    low = _mm512_permutexvar_epi64(order, low);
    high = _mm512_permutexvar_epi64(order, high);
    _mm512_storeu_si512(work->index, _mm512_unpacklo_epi8(low, high));
    _mm512_storeu_si512(work->index + 32, _mm512_unpackhi_epi8(low, high));
}

struct BytesIQ3_XXS : UnpackIQ3_XXS {
    static constexpr int OFFSET = 128;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        wordSigns(_mm256_loadu_si256((const __m256i*)(p + 66)), work);
        const __m512i q = _mm512_loadu_si512(p + 2);
        const __mmask64 bits[] = {_mm512_movepi8_mask(q)};
        keepEntries(lookUp(PACKED_IQ3XXS.low, q, bits), lookUp(PACKED_IQ3XXS.high, q, bits), work);
    }
    static inline __m512i bytes(const uint8_t*, int i, const Lookup& work) {
        return negated(PACKED_IQ3XXS.expand(work.index + 16 * i), mask64(work.signs + 8 * i));
    }
};

struct BytesIQ3_S : UnpackIQ3_S {
    static constexpr int OFFSET = 128;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        const __m512i q = _mm512_loadu_si512(p + 2);
        const __mmask64 bits[] = {_mm512_movepi8_mask(q), mask64(p + 66)};
        keepEntries(lookUp(PACKED_IQ3S.low, q, bits), lookUp(PACKED_IQ3S.high, q, bits), work);
    }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup& work) {
        return negated(PACKED_IQ3S.expand(work.index + 16 * i), mask64(p + 74 + 8 * i));
    }
};

struct BytesIQ2_XXS : UnpackIQ2_XXS {
    static constexpr int OFFSET = 128;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        UnpackIQ2_XXS::prepare(p, work);
        // Every other 4 bytes are indexes; what is looked up for the words of signs between them is dropped.
        const __m512i q = _mm512_loadu_si512(p + 2);
        const __mmask64 bits[] = {_mm512_movepi8_mask(q)};
        const __m512i low = lookUp(PACKED_IQ2XXS.low, q, bits), high = lookUp(PACKED_IQ2XXS.high, q, bits);
        _mm512_storeu_si512(work->index, _mm512_unpacklo_epi64(_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high)));
    }
    static inline __m512i bytes(const uint8_t*, int i, const Lookup& work) {
        return negated(PACKED_IQ2XXS.expand(work.index + 8 * i), mask64(work.signs + 8 * i));
    }
};

// Entries of indexes in the low bytes of words; what the high bytes look up is dropped.
template <class P>
static inline void keepWords(const P& book, __m512i q, const __mmask64* bits, Lookup* work) {
    const __m512i low = _mm512_and_si512(lookUp(book.low, q, bits), _mm512_set1_epi16(0xff));
    _mm512_storeu_si512(work->index, _mm512_or_si512(low, _mm512_slli_epi16(lookUp(book.high, q, bits), 8)));
}

struct BytesIQ2_XS : UnpackIQ2_XS {
    static constexpr int OFFSET = 128;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        const __m512i q = _mm512_loadu_si512(p + 2);
        const __mmask64 bits[] = {_mm512_movepi8_mask(q), _mm512_movepi8_mask(_mm512_srli_epi16(q, 1))};
        keepWords(PACKED_IQ2XS, q, bits, work);
        _mm256_store_si256((__m256i*)work->signs, evenSigns(_mm512_cvtepi16_epi8(_mm512_srli_epi16(q, 9))));
    }
    static inline __m512i bytes(const uint8_t*, int i, const Lookup& work) {
        return negated(PACKED_IQ2XS.expand(work.index + 8 * i), mask64(work.signs + 8 * i));
    }
};

struct BytesIQ2_S : UnpackIQ2_S {
    static constexpr int OFFSET = 128;
    static inline void prepare(const uint8_t* p, Lookup* work) {
        const __m512i q = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i*)(p + 2)));
        // Byte j holds two bits more of indexes 4 j ... 4 j + 3: each is brought to the top of its index's low byte.
        const __m512i h = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)(p + 66)));
        const __m512i eighth = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x003f003d003b0039), h);
        const __m512i ninth = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0000003e003c003a), h);
        const __mmask64 bits[] = {_mm512_movepi8_mask(q), _mm512_movepi8_mask(eighth), _mm512_movepi8_mask(ninth)};
        keepWords(PACKED_IQ2S, q, bits, work);
    }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup& work) {
        return negated(PACKED_IQ2S.expand(work.index + 8 * i), mask64(p + 34 + 8 * i));
    }
};

struct VbmiQ2_0 : UnpackQ2_0 {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        __m512i q = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i*)(p + 18 * i + 2)));
        q = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0e0c0a0806040200), q);
        return _mm512_and_si512(q, _mm512_set1_epi8(3));
    }
};

// 4-bit codes: a permutation of 64 bytes that holds the 16 values four times looks at the low bits of a byte alone, so nothing has to be
// masked before it.
struct VbmiIQ4_NL : BytesIQ4_NL {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_permutexvar_epi8(raw(p, i), iq4Table64()); }
};
struct VbmiIQ4_XS : BytesIQ4_XS {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_permutexvar_epi8(raw(p, i), iq4Table64()); }
};
struct VbmiMXFP4 : BytesMXFP4 {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_permutexvar_epi8(raw(p, i), fp4Table64()); }
};
struct VbmiNVFP4 : BytesNVFP4 {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_permutexvar_epi8(raw(p, i), fp4Table64()); }
};
// High nibbles stay where they are; their blocks' factors are a sixteenth.
struct VbmiQ4_K : UnpackQ4_K {
    static constexpr bool ODD_SIXTEENFOLD = true;
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        const __m512i q = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(p + 16 + 32 * i)));
        const int64_t low = 0x0f0f0f0f0f0f0f0f;
        return _mm512_and_si512(q, _mm512_setr_epi64(low, low, low, low, ~low, ~low, ~low, ~low));
    }
};

// Codebook types.
#define STRATA_BOOKS(X) X(IQ2_XXS) X(IQ2_XS) X(IQ2_S) X(IQ3_XXS) X(IQ3_S)

template <class = void>
static bool fillBooks() {
    return PACKED_IQ3XXS.fill(GRID_IQ3XXS) && PACKED_IQ3S.fill(GRID_IQ3S) && PACKED_IQ2XXS.fill(GRID_IQ2XXS) &&
           PACKED_IQ2XS.fill(GRID_IQ2XS) && PACKED_IQ2S.fill(GRID_IQ2S);
}

// Takes the rows that VBMI makes cheaper to this file's.
template <class = void>
static void fillVbmiRows(Kernels* k) {
#define X(name) k->dots[name] = dotBytes<Vbmi##name, Unpack##name>;
    X(Q2_0) X(IQ4_NL) X(IQ4_XS) X(MXFP4) X(NVFP4) X(Q4_K)
#undef X
}

}  // namespace strata::STRATA_NS
