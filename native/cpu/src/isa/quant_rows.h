// Rows of quantized activations and their products with weights in stored order (decode, up to 8 activation rows).
//
// Weights stream from memory once, prefetched (prefetchRun); a block of 32 is unpacked to int16 in registers and multiplied with every
// row; a row's result does not depend on the others. Bytes moved: the weights once, the activations from the first cache.
#pragma once
#include "float_products.h"
#include "unpack.h"

namespace strata::STRATA_NS {

template <int LIMIT>
static void quantize(const float* x, int n, int16_t* q, float* d, float* s, float* h, int32_t* totals, int8_t*, uint16_t*) {
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
        __m256 factor = _mm256_set1_ps(highest > 0 ? LIMIT / highest : 0.0f);
        __m256i even[2], odd[2];
        __m256i total[2];
        for (int i = 0; i < 2; i++) {
            __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(v[2 * i], factor));
            __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(v[2 * i + 1], factor));
            total[i] = _mm256_add_epi32(low, high);
            __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
            even[i] = _mm256_srai_epi32(_mm256_slli_epi32(packed, 16), 16);
            odd[i] = _mm256_srai_epi32(packed, 16);
        }
        _mm256_storeu_si256((__m256i*)q, _mm256_permute4x64_epi64(_mm256_packs_epi32(even[0], even[1]), 0xd8));
        _mm256_storeu_si256((__m256i*)(q + 16), _mm256_permute4x64_epi64(_mm256_packs_epi32(odd[0], odd[1]), 0xd8));
        // Sums of both halves, side by side in each lane.
        __m256i t = _mm256_hadd_epi32(total[0], total[1]);
        t = _mm256_hadd_epi32(t, t);
        __m128i u = _mm_add_epi32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1));
        int first = _mm_cvtsi128_si32(u), second = _mm_extract_epi32(u, 1);
        _mm_storel_epi64((__m128i*)(totals + 2 * b), u);
        float unit = highest > 0 ? highest / LIMIT : 0.0f;
        d[b] = unit;
        h[2 * b] = unit * float(first);
        h[2 * b + 1] = unit * float(second);
        s[b] = unit * float(first + second);
    }
    for (int b = blocks; b % 8 != 0; b++) d[b] = s[b] = h[2 * b] = h[2 * b + 1] = 0, totals[2 * b] = totals[2 * b + 1] = 0;
}

// The 16-bit form, and the same as bytes: for every two blocks 64 high ones, then 64 low ones.
static inline void quantizeBytes(const float* x, int n, int16_t* q, float* d, float* s, float* h, int32_t* totals, int8_t* bytes, uint16_t*) {
    quantize<BYTES_LIMIT>(x, n, q, d, s, h, totals, nullptr, nullptr);
    for (int b = 0; b < n / 32; b++, q += 32) {
        // Even elements and odd ones, joined to their own order when two vectors become one.
        const __m256i even = _mm256_loadu_si256((const __m256i*)q), odd = _mm256_loadu_si256((const __m256i*)(q + 16));
        const __m256i first = _mm256_unpacklo_epi16(even, odd), second = _mm256_unpackhi_epi16(even, odd);
        auto high = [](__m256i v) { return _mm256_srai_epi16(_mm256_add_epi16(v, _mm256_set1_epi16(128)), 8); };
        auto low = [](__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi16(0xff)); };
        int8_t* target = bytes + b / 2 * 128 + b % 2 * 32;
        _mm256_storeu_si256((__m256i*)target, _mm256_packs_epi16(high(first), high(second)));
        _mm256_storeu_si256((__m256i*)(target + 64), _mm256_packus_epi16(low(first), low(second)));
    }
}

static inline __m256i dot32(Pair w, const int16_t* q) {
    __m256i e = _mm256_loadu_si256((const __m256i*)q);
    __m256i o = _mm256_loadu_si256((const __m256i*)(q + 16));
#if defined STRATA_AVXVNNI
    return _mm256_dpwssd_avx_epi32(_mm256_madd_epi16(w.even, e), w.odd, o);
#elif defined STRATA_VNNI
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


// What the blocks of one run need: a factor for every block (or half) and activation row, and a codebook type's indexes. Factors stay
// in registers, in the order in which one shuffle within lanes spreads them: a vector that is stored and read back in parts waits.
template <class T, int R>
struct Run {
    __m256 first[R], second[R];  // blocks 0-3 and 4-7
};

template <class T, int R>
static inline __attribute__((always_inline)) void startRun(const uint8_t* p, int n, const Row* x, int block, Run<T, R>* run,
                                                           __m256* minSums) {
    if constexpr (T::HALVES == 2) {
        __m256 low, high;
        T::scales16(p, n, &low, &high);
        if constexpr (T::OFFSET != 0) {
            STRATA_UNROLL
            for (int r = 0; r < R; r++) {
                const float* h = x[r].h + 2 * block;
                minSums[r] = _mm256_fnmadd_ps(low, _mm256_loadu_ps(h), minSums[r]);
                minSums[r] = _mm256_fnmadd_ps(high, _mm256_loadu_ps(h + 8), minSums[r]);
            }
        }
        // Even halves in the lower lane, odd ones in the upper.
        const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        low = _mm256_permutevar8x32_ps(low, order);
        high = _mm256_permutevar8x32_ps(high, order);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            run->first[r] = _mm256_mul_ps(low, _mm256_broadcast_ps((const __m128*)(x[r].d + block)));
            run->second[r] = _mm256_mul_ps(high, _mm256_broadcast_ps((const __m128*)(x[r].d + block + 4)));
        }
    } else {
        __m256 scale = T::scales(p, n);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            __m256 factor = _mm256_mul_ps(scale, _mm256_loadu_ps(x[r].d + block));
            run->first[r] = _mm256_permute2f128_ps(factor, factor, 0x00);
            run->second[r] = _mm256_permute2f128_ps(factor, factor, 0x11);
        }
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
}

// Block I of a run for all rows.
template <class T, int R, int I>
static inline __attribute__((always_inline)) void addBlock(const uint8_t* p, const Row* x, int block, const Run<T, R>* run,
                                                           const Lookup& work, __m256* sums) {
    Pair w = rowBlock<T>(p + I / T::SUBS * T::BYTES, I % T::SUBS, work);
    STRATA_UNROLL
    for (int r = 0; r < R; r++) {
        __m256 product = _mm256_cvtepi32_ps(dot32(w, x[r].q + 32 * (block + I)));
        __m256 factor = _mm256_permute_ps(I < 4 ? run->first[r] : run->second[r], I % 4 * 0x55);
        sums[r] = _mm256_fmadd_ps(product, factor, sums[r]);
    }
}

template <class T, int R>
static __attribute__((noinline)) void dotTail(const uint8_t* p, int n, const Row* x, int block, __m256* sums, __m256* minSums) {
    Run<T, R> run;
    Lookup work;  // not used: codebook types have whole runs
    startRun<T, R>(p, n, x, block, &run, minSums);
#define STRATA_BLOCK(i) \
    if (n > i) addBlock<T, R, i>(p, x, block, &run, work, sums);
    STRATA_BLOCK(0) STRATA_BLOCK(1) STRATA_BLOCK(2) STRATA_BLOCK(3) STRATA_BLOCK(4) STRATA_BLOCK(5) STRATA_BLOCK(6) STRATA_BLOCK(7)
#undef STRATA_BLOCK
}

// One output after the other: the memory sees one stream. Two outputs side by side, whose chains of additions would not wait for themselves, take
// fewer cycles in cache and a third more time out of memory.
template <class T, int R>
static void dotQuantRows(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                         bool add, float* const* out) {
    constexpr int RUN = 8 / T::SUBS * T::BYTES;
    const int blocks = inputs / 32;
    // Indexes are worked out one run ahead, over the end of a row too: read right after they are stored, they would wait for the stores.
    Lookup lookups[2];
    unsigned turn = 0;
    prepareLookup<T>(w, lookups);
    for (int o = 0; o < outputs; o++, w += rowBytes) {
        __m256 sums[R], minSums[R];
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r] = minSums[r] = _mm256_setzero_ps();
        const uint8_t* p = w;
        int b = 0;
        for (; b + 8 <= blocks; b += 8, p += RUN, turn++) {
            prefetchRun(p, RUN);
            const Lookup& work = lookups[turn % 2];
            if (T::GRID && (b + 16 <= blocks || o + 1 < outputs)) prepareLookup<T>(b + 16 <= blocks ? p + RUN : w + rowBytes, lookups + (turn + 1) % 2);
            Run<T, R> run;
            startRun<T, R>(p, 8, x, b, &run, minSums);
#define STRATA_BLOCK(i) addBlock<T, R, i>(p, x, b, &run, work, sums);
            STRATA_BLOCK(0) STRATA_BLOCK(1) STRATA_BLOCK(2) STRATA_BLOCK(3) STRATA_BLOCK(4) STRATA_BLOCK(5) STRATA_BLOCK(6) STRATA_BLOCK(7)
#undef STRATA_BLOCK
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
            put(out[r] + o, scale * (T::GRID ? 1 / SHIFTED : 1.0f) * sum8(sums[r]), add);
        }
    }
}

template <class T>
static void dotQuant(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                     bool add, float* const* out) {
    STRATA_PADDED_ROWS(dotQuantRows, w, rowBytes, outputs, inputs, x, scale, add, out)
}

template <class = void>
static void fillQuantRows(Kernels* k) {
    k->quantize = quantize<ACTIVATION_LIMIT>;
#define X(name) k->dots[name] = dotQuant<Unpack##name>;
    STRATA_UNPACKED(X)
#undef X
}

}  // namespace strata::STRATA_NS
