// Matrix products.
//
// Rows (decode, up to 8 activation rows): weights stream from memory once, in stored order, 4 KiB prefetched ahead; a block of 32 is
// unpacked to int16 in registers and multiplied with every row. Bytes moved: the weights once, the activations from the first cache.
//
// Tiles (prompts): `panel` unpacks width x some blocks of weights into an interleaved buffer of the first cache's size, `tile` runs a
// register tile of MR tokens x 2 vectors of outputs over it. Bytes moved: the weights once for each run of token rows.
#pragma once
#include "../kernels.h"
#include "../numbers.h"

namespace strata::STRATA_NS {

constexpr int NR = NV * W;
constexpr int PREFETCH = 4096;

static inline void prefetchRun(const uint8_t* p, int bytes) {
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(p + PREFETCH + i, 0, 3);
}

// ---- float32 rows

struct FloatF32 {
    static constexpr int BYTES = 4;
    static inline VF load(const uint8_t* p) { return vload((const float*)p); }
    static inline float one(const uint8_t* p) { return bitsToFloat(read32(p)); }
};
struct FloatF16 {
    static constexpr int BYTES = 2;
    static inline VF load(const uint8_t* p) { return vloadHalf((const uint16_t*)p); }
    static inline float one(const uint8_t* p) { return readHalf(p); }
};
struct FloatBF16 {
    static constexpr int BYTES = 2;
    static inline VF load(const uint8_t* p) { return vloadBf16((const uint16_t*)p); }
    static inline float one(const uint8_t* p) { return bf16ToFloat(read16(p)); }
};

static inline void put(float* out, float value, bool add) { *out = add ? *out + value : value; }

// Runs f<T, R> for the next R of 1, 2, 4, 8: missing rows repeat the last, and only `rows` results are written.
#define STRATA_PADDED_ROWS(f, w, rowBytes, outputs, inputs, x, scale, add, out)                             \
    Row padded[MAX_DOT_ROWS];                                                                                \
    for (int r = 0; r < MAX_DOT_ROWS; r++) padded[r] = x[r < rows ? r : rows - 1];                           \
    if (rows == 1) return f<T, 1>(w, rowBytes, outputs, inputs, padded, rows, scale, add, out);              \
    if (rows == 2) return f<T, 2>(w, rowBytes, outputs, inputs, padded, rows, scale, add, out);              \
    if (rows <= 4) return f<T, 4>(w, rowBytes, outputs, inputs, padded, rows, scale, add, out);              \
    return f<T, 8>(w, rowBytes, outputs, inputs, padded, rows, scale, add, out);

template <class T, int R>
static void dotFloatRows(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                         bool add, float* const* out) {
    // Several sums a row hide the latency of the multiply-add when there are few rows.
    constexpr int U = R == 1 ? 4 : R == 2 ? 2 : 1;
    for (int o = 0; o < outputs; o++, w += rowBytes) {
        VF sums[R][U];
        for (int r = 0; r < R; r++)
            for (int u = 0; u < U; u++) sums[r][u] = vzero();
        int i = 0;
        for (; i + U * W <= inputs; i += U * W) {
            __builtin_prefetch(w + i * T::BYTES + PREFETCH, 0, 3);
            if (U * W * T::BYTES > 64) __builtin_prefetch(w + i * T::BYTES + PREFETCH + 64, 0, 3);
            for (int u = 0; u < U; u++) {
                VF v = T::load(w + (i + u * W) * T::BYTES);
                for (int r = 0; r < R; r++) sums[r][u] = vfma(v, vload(x[r].f + i + u * W), sums[r][u]);
            }
        }
        for (; i + W <= inputs; i += W) {
            VF v = T::load(w + i * T::BYTES);
            for (int r = 0; r < R; r++) sums[r][0] = vfma(v, vload(x[r].f + i), sums[r][0]);
        }
        for (int r = 0; r < rows; r++) {
            VF sum = sums[r][0];
            for (int u = 1; u < U; u++) sum = vadd(sum, sums[r][u]);
            float value = vsum(sum);
            for (int j = i; j < inputs; j++) value += T::one(w + j * T::BYTES) * x[r].f[j];
            put(out[r] + o, scale * value, add);
        }
    }
}

template <class T>
static void dotFloat(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                     bool add, float* const* out) {
    STRATA_PADDED_ROWS(dotFloatRows, w, rowBytes, outputs, inputs, x, scale, add, out)
}

// Any other type: rows are decoded piece by piece.
template <int TYPE>
static void dotDecoded(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                       bool add, float* const* out) {
    constexpr int PIECE = 1024;
    alignas(64) float piece[PIECE];
    const TypeInfo& info = typeInfo(TYPE);
    for (int o = 0; o < outputs; o++, w += rowBytes) {
        VF sums[MAX_DOT_ROWS];
        for (int r = 0; r < rows; r++) sums[r] = vzero();
        for (int i = 0; i < inputs; i += PIECE) {
            int n = inputs - i < PIECE ? inputs - i : PIECE;
            info.decode(w + i / info.elements * info.bytes, piece, n);
            for (int j = 0; j < n; j += W) {  // blocks are whole multiples of W
                VF v = vload(piece + j);
                for (int r = 0; r < rows; r++) sums[r] = vfma(v, vload(x[r].f + i + j), sums[r]);
            }
        }
        for (int r = 0; r < rows; r++) put(out[r] + o, scale * vsum(sums[r]), add);
    }
}

// panel[k][NR] of `count` inputs from `first` on, outputs beyond `rows` zero.
static void panelF(int type, const uint8_t* w, int64_t rowBytes, int rows, int first, int count, float scale, float* panel) {
    constexpr int PIECE = 256;
    alignas(64) float piece[PIECE];
    const TypeInfo& info = typeInfo(type);
    for (int o = 0; o < NR; o++) {
        for (int i = 0; i < count; i += PIECE) {
            int n = count - i < PIECE ? count - i : PIECE;
            float* target = panel + i * NR + o;
            if (o >= rows) {
                for (int j = 0; j < n; j++) target[j * NR] = 0;
                continue;
            }
            const uint8_t* p = w + o * rowBytes + (first + i) / info.elements * info.bytes;
            int j = 0;
            if (type == BF16) {
                for (; j + W <= n; j += W) vstore(piece + j, vloadBf16((const uint16_t*)p + j));
            } else if (type == F16) {
                for (; j + W <= n; j += W) vstore(piece + j, vloadHalf((const uint16_t*)p + j));
            }
            if (j < n) info.decode(p + j / info.elements * info.bytes, piece + j, n - j);
            for (j = 0; j < n; j++) target[j * NR] = piece[j] * scale;
        }
    }
}

template <int R>
static void tileFloatRows(const float* const* a, const float* b, int64_t ldb, int k, float* const* c) {
    VF sums[R][NV];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < NV; v++) sums[r][v] = vload(c[r] + v * W);
    for (int i = 0; i < k; i++, b += ldb) {
        VF w[NV];
        for (int v = 0; v < NV; v++) w[v] = vload(b + v * W);
        for (int r = 0; r < R; r++) {
            VF x = vset(a[r][i]);
            for (int v = 0; v < NV; v++) sums[r][v] = vfma(x, w[v], sums[r][v]);
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < NV; v++) vstore(c[r] + v * W, sums[r][v]);
}

// Calls f<rows>(...) for 1 <= rows <= MR.
#define STRATA_BY_ROWS(rows, f, ...)                     \
    switch (rows) {                                      \
        case 1: return f<1>(__VA_ARGS__);                \
        case 2: return f<2>(__VA_ARGS__);                \
        case 3: return f<3>(__VA_ARGS__);                \
        case 4: return f<4>(__VA_ARGS__);                \
        case 5: return f<5>(__VA_ARGS__);                \
        case 6: return f<6>(__VA_ARGS__);                \
        case 7: return f<MR < 7 ? MR : 7>(__VA_ARGS__);  \
        case 8: return f<MR < 8 ? MR : 8>(__VA_ARGS__);  \
        case 9: return f<MR < 9 ? MR : 9>(__VA_ARGS__);  \
        case 10: return f<MR < 10 ? MR : 10>(__VA_ARGS__); \
        case 11: return f<MR < 11 ? MR : 11>(__VA_ARGS__); \
        default: return f<MR>(__VA_ARGS__);              \
    }

// c[r][0..NR) += a[r][0..k) x b[k][NR]
static void tileF(const float* const* a, int rows, const float* b, int64_t ldb, int k, float* const* c) {
    STRATA_BY_ROWS(rows, tileFloatRows, a, b, ldb, k, c)
}

#ifdef STRATA_INT16

// ---- quantized rows

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
        for (int r = 0; r < R; r++) {
            __m256 d = _mm256_loadu_ps(x[r].d + block);
            __m256 low = _mm256_unpacklo_ps(d, d), high = _mm256_unpackhi_ps(d, d);
            _mm256_store_ps(factors[r], _mm256_mul_ps(_mm256_load_ps(scale), _mm256_permute2f128_ps(low, high, 0x20)));
            _mm256_store_ps(factors[r] + 8, _mm256_mul_ps(_mm256_load_ps(scale + 8), _mm256_permute2f128_ps(low, high, 0x31)));
        }
    } else {
        __m256 scale = T::scales(p, n);
        for (int r = 0; r < R; r++) _mm256_store_ps(factors[r], _mm256_mul_ps(scale, _mm256_loadu_ps(x[r].d + block)));
        if constexpr (T::HAS_MIN) {
            __m256 min = T::mins(p, n);
            for (int r = 0; r < R; r++) minSums[r] = _mm256_fmadd_ps(min, _mm256_loadu_ps(x[r].s + block), minSums[r]);
        }
    }
    auto one = [&](int i) __attribute__((always_inline)) {
        Pair w = T::unpack(p + i / T::SUBS * T::BYTES, i % T::SUBS);
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
            for (int r = 0; r < R; r++) tail[r] = sums[r], minTail[r] = minSums[r];
            dotTail<T, R>(p, blocks - b, x, b, tail, minTail);
            for (int r = 0; r < R; r++) sums[r] = tail[r], minSums[r] = minTail[r];
        }
        for (int r = 0; r < rows; r++) {
            if (T::HAS_MIN) sums[r] = _mm256_add_ps(sums[r], minSums[r]);
            put(out[r] + o, scale * sum8(sums[r]), add);
        }
    }
}

template <class T>
static void dotQuant(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                     bool add, float* const* out) {
    STRATA_PADDED_ROWS(dotQuantRows, w, rowBytes, outputs, inputs, x, scale, add, out)
}

// 8 rows of 8 pairs to 8 pairs of 8 rows; pair i goes to target + i * stride.
static inline void transpose8(const __m256i* in, int32_t* target, int stride) {
    __m256i t[8], u[8];
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_epi32(in[2 * i], in[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_epi32(in[2 * i], in[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_si256((__m256i*)(target + i * stride), _mm256_permute2x128_si256(u[i], u[i + 4], 0x20));
        _mm256_storeu_si256((__m256i*)(target + (i + 4) * stride), _mm256_permute2x128_si256(u[i], u[i + 4], 0x31));
    }
}

template <class T>
static void panelQuant(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = T::HALVES;
    panel->hasMin = T::HAS_MIN;
    const uint8_t* start = w + int64_t(firstBlock / T::SUBS) * T::BYTES;
    int skipped = firstBlock % T::SUBS;
    for (int group = 0; group < NR; group += 8) {
        // Rows beyond the last repeat it: their results are never read.
        const uint8_t* row[8];
        for (int j = 0; j < 8; j++) row[j] = start + (group + j < rows ? group + j : rows - 1) * rowBytes;
        for (int b = 0; b < blocks; b++) {
            __m256i even[8], odd[8];
            int at = skipped + b;
            for (int j = 0; j < 8; j++) {
                Pair pair = T::unpack(row[j] + at / T::SUBS * T::BYTES, at % T::SUBS);
                even[j] = pair.even;
                odd[j] = pair.odd;
            }
            int32_t* target = (int32_t*)panel->data + b * 16 * NR + group;
            transpose8(even, target, NR);
            transpose8(odd, target + 8 * NR, NR);
        }
        for (int j = 0; j < 8; j++) {
            for (int b = 0; b < blocks; b += 8) {
                int at = skipped + b;
                int n = blocks - b < 8 ? blocks - b : 8;
                const uint8_t* p = row[j] + at / T::SUBS * T::BYTES;
                if constexpr (T::HALVES == 2) {
                    alignas(32) float values[16];
                    T::scales16(p, n, values);
                    for (int i = 0; i < 2 * n; i++) panel->scale[(2 * b + i) * NR + group + j] = scale * values[i];
                } else {
                    alignas(32) float values[8];
                    _mm256_store_ps(values, T::scales(p, n));
                    for (int i = 0; i < n; i++) panel->scale[(b + i) * NR + group + j] = scale * values[i];
                    if constexpr (T::HAS_MIN) {
                        _mm256_store_ps(values, T::mins(p, n));
                        for (int i = 0; i < n; i++) panel->min[(b + i) * NR + group + j] = scale * values[i];
                    }
                }
            }
        }
    }
}

template <int R, int PAIRS>
static inline __attribute__((always_inline)) void accumulatePairs(const int16_t* panel, const int16_t* const* x, int first,
                                                                  VI (*sums)[NV]) {
#pragma GCC unroll 4
    for (int i = first; i < first + PAIRS; i++) {
        VI w[NV];
        for (int v = 0; v < NV; v++) w[v] = iload(panel + (i * NR + v * W) * 2);
        for (int r = 0; r < R; r++) {
            VI a = ibroadcast(x[r] + 2 * i);
            for (int v = 0; v < NV; v++) sums[r][v] = idot(sums[r][v], w[v], a);
        }
    }
}

template <int R>
static inline __attribute__((always_inline)) void addScaled(VI (*sums)[NV], const float* scale, const float* d, float* const* c) {
    for (int v = 0; v < NV; v++) {
        VF s = vload(scale + v * W);
        for (int r = 0; r < R; r++) {
            VF factor = vmul(s, vset(d[r]));
            vstore(c[r] + v * W, vfma(ifloat(sums[r][v]), factor, vload(c[r] + v * W)));
            sums[r][v] = izero();
        }
    }
}

template <int R>
static void tileQuantRows(const PanelQ* panel, const Row* x, int firstBlock, float* const* c) {
    for (int b = 0; b < panel->blocks; b++) {
        const int16_t* data = panel->data + b * 32 * NR;
        const int16_t* q[R];
        float d[R];
        for (int r = 0; r < R; r++) {
            q[r] = x[r].q + 32 * (firstBlock + b);
            d[r] = x[r].d[firstBlock + b];
        }
        VI sums[R][NV];
        for (int r = 0; r < R; r++)
            for (int v = 0; v < NV; v++) sums[r][v] = izero();
        if (panel->halves == 2) {
            // Pairs 0-3 and 8-11 hold the first 16 elements of the block.
            accumulatePairs<R, 4>(data, q, 0, sums);
            accumulatePairs<R, 4>(data, q, 8, sums);
            addScaled<R>(sums, panel->scale + 2 * b * NR, d, c);
            accumulatePairs<R, 4>(data, q, 4, sums);
            accumulatePairs<R, 4>(data, q, 12, sums);
            addScaled<R>(sums, panel->scale + (2 * b + 1) * NR, d, c);
        } else {
            accumulatePairs<R, 16>(data, q, 0, sums);
            addScaled<R>(sums, panel->scale + b * NR, d, c);
        }
        if (panel->hasMin) {
            for (int v = 0; v < NV; v++) {
                VF min = vload(panel->min + b * NR + v * W);
                for (int r = 0; r < R; r++) {
                    vstore(c[r] + v * W, vfma(min, vset(x[r].s[firstBlock + b]), vload(c[r] + v * W)));
                }
            }
        }
    }
}

// c[r][0..NR) += products of the panel's blocks, which start at block firstBlock of the rows.
static void tileQ(const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c) {
    STRATA_BY_ROWS(rows, tileQuantRows, panel, x, firstBlock, c)
}

#else
static void quantize(const float*, int, int16_t*, float*, float*) {}
static void tileQ(const PanelQ*, const Row*, int, int, float* const*) {}
#endif

static void fillProducts(Kernels* k) {
    k->width = NR;
    k->tileRows = MR;
#define X(name, id, elements, bytes) k->dots[id] = dotDecoded<id>;
    STRATA_TYPES(X)
#undef X
    k->dots[F32] = dotFloat<FloatF32>;
    k->dots[F16] = dotFloat<FloatF16>;
    k->dots[BF16] = dotFloat<FloatBF16>;
#ifdef STRATA_INT16
#define X(name)                              \
    k->dots[name] = dotQuant<Unpack##name>;  \
    k->panels[name] = panelQuant<Unpack##name>;
    STRATA_UNPACKED(X)
#undef X
#endif
}

}  // namespace strata::STRATA_NS
