// Products with weights in stored order by byte dot products (decode, up to 8 activation rows), for AVX-512 VNNI.
//
// A 16-bit activation is 256 * high + low with signed bytes, so two `vpdpbusd` give the same exact sums as 16-bit products, without
// widening the weights, 64 of them at a time. Weights are unsigned: what was added to them comes off through the activations' sums.
// Bytes moved: the weights once, the activations from the first cache.
#pragma once
#include "quant_rows.h"

namespace strata::STRATA_NS {

// 16 bytes twice for each of two blocks, the second time shifted right by 4: codes in the low halves of bytes.
static inline __m512i rawNibbles(const uint8_t* a, const uint8_t* b) {
    __m512i both = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)a));
    both = _mm512_mask_broadcast_i32x4(both, 0xff00, _mm_loadu_si128((const __m128i*)b));
    return _mm512_srlv_epi64(both, _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4));
}
static inline __m512i lowHalves(__m512i raw) { return _mm512_and_si512(raw, _mm512_set1_epi8(15)); }
static inline __m512i nibbles64(const uint8_t* a, const uint8_t* b) { return lowHalves(rawNibbles(a, b)); }

static inline __m512i iq4Table64() { return _mm512_broadcast_i32x4(_mm256_castsi256_si128(iq4Table())); }
static inline __m512i fp4Table64() { return _mm512_broadcast_i32x4(_mm256_castsi256_si128(fp4Table())); }

// bytes(p, i, work): blocks 2 i and 2 i + 1 of the run at p as unsigned bytes, OFFSET above their values. Types of 4-bit codes give the codes
// and the 16 values that they stand for too, those with a table also the bytes whose low halves are the codes.
struct BytesQ8_0 : UnpackQ8_0 {
    static constexpr int OFFSET = 128;
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        __m512i a = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)(p + 68 * i + 2)));
        __m512i w = _mm512_inserti64x4(a, _mm256_loadu_si256((const __m256i*)(p + 68 * i + 36)), 1);
        return _mm512_xor_si512(w, _mm512_set1_epi8(-128));
    }
};
struct BytesQ4_0 : UnpackQ4_0 {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_Q4_0; }
    static inline __m512i codes(const uint8_t* p, int i) { return nibbles64(p + 36 * i + 2, p + 36 * i + 20); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return codes(p, i); }
};
struct BytesQ4_1 : UnpackQ4_1 {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_PLAIN; }
    static inline __m512i codes(const uint8_t* p, int i) { return nibbles64(p + 40 * i + 4, p + 40 * i + 24); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return codes(p, i); }
};
// Adds the fifth bits of two blocks.
static inline __m512i withFifth(__m512i nibbles, const uint8_t* a, const uint8_t* b) {
    const __mmask64 bits = _cvtu64_mask64(read32(a) | uint64_t(read32(b)) << 32);
    return _mm512_mask_sub_epi8(nibbles, bits, nibbles, _mm512_set1_epi8(-16));
}
struct BytesQ5_0 : UnpackQ5_0 {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        p += 44 * i;
        return withFifth(nibbles64(p + 6, p + 28), p + 2, p + 24);
    }
};
struct BytesQ5_1 : UnpackQ5_1 {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        p += 48 * i;
        return withFifth(nibbles64(p + 8, p + 32), p + 4, p + 28);
    }
};
struct BytesIQ4_NL : UnpackIQ4_NL {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_IQ4; }
    static inline __m512i raw(const uint8_t* p, int i) { return rawNibbles(p + 36 * i + 2, p + 36 * i + 20); }
    static inline __m512i codes(const uint8_t* p, int i) { return lowHalves(raw(p, i)); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_shuffle_epi8(iq4Table64(), codes(p, i)); }
};
struct BytesIQ4_XS : UnpackIQ4_XS {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_IQ4; }
    static inline __m512i raw(const uint8_t* p, int i) { return rawNibbles(p + 8 + 32 * i, p + 24 + 32 * i); }
    static inline __m512i codes(const uint8_t* p, int i) { return lowHalves(raw(p, i)); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_shuffle_epi8(iq4Table64(), codes(p, i)); }
};
struct BytesMXFP4 : UnpackMXFP4 {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_FP4; }
    static inline __m512i raw(const uint8_t* p, int i) { return rawNibbles(p + 34 * i + 1, p + 34 * i + 18); }
    static inline __m512i codes(const uint8_t* p, int i) { return lowHalves(raw(p, i)); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_shuffle_epi8(fp4Table64(), codes(p, i)); }
};
struct BytesNVFP4 : UnpackNVFP4 {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_FP4; }
    static inline __m512i raw(const uint8_t* p, int i) {
        __m512i q = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)(p + 36 * i + 4)));
        __m512i twice = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), q);
        return _mm512_srlv_epi64(twice, _mm512_setr_epi64(0, 4, 0, 4, 0, 4, 0, 4));
    }
    static inline __m512i codes(const uint8_t* p, int i) { return lowHalves(raw(p, i)); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return _mm512_shuffle_epi8(fp4Table64(), codes(p, i)); }
};
static inline __m512i nibblesK(const uint8_t* p) {
    __m512i q = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)p));
    return _mm512_and_si512(_mm512_srlv_epi64(q, _mm512_setr_epi64(0, 0, 0, 0, 4, 4, 4, 4)), _mm512_set1_epi8(15));
}
struct BytesQ4_K : UnpackQ4_K {
    static constexpr bool CODES = true;
    static inline const int8_t* values() { return VALUES_PLAIN; }
    static inline __m512i codes(const uint8_t* p, int i) { return nibblesK(p + 16 + 32 * i); }
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) { return codes(p, i); }
};
struct BytesQ5_K : UnpackQ5_K {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        const int64_t a = 2 * i, b = 2 * i + 1;
        __m512i h = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(p + 16)));
        h = _mm512_and_si512(_mm512_srlv_epi64(h, _mm512_setr_epi64(a, a, a, a, b, b, b, b)), _mm512_set1_epi8(1));
        return _mm512_or_si512(nibblesK(p + 48 + 32 * i), _mm512_slli_epi16(h, 4));
    }
};
struct BytesQ6_K : UnpackQ6_K {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        const int h = i / 2;
        const int64_t a = i % 2 * 4, b = a + 2;
        __m512i q = _mm512_loadu_si512(p + 64 * h);
        if (i % 2) q = _mm512_srli_epi16(q, 4);
        __m512i top = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(p + 128 + 32 * h)));
        top = _mm512_and_si512(_mm512_srlv_epi64(top, _mm512_setr_epi64(a, a, a, a, b, b, b, b)), _mm512_set1_epi8(3));
        return _mm512_or_si512(_mm512_and_si512(q, _mm512_set1_epi8(15)), _mm512_slli_epi16(top, 4));
    }
};
struct BytesQ2_0 : UnpackQ2_0 {
    static inline __m512i bytes(const uint8_t* p, int i, const Lookup&) {
        __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)(p + 18 * i + 2)));
        q = _mm512_or_si512(q, _mm512_slli_epi32(q, 12));
        q = _mm512_or_si512(q, _mm512_slli_epi32(q, 6));
        return _mm512_and_si512(q, _mm512_set1_epi8(3));
    }
};

// Codebook types have no rows of this kind: 16-bit ones, or with VBMI those of step_rows.h.
#define STRATA_BYTES(X) \
    X(Q8_0) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS) X(NVFP4) X(MXFP4) X(Q2_0)

// One run of 8 blocks: factors of blocks (or halves) in one vector, from which every step permutes its own.
template <class T, int R>
static inline __attribute__((always_inline)) void bytesRun(const uint8_t* p, const Row* x, int block, __m512* sums, __m256* minSums) {
    const Lookup none{};  // codebook types have other rows
    __m512 factors[R];
    if constexpr (T::HALVES == 2) {
        __m256 low, high;
        T::scales16(p, 8, &low, &high);
        __m512 scale = _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
        const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            __m512 d = _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(x[r].d + block)));
            factors[r] = _mm512_mul_ps(scale, d);
            if constexpr (T::OFFSET != 0) {
                minSums[r] = _mm256_fnmadd_ps(low, _mm256_loadu_ps(x[r].h + 2 * block), minSums[r]);
                minSums[r] = _mm256_fnmadd_ps(high, _mm256_loadu_ps(x[r].h + 2 * block + 8), minSums[r]);
            }
        }
    } else {
        const __m256 scale = T::scales(p, 8);
        __m256 own = scale;
        if constexpr (T::ODD_SIXTEENFOLD) own = _mm256_mul_ps(scale, _mm256_setr_ps(1, 0.0625f, 1, 0.0625f, 1, 0.0625f, 1, 0.0625f));
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            factors[r] = _mm512_castps256_ps512(_mm256_mul_ps(own, _mm256_loadu_ps(x[r].d + block)));
            if constexpr (T::OFFSET != 0) minSums[r] = _mm256_fnmadd_ps(scale, _mm256_loadu_ps(x[r].s + block), minSums[r]);
        }
        if constexpr (T::HAS_MIN) {
            __m256 min = T::mins(p, 8);
            STRATA_UNROLL
            for (int r = 0; r < R; r++) minSums[r] = _mm256_fmadd_ps(min, _mm256_loadu_ps(x[r].s + block), minSums[r]);
        }
    }
    const __m512i first = T::HALVES == 2 ? _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)
                                         : _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    STRATA_UNROLL
    for (int i = 0; i < 4; i++) {
        const __m512i w = T::bytes(p, i, none);
        const __m512i own = _mm512_add_epi32(first, _mm512_set1_epi32(2 * T::HALVES * i));
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            const int8_t* a = x[r].bytes + 64 * block + 128 * i;
            __m512i t = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w, _mm512_loadu_si512(a));
            t = _mm512_dpbusd_epi32(_mm512_slli_epi32(t, 8), w, _mm512_loadu_si512(a + 64));
            sums[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(t), _mm512_permutexvar_ps(own, factors[r]), sums[r]);
        }
    }
}

template <class T, int R>
static void dotBytesRows(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale, bool add,
                         float* const* out) {
    constexpr int RUN = 8 / T::SUBS * T::BYTES;
    const int blocks = inputs / 256 * 8;
    for (int o = 0; o < outputs; o++, w += rowBytes) {
        __m512 sums[R];
        __m256 minSums[R];
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r] = _mm512_setzero_ps(), minSums[r] = _mm256_setzero_ps();
        const uint8_t* p = w;
        for (int b = 0; b < blocks; b += 8, p += RUN) {
            prefetchRun(p, RUN);
            bytesRun<T, R>(p, x, b, sums, minSums);
        }
        for (int r = 0; r < rows; r++) {
            __m256 sum = _mm256_add_ps(_mm512_castps512_ps256(sums[r]), _mm512_extractf32x8_ps(sums[r], 1));
            if (T::HAS_MIN) sum = _mm256_add_ps(sum, minSums[r]);
            if (T::OFFSET != 0) sum = _mm256_fmadd_ps(_mm256_set1_ps(T::OFFSET), minSums[r], sum);
            put(out[r] + o, scale * sum8(sum), add);
        }
    }
}

template <class T, class TAIL>
static void dotBytes(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale, bool add,
                     float* const* out) {
    auto whole = [&]() { STRATA_PADDED_ROWS(dotBytesRows, w, rowBytes, outputs, inputs, x, scale, add, out) };
    whole();
    if constexpr (T::SUBS < 8) {
        // The blocks after the last whole run go the 16-bit way.
        const int done = inputs / 256 * 256;
        if (done == inputs) return;
        Row rest[MAX_DOT_ROWS];
        for (int r = 0; r < rows; r++) {
            rest[r] = x[r];
            rest[r].q += done, rest[r].d += done / 32, rest[r].s += done / 32, rest[r].h += done / 16;
        }
        dotQuant<TAIL>(w + done / 32 / T::SUBS * T::BYTES, rowBytes, outputs, inputs - done, rest, rows, scale, true, out);
    }
}

template <class = void>
static void fillByteRows(Kernels* k) {
    fillQuantRows(k);
    k->quantize = quantizeBytes;
    k->bytes = true;
#define X(name) k->dots[name] = dotBytes<Bytes##name, Unpack##name>;
    STRATA_BYTES(X)
#undef X
}

}  // namespace strata::STRATA_NS
