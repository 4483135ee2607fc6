// Products with float32 activations: float weights, and any type through decoded pieces.
//
// Rows (decode, up to 8 activation rows): weights stream from memory once, in stored order, prefetched (prefetchRun).
// Tiles (prompts): `panelF` brings width x some inputs into a transposed buffer of the first cache's size, `tileF` runs a register tile
// of MR tokens x 2 vectors of outputs over it. Bytes moved: the weights once for each run of token rows.
#pragma once
#include "../kernels.h"
#include "../numbers.h"
#include "../stream.h"

namespace strata::STRATA_NS {

constexpr int NR = NV * W;

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
        STRATA_UNROLL
        for (int r = 0; r < R; r++)
            STRATA_UNROLL
            for (int u = 0; u < U; u++) sums[r][u] = vzero();
        int i = 0;
        for (; i + U * W <= inputs; i += U * W) {
            prefetchRun(w + i * T::BYTES, U * W * T::BYTES);
            STRATA_UNROLL
            for (int u = 0; u < U; u++) {
                VF v = T::load(w + (i + u * W) * T::BYTES);
                STRATA_UNROLL
                for (int r = 0; r < R; r++) sums[r][u] = vfma(v, vload(x[r].f + i + u * W), sums[r][u]);
            }
        }
        for (; i + W <= inputs; i += W) {
            VF v = T::load(w + i * T::BYTES);
            STRATA_UNROLL
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
static inline void panelF(int type, const uint8_t* w, int64_t rowBytes, int rows, int first, int count, float scale, float* panel) {
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
    STRATA_UNROLL
    for (int r = 0; r < R; r++)
        STRATA_UNROLL
        for (int v = 0; v < NV; v++) sums[r][v] = vload(c[r] + v * W);
    for (int i = 0; i < k; i++, b += ldb) {
        VF w[NV];
        STRATA_UNROLL
        for (int v = 0; v < NV; v++) w[v] = vload(b + v * W);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            VF x = vset(a[r][i]);
            STRATA_UNROLL
            for (int v = 0; v < NV; v++) sums[r][v] = vfma(x, w[v], sums[r][v]);
        }
    }
    STRATA_UNROLL
    for (int r = 0; r < R; r++)
        STRATA_UNROLL
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
static inline void tileF(const float* const* a, int rows, const float* b, int64_t ldb, int k, float* const* c) {
    STRATA_BY_ROWS(rows, tileFloatRows, a, b, ldb, k, c)
}

template <class = void>
static void fillFloatProducts(Kernels* k) {
    k->width = NR;
    k->tileRows = MR;
    k->dotOutputs = 1;
    k->tileF = tileF;
    k->panelF = panelF;
#define X(name, id, elements, bytes) k->dots[id] = dotDecoded<id>;
    STRATA_TYPES(X)
#undef X
    k->dots[F32] = dotFloat<FloatF32>;
    k->dots[F16] = dotFloat<FloatF16>;
    k->dots[BF16] = dotFloat<FloatBF16>;
}

}  // namespace strata::STRATA_NS
