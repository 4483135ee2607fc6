// Rows of quantized activations and their products with weights in stored order (decode, up to 8 activation rows).
//
// Weights stream from memory once, prefetched 4 KiB ahead; a block of 32 is unpacked to int16 in registers and multiplied with every
// row; a row's result does not depend on the others. Bytes moved: the weights once, the activations from the first cache.
#pragma once
#include "float_products.h"
#include "unpack.h"

namespace strata::STRATA_NS {

static void quantize(const float* x, int n, int16_t* q, float* d, float* s) {
    int blocks = n / 32;
    for (int b = 0; b < blocks; b++, x += 32, q += 32) {
        __m256 v[4];
        __m256 most = _mm256_setzero_ps();
        for (int i = 0; i < 4; i++) {
            v[i] = _mm256_loadu_ps(x + 8 * i);
            most = _mm256_max_ps(most, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v[i]));
        }
        __m128 m = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
        m = _mm_max_ps(m, _mm_movehl_ps(m, m));
        float highest = _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
        __m256 factor = _mm256_set1_ps(highest > 0 ? ACTIVATION_LIMIT / highest : 0.0f);
        __m256i even[2], odd[2];
        __m256i total = _mm256_setzero_si256();
        for (int i = 0; i < 2; i++) {
            __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(v[2 * i], factor));
            __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(v[2 * i + 1], factor));
            total = _mm256_add_epi32(total, _mm256_add_epi32(low, high));
            __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
            even[i] = _mm256_srai_epi32(_mm256_slli_epi32(packed, 16), 16);
            odd[i] = _mm256_srai_epi32(packed, 16);
        }
        _mm256_storeu_si256((__m256i*)q, _mm256_permute4x64_epi64(_mm256_packs_epi32(even[0], even[1]), 0xd8));
        _mm256_storeu_si256((__m256i*)(q + 16), _mm256_permute4x64_epi64(_mm256_packs_epi32(odd[0], odd[1]), 0xd8));
        __m128i t = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
        t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
        t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1));
        float unit = highest > 0 ? highest / ACTIVATION_LIMIT : 0.0f;
        d[b] = unit;
        s[b] = unit * float(_mm_cvtsi128_si32(t));
    }
    for (int b = blocks; b % 8 != 0; b++) d[b] = s[b] = 0;
}

static inline __m256i dot32(Pair w, const int16_t* q) {
    __m256i e = _mm256_loadu_si256((const __m256i*)q);
    __m256i o = _mm256_loadu_si256((const __m256i*)(q + 16));
#ifdef STRATA_VNNI
    return _mm256_dpwssd_epi32(_mm256_dpwssd_epi32(_mm256_setzero_si256(), w.even, e), w.odd, o);
#else
    return _mm256_add_epi32(_mm256_madd_epi16(w.even, e), _mm256_madd_epi16(w.odd, o));
#endif
}

static inline float sum8(__m256 a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}


template <class T, int R>
static inline __attribute__((always_inline)) void dotRun(const uint8_t* p, int n, const Row* x, int block, __m256* sums,
                                                         __m256* minSums) {
    alignas(32) float factors[R][8 * T::HALVES];
    if constexpr (T::HALVES == 2) {
        alignas(32) float scale[16];
        T::scales16(p, n, scale);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            __m256 d = _mm256_loadu_ps(x[r].d + block);
            __m256 low = _mm256_unpacklo_ps(d, d), high = _mm256_unpackhi_ps(d, d);
            _mm256_store_ps(factors[r], _mm256_mul_ps(_mm256_load_ps(scale), _mm256_permute2f128_ps(low, high, 0x20)));
            _mm256_store_ps(factors[r] + 8, _mm256_mul_ps(_mm256_load_ps(scale + 8), _mm256_permute2f128_ps(low, high, 0x31)));
        }
    } else {
        __m256 scale = T::scales(p, n);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) _mm256_store_ps(factors[r], _mm256_mul_ps(scale, _mm256_loadu_ps(x[r].d + block)));
        if constexpr (T::OFFSET != 0) {
            STRATA_UNROLL
            for (int r = 0; r < R; r++) minSums[r] = _mm256_fnmadd_ps(scale, _mm256_loadu_ps(x[r].s + block), minSums[r]);
        }
        if constexpr (T::HAS_MIN) {
            __m256 min = T::mins(p, n);
            STRATA_UNROLL
            for (int r = 0; r < R; r++) minSums[r] = _mm256_fmadd_ps(min, _mm256_loadu_ps(x[r].s + block), minSums[r]);
        }
    }
    Lookup work;
    if constexpr (T::GRID) T::prepare(p, &work);
    auto one = [&](int i) __attribute__((always_inline)) {
        Pair w = unpackBlock<T>(p + i / T::SUBS * T::BYTES, i % T::SUBS, work);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            __m256 product = _mm256_cvtepi32_ps(dot32(w, x[r].q + 32 * (block + i)));
            __m256 factor;
            if constexpr (T::HALVES == 2) {
                __m256 two = _mm256_castpd_ps(_mm256_broadcast_sd((const double*)(factors[r] + 2 * i)));
                factor = _mm256_permutevar8x32_ps(two, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
            } else {
                factor = _mm256_broadcast_ss(factors[r] + i);
            }
            sums[r] = _mm256_fmadd_ps(product, factor, sums[r]);
        }
    };
    if (R <= 2 && n == 8) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) one(i);
    } else {
#pragma GCC unroll 1
        for (int i = 0; i < n; i++) one(i);
    }
}

template <class T, int R>
static __attribute__((noinline)) void dotTail(const uint8_t* p, int n, const Row* x, int block, __m256* sums, __m256* minSums) {
    dotRun<T, R>(p, n, x, block, sums, minSums);
}

template <class T, int R>
static void dotQuantRows(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                         bool add, float* const* out) {
    constexpr int RUN = 8 / T::SUBS * T::BYTES;
    int blocks = inputs / 32;
    for (int o = 0; o < outputs; o++, w += rowBytes) {
        __m256 sums[R], minSums[R];
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r] = minSums[r] = _mm256_setzero_ps();
        const uint8_t* p = w;
        int b = 0;
        for (; b + 8 <= blocks; b += 8, p += RUN) {
            prefetchRun(p, RUN);
            dotRun<T, R>(p, 8, x, b, sums, minSums);
        }
        if (T::SUBS < 8 && b < blocks) {
            // Copies, so that the sums of the loop stay in registers.
            __m256 tail[R], minTail[R];
            STRATA_UNROLL
            for (int r = 0; r < R; r++) tail[r] = sums[r], minTail[r] = minSums[r];
            dotTail<T, R>(p, blocks - b, x, b, tail, minTail);
            STRATA_UNROLL
            for (int r = 0; r < R; r++) sums[r] = tail[r], minSums[r] = minTail[r];
        }
        for (int r = 0; r < rows; r++) {
            if (T::HAS_MIN) sums[r] = _mm256_add_ps(sums[r], minSums[r]);
            if (T::OFFSET != 0) sums[r] = _mm256_fmadd_ps(_mm256_set1_ps(T::OFFSET), minSums[r], sums[r]);
            put(out[r] + o, scale * sum8(sums[r]), add);
        }
    }
}

template <class T>
static void dotQuant(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                     bool add, float* const* out) {
    STRATA_PADDED_ROWS(dotQuantRows, w, rowBytes, outputs, inputs, x, scale, add, out)
}

static void fillQuantRows(Kernels* k) {
    k->quantize = quantize;
#define X(name) k->dots[name] = dotQuant<Unpack##name>;
    STRATA_UNPACKED(X)
#undef X
}

}  // namespace strata::STRATA_NS
