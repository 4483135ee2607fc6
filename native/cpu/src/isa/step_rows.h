// Products of codebook types with weights in stored order (decode, up to 8 activation rows): one run of 8 blocks of 16 outputs is unpacked before it is multiplied,
// by byte dot products as in byte_rows.h.
//
// Two steps are under way, one is unpacked and the one before multiplied, so that nobody waits for stores.
// Bytes moved: the weights once, prefetched 4 KiB ahead; the activations from the first cache for every 16 outputs.
#pragma once
#include "books.h"

namespace strata::STRATA_NS {

constexpr int PIECE_RUNS = 8;  // runs of 8 blocks whose activations are kept in the order of the weights at once
constexpr int STEP_AHEAD = 4096;  // bytes that are prefetched ahead

// What is known of one step.
struct alignas(64) Step {
    uint8_t weights[4][STEP_OUTPUTS][UNIT_INPUTS];
    float scales[STEP_OUTPUTS][16];
};

// Sums of 16 vectors, one lane each.
static inline __m512 sums16(const __m512* v) {
    auto add = [](__m512i a, __m512i b) __attribute__((always_inline)) {
        return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
    };
    __m512i a[8], b[4], c[2];
    STRATA_UNROLL
    for (int i = 0; i < 8; i++) {
        const __m512i x = _mm512_castps_si512(v[2 * i]), y = _mm512_castps_si512(v[2 * i + 1]);
        a[i] = add(_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y));
    }
    STRATA_UNROLL
    for (int i = 0; i < 4; i++) b[i] = add(_mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]), _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
    STRATA_UNROLL
    for (int i = 0; i < 2; i++) c[i] = add(_mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0x44), _mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0xee));
    return _mm512_castsi512_ps(add(_mm512_shuffle_i32x4(c[0], c[1], 0x88), _mm512_shuffle_i32x4(c[0], c[1], 0xdd)));
}

static inline __m512 widened(__m256 v) { return _mm512_insertf32x8(_mm512_setzero_ps(), v, 0); }

// Factors of one run of up to 16 outputs.
template <class T>
static inline __attribute__((always_inline)) void stepFactors(const uint8_t* p, int64_t rowBytes, int outputs, Step* step) {
    if constexpr (T::HALVES == 2) {
        T::stepScales(p, rowBytes, outputs, step->scales);
    } else {
        for (int j = 0; j < outputs; j++, p += rowBytes) _mm256_store_ps(step->scales[j], T::scales(p, 8));
    }
}

// The high and low bytes of 256 inputs in the order of evenThenOdd: of every fourth input 64 high ones, then 64 low ones.
static inline void stridedBytes(const int8_t* bytes, int8_t* target) {
    const __m512i order = _mm512_load_si512(STRIDED_ORDER.from);
    STRATA_UNROLL
    for (int part = 0; part < 2; part++) {
        __m512i a[4];
        STRATA_UNROLL
        for (int l = 0; l < 4; l++) a[l] = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(bytes + 128 * l + 64 * part));
        // The 16 bytes that a vector has of every fourth input go side by side.
        const __m512i ab = _mm512_shuffle_i32x4(a[0], a[1], 0x44), ab2 = _mm512_shuffle_i32x4(a[0], a[1], 0xee);
        const __m512i cd = _mm512_shuffle_i32x4(a[2], a[3], 0x44), cd2 = _mm512_shuffle_i32x4(a[2], a[3], 0xee);
        _mm512_store_si512(target + 64 * part, _mm512_shuffle_i32x4(ab, cd, 0x88));
        _mm512_store_si512(target + 64 * part + 128, _mm512_shuffle_i32x4(ab, cd, 0xdd));
        _mm512_store_si512(target + 64 * part + 256, _mm512_shuffle_i32x4(ab2, cd2, 0x88));
        _mm512_store_si512(target + 64 * part + 384, _mm512_shuffle_i32x4(ab2, cd2, 0xdd));
    }
}

// Products of T's steps with R rows. Weights that come out as every fourth one have the same block in the same lane for all 256 inputs, so their products add up
// as integers first.
template <class T, int R>
struct StepProducts {
    alignas(64) int8_t own[T::STRIDED ? R : 1][PIECE_RUNS][512];
    const Row* x;
    int first;

    StepProducts(const Row* rows, int first, int runs) : x(rows), first(first) {
        if constexpr (T::STRIDED) {
            for (int r = 0; r < R; r++)
                for (int s = 0; s < runs; s++) stridedBytes(x[r].bytes + 512 * int64_t(first + s), own[r][s]);
        }
    }
    inline __attribute__((always_inline)) void add(const Step& step, int s, __m512 (*sums)[STEP_OUTPUTS]) const {
        const int block = 8 * (first + s);
        const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
        const __m512i fourfold = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        const __m512i eightfold = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
        // Lane 4 l + 2 v + z has block 2 l + z.
        const __m512i strided = _mm512_setr_epi32(0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            const int8_t* a = T::STRIDED ? own[r][s] : x[r].bytes + 64 * int64_t(block);
            const __m512 d = widened(_mm256_loadu_ps(x[r].d + block));
            const __m512 factor = T::STRIDED ? _mm512_permutexvar_ps(strided, d) : T::HALVES == 2 ? _mm512_permutexvar_ps(twice, d) : d;
            __m512 offset = T::HALVES == 2 ? _mm512_loadu_ps(x[r].h + 2 * block) : widened(_mm256_loadu_ps(x[r].s + block));
            offset = _mm512_mul_ps(offset, _mm512_set1_ps(-T::OFFSET));
            for (int j = 0; j < STEP_OUTPUTS; j++) {
                const __m512 scales = _mm512_load_ps(step.scales[j]);
                __m512 sum = _mm512_fmadd_ps(scales, offset, sums[r][j]);
                if constexpr (T::STRIDED) {
                    __m512i high = _mm512_setzero_si512(), low = high;
                    STRATA_UNROLL
                    for (int i = 0; i < 4; i++) {
                        const __m512i w = _mm512_load_si512(step.weights[i][j]);
                        high = _mm512_dpbusd_epi32(high, w, _mm512_load_si512(a + 128 * i));
                        low = _mm512_dpbusd_epi32(low, w, _mm512_load_si512(a + 128 * i + 64));
                    }
                    const __m512i t = _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
                    sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(t), _mm512_mul_ps(factor, _mm512_permutexvar_ps(strided, scales)), sum);
                } else {
                    const __m512 factors = _mm512_mul_ps(scales, factor);
                    STRATA_UNROLL
                    for (int i = 0; i < 4; i++) {
                        const __m512i w = _mm512_load_si512(step.weights[i][j]);
                        const __m512i lanes = _mm512_add_epi32(T::HALVES == 2 ? fourfold : eightfold, _mm512_set1_epi32(2 * T::HALVES * i));
                        __m512i t = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w, _mm512_loadu_si512(a + 128 * i));
                        t = _mm512_dpbusd_epi32(_mm512_slli_epi32(t, 8), w, _mm512_loadu_si512(a + 128 * i + 64));
                        sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(t), _mm512_permutexvar_ps(lanes, factors), sum);
                    }
                }
                sums[r][j] = sum;
            }
        }
    }
};

// Runs [first, first + runs) of all outputs.
template <class T, int R>
static void dotPiece(const uint8_t* w, int64_t rowBytes, int outputs, int first, int runs, const Row* x, int rows, float scale, bool add,
                     float* const* out) {
    constexpr int RUN = 8 / T::SUBS * T::BYTES;
    // Steps that make up STEP_AHEAD.
    constexpr int AHEAD = (STEP_AHEAD + STEP_OUTPUTS * RUN - 1) / (STEP_OUTPUTS * RUN);
    StepProducts<T, R> products(x, first, runs);
    Step steps[2];
    // Lanes without a factor stay zero.
    for (Step& step : steps) memset(step.scales, 0, sizeof step.scales);
    alignas(64) __m512 sums[R][STEP_OUTPUTS];
    const int total = (outputs + STEP_OUTPUTS - 1) / STEP_OUTPUTS * runs;
    w += int64_t(first) * RUN;
    for (int t = 0; t <= total; t++) {
        const int o = t / runs * STEP_OUTPUTS, later = (t + AHEAD) / runs * STEP_OUTPUTS;
        const uint8_t* p = w + o * rowBytes + t % runs * RUN;
        const uint8_t* next = w + later * rowBytes + (t + AHEAD) % runs * RUN;
        for (int j = 0; j < STEP_OUTPUTS && later + j < outputs; j++) {
            for (int i = 0; i < RUN; i += 64) __builtin_prefetch(next + j * rowBytes + i, 0, 3);
        }
        if (t < total) {
            const int count = outputs - o < STEP_OUTPUTS ? outputs - o : STEP_OUTPUTS;
            stepFactors<T>(p, rowBytes, count, steps + t % 2);
            T::unpack(p, rowBytes, count, steps[t % 2].weights);
        }
        if (t > 0) {
            const int s = (t - 1) % runs;
            if (s == 0) {
                for (int r = 0; r < R; r++)
                    for (int j = 0; j < STEP_OUTPUTS; j++) sums[r][j] = _mm512_setzero_ps();
            }
            products.add(steps[(t - 1) % 2], s, sums);
            if (s + 1 < runs) continue;
            const int done = (t - 1) / runs * STEP_OUTPUTS;
            for (int r = 0; r < rows; r++) {
                alignas(64) float totals[STEP_OUTPUTS];
                _mm512_storeu_ps(totals, sums16(sums[r]));
                for (int j = 0; j < STEP_OUTPUTS && done + j < outputs; j++) put(out[r] + done + j, scale * totals[j], add);
            }
        }
    }
}

template <class T, int R>
static void dotStepsRows(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale, bool add,
                         float* const* out) {
    const int runs = inputs / 256;
    for (int first = 0; first < runs; first += PIECE_RUNS) {
        dotPiece<T, R>(w, rowBytes, outputs, first, runs - first < PIECE_RUNS ? runs - first : PIECE_RUNS, x, rows, scale, add || first > 0, out);
    }
}

template <class T>
static void dotSteps(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale, bool add,
                     float* const* out) {
    STRATA_PADDED_ROWS(dotStepsRows, w, rowBytes, outputs, inputs, x, scale, add, out)
}

template <class = void>
static void fillStepRows(Kernels* k) {
    if (!fillBits()) __builtin_trap();  // a book with more magnitudes than the formats have
    k->dotOutputs = STEP_OUTPUTS;
#define X(name) k->dots[name] = dotSteps<Book##name>;
    STRATA_BOOKS(X)
#undef X
}

}  // namespace strata::STRATA_NS
