// The AVX-512, VNNI, VBMI and AMX operations that the kernels use, in plain C++ after the processor manuals' descriptions: `make check-model` runs the
// kernels of these sets with them on processors that lack them. Slow, and only for tests.
#pragma once
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace strata::model {

// A vector of N bytes as lanes of type T.
template <class T, class V>
struct Lanes {
    static constexpr int N = int(sizeof(V) / sizeof(T));
    T at[N];
    Lanes() : at{} {}
    explicit Lanes(const V& v) { memcpy(at, &v, sizeof v); }
    V vector() const {
        V v;
        memcpy(&v, at, sizeof v);
        return v;
    }
};
template <class T> using Z = Lanes<T, __m512i>;
using F = Lanes<float, __m512>;

template <class T, class G>
static inline __m512i each(const G& g) {
    Z<T> r;
    for (int i = 0; i < r.N; i++) r.at[i] = T(g(i));
    return r.vector();
}
template <class G>
static inline __m512 eachF(const G& g) {
    F r;
    for (int i = 0; i < 16; i++) r.at[i] = g(i);
    return r.vector();
}
// r lanes of type T out of the lanes of type S of a narrower or wider vector.
template <class T, class R, class S, class V>
static inline R convert(const V& v) {
    Lanes<T, R> r;
    Lanes<S, V> s(v);
    for (int i = 0; i < r.N && i < s.N; i++) r.at[i] = T(s.at[i]);
    return r.vector();
}

static inline __m512i load(const void* p) {
    __m512i v;
    memcpy(&v, p, 64);
    return v;
}
static inline __m512 loadF(const void* p) {
    __m512 v;
    memcpy(&v, p, 64);
    return v;
}
static inline void store(void* p, __m512i v) { memcpy(p, &v, 64); }
static inline void storeF(void* p, __m512 v) { memcpy(p, &v, 64); }
static inline __m512i zero() { return each<int32_t>([](int) { return 0; }); }
template <class T> static inline __m512i set1(T a) { return each<T>([&](int) { return a; }); }
static inline __m512 set1F(float a) { return eachF([&](int) { return a; }); }
template <class T, class... A> static inline __m512i setr(A... a) {
    const T values[] = {T(a)...};
    return each<T>([&](int i) { return values[i]; });
}
template <class T, class V> static inline __m512i repeat(const V& v) {
    Lanes<T, V> s(v);
    return each<T>([&](int i) { return s.at[i % s.N]; });
}
template <class T, class G> static inline __m512i both(__m512i a, __m512i b, const G& g) {
    Z<T> x(a), y(b);
    return each<T>([&](int i) { return g(x.at[i], y.at[i]); });
}
template <class G> static inline __m512 bothF(__m512 a, __m512 b, const G& g) {
    F x(a), y(b);
    return eachF([&](int i) { return g(x.at[i], y.at[i]); });
}
template <class T> static inline __m512i add(__m512i a, __m512i b) { return both<T>(a, b, [](T x, T y) { return T(uint64_t(x) + uint64_t(y)); }); }
template <class T> static inline __m512i sub(__m512i a, __m512i b) { return both<T>(a, b, [](T x, T y) { return T(uint64_t(x) - uint64_t(y)); }); }
template <class T> static inline __m512i shiftLeft(__m512i a, int n) {
    Z<T> x(a);
    return each<T>([&](int i) { return n >= int(sizeof(T) * 8) ? T(0) : T(x.at[i] << n); });
}
template <class T> static inline __m512i shiftRight(__m512i a, int n) {
    Z<T> x(a);
    return each<T>([&](int i) { return n >= int(sizeof(T) * 8) ? T(x.at[i] < T(0) ? -1 : 0) : T(x.at[i] >> n); });
}
template <class T> static inline __m512i blend(uint64_t mask, __m512i a, __m512i b) {
    Z<T> x(a), y(b);
    return each<T>([&](int i) { return mask >> i & 1 ? y.at[i] : x.at[i]; });
}
static inline __m512i ternary(__m512i a, __m512i b, __m512i c, int table) {
    Z<uint64_t> x(a), y(b), z(c);
    return each<uint64_t>([&](int i) {
        uint64_t result = 0;
        for (int n = 0; n < 8; n++) {
            if (table >> n & 1) result |= (n & 4 ? x.at[i] : ~x.at[i]) & (n & 2 ? y.at[i] : ~y.at[i]) & (n & 1 ? z.at[i] : ~z.at[i]);
        }
        return result;
    });
}
template <class T> static inline __m512i permute(__m512i index, __m512i a) {
    Z<T> n(index), x(a);
    return each<T>([&](int i) { return x.at[n.at[i] & T(Z<T>::N - 1)]; });
}
template <class T> static inline __m512i permute2(__m512i a, __m512i index, __m512i b) {
    Z<T> x(a), n(index), y(b);
    return each<T>([&](int i) {
        const int from = int(n.at[i] & T(2 * Z<T>::N - 1));
        return from < Z<T>::N ? x.at[from] : y.at[from - Z<T>::N];
    });
}
template <class T> static inline __m512i unpack(__m512i a, __m512i b, bool high) {
    Z<T> x(a), y(b);
    constexpr int LANE = 16 / sizeof(T);
    return each<T>([&](int i) {
        const int from = i / LANE * LANE + i % LANE / 2 + (high ? LANE / 2 : 0);
        return i % 2 ? y.at[from] : x.at[from];
    });
}
template <class V> static inline V shuffleLanes(V a, V b, int control) {
    Lanes<__int128, V> x(a), y(b), r;
    for (int i = 0; i < 4; i++) r.at[i] = (i < 2 ? x : y).at[control >> 2 * i & 3];
    return r.vector();
}
static inline __m512i shuffleBytes(__m512i a, __m512i index) {
    Z<uint8_t> x(a), n(index);
    return each<uint8_t>([&](int i) { return n.at[i] & 128 ? 0 : x.at[i / 16 * 16 + (n.at[i] & 15)]; });
}
static inline __m512i multishift(__m512i control, __m512i a) {
    Z<uint8_t> n(control);
    Z<uint64_t> x(a);
    return each<uint8_t>([&](int i) {
        const uint64_t q = x.at[i / 8];
        const int s = n.at[i] & 63;
        return uint8_t(s == 0 ? q : q >> s | q << (64 - s));
    });
}
static inline uint64_t signMask(__m512i a) {
    Z<int8_t> x(a);
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++) mask |= uint64_t(x.at[i] < 0) << i;
    return mask;
}
// Sums of four unsigned by signed bytes.
static inline __m512i dotBytes(__m512i c, __m512i a, __m512i b) {
    Z<int32_t> sum(c);
    Z<uint8_t> x(a);
    Z<int8_t> y(b);
    for (int i = 0; i < 64; i++) sum.at[i / 4] += int32_t(x.at[i]) * y.at[i];
    return sum.vector();
}
template <class V> static inline V dotWords(V c, V a, V b) {
    Lanes<int32_t, V> sum(c);
    Lanes<int16_t, V> x(a), y(b);
    for (int i = 0; i < x.N; i++) sum.at[i / 2] += int32_t(x.at[i]) * y.at[i];
    return sum.vector();
}
template <class V, int N, class R> static inline R part(V v, int which) {
    R r;
    memcpy(&r, (const char*)&v + which * N, N);
    return r;
}
template <int N, class R> static inline __m512i with(__m512i v, R part, int which) {
    memcpy((char*)&v + which * N, &part, N);
    return v;
}
template <class G> static inline float reduce(__m512 a, const G& g) {
    F x(a);
    for (int n = 8; n > 0; n /= 2)
        for (int i = 0; i < n; i++) x.at[i] = g(x.at[i], x.at[i + n]);
    return x.at[0];
}

static inline __m512 rounded(__m512 a) {
    return bothF(a, a, [](float x, float) { return std::nearbyint(x); });
}
static inline __m512 ofHalf(__m256i h) {
    __m512 v;
    const __m256 parts[] = {_mm256_cvtph_ps(_mm256_castsi256_si128(h)), _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1))};
    memcpy(&v, parts, 64);
    return v;
}
static inline __m256i toHalf(__m512 a) {
    __m256 parts[2];
    memcpy(parts, &a, 64);
    return _mm256_set_m128i(_mm256_cvtps_ph(parts[1], 0), _mm256_cvtps_ph(parts[0], 0));
}

// The tile unit: eight registers of up to 16 rows of 64 bytes, shaped by the loaded configuration.
struct Tiles {
    uint8_t shape[64];
    alignas(64) uint8_t data[8][16][64];

    int rows(int t) const { return shape[48 + t]; }
    int rowBytes(int t) const { return shape[16 + 2 * t] | shape[17 + 2 * t] << 8; }
};
static thread_local Tiles tiles;

static inline void tileLoad(int t, const void* p, int64_t stride) {
    memset(tiles.data[t], 0, sizeof tiles.data[t]);
    for (int r = 0; r < tiles.rows(t); r++) memcpy(tiles.data[t][r], (const char*)p + r * stride, size_t(tiles.rowBytes(t)));
}
static inline void tileStore(int t, void* p, int64_t stride) {
    for (int r = 0; r < tiles.rows(t); r++) memcpy((char*)p + r * stride, tiles.data[t][r], size_t(tiles.rowBytes(t)));
}
static inline float ofBf16(const uint8_t* p) {
    const uint32_t bits = uint32_t(p[0]) << 16 | uint32_t(p[1]) << 24;
    float v;
    memcpy(&v, &bits, 4);
    return v;
}
// Row m of c += for every pair k: a's pair k of row m by row k of b.
static inline void tileBf16(int c, int a, int b) {
    for (int m = 0; m < tiles.rows(c); m++) {
        for (int k = 0; k < tiles.rowBytes(a) / 4; k++) {
            for (int n = 0; n < tiles.rowBytes(c) / 4; n++) {
                float sum;
                memcpy(&sum, tiles.data[c][m] + 4 * n, 4);
                for (int i = 0; i < 2; i++) sum += ofBf16(tiles.data[a][m] + 4 * k + 2 * i) * ofBf16(tiles.data[b][k] + 4 * n + 2 * i);
                memcpy(tiles.data[c][m] + 4 * n, &sum, 4);
            }
        }
    }
}

// Bit b of a byte: the parity of the byte and byte 7 - b of the matrix beside it.
static inline __m512i timesBitMatrix(__m512i bytes, __m512i matrix) {
    Z<uint8_t> x(bytes), m(matrix);
    return each<uint8_t>([&](int i) {
        int result = 0;
        for (int b = 0; b < 8; b++) result |= __builtin_parity(x.at[i] & m.at[i / 8 * 8 + 7 - b]) << b;
        return result;
    });
}

}  // namespace strata::model

#define STRATA_M ::strata::model
#define _mm512_loadu_si512(p) STRATA_M::load(p)
#define _mm512_load_si512(p) STRATA_M::load(p)
#define _mm512_loadu_ps(p) STRATA_M::loadF(p)
#define _mm512_load_ps(p) STRATA_M::loadF(p)
#define _mm512_storeu_ps(p, v) STRATA_M::storeF(p, v)
#define _mm512_store_si512(p, v) STRATA_M::store(p, v)
#define _mm512_storeu_si512(p, v) STRATA_M::store(p, v)
#define _mm512_setzero_si512() STRATA_M::zero()
#define _mm512_setzero_ps() STRATA_M::set1F(0)
#define _mm512_set1_ps(a) STRATA_M::set1F(a)
#undef _mm512_setr_ps
#define _mm512_setr_ps(...) _mm512_castsi512_ps(STRATA_M::setr<float>(__VA_ARGS__))
#define _mm512_set1_epi8(a) STRATA_M::set1<int8_t>(int8_t(a))
#define _mm512_set1_epi16(a) STRATA_M::set1<int16_t>(int16_t(a))
#define _mm512_set1_epi32(a) STRATA_M::set1<int32_t>(a)
#define _mm512_set1_epi64(a) STRATA_M::set1<int64_t>(a)
#undef _mm512_setr_epi32
#define _mm512_setr_epi32(...) STRATA_M::setr<int32_t>(__VA_ARGS__)
#undef _mm512_setr_epi64
#define _mm512_setr_epi64(...) STRATA_M::setr<int64_t>(__VA_ARGS__)
#define _mm512_broadcast_i32x4(v) STRATA_M::repeat<int32_t>(v)
#define _mm512_broadcast_i64x4(v) STRATA_M::repeat<int64_t>(v)
#define _mm512_mask_broadcast_i32x4(old, mask, v) STRATA_M::blend<int32_t>(mask, old, STRATA_M::repeat<int32_t>(v))
#define _mm512_add_epi16(a, b) STRATA_M::add<int16_t>(a, b)
#define _mm512_add_epi32(a, b) STRATA_M::add<int32_t>(a, b)
#define _mm512_sub_epi16(a, b) STRATA_M::sub<int16_t>(a, b)
#define _mm512_sub_epi32(a, b) STRATA_M::sub<int32_t>(a, b)
#define _mm512_mullo_epi32(a, b) STRATA_M::both<int32_t>(a, b, [](int32_t x, int32_t y) { return x * y; })
#define _mm512_max_epi32(a, b) STRATA_M::both<int32_t>(a, b, [](int32_t x, int32_t y) { return x > y ? x : y; })
#define _mm512_madd_epi16(a, b) STRATA_M::dotWords(STRATA_M::zero(), a, b)
#define _mm512_sub_epi8(a, b) STRATA_M::sub<int8_t>(a, b)
#define _mm512_mask_sub_epi8(old, mask, a, b) STRATA_M::blend<int8_t>(mask, old, STRATA_M::sub<int8_t>(a, b))
#define _mm512_and_si512(a, b) STRATA_M::both<uint64_t>(a, b, [](uint64_t x, uint64_t y) { return x & y; })
#define _mm512_or_si512(a, b) STRATA_M::both<uint64_t>(a, b, [](uint64_t x, uint64_t y) { return x | y; })
#define _mm512_xor_si512(a, b) STRATA_M::both<uint64_t>(a, b, [](uint64_t x, uint64_t y) { return x ^ y; })
#define _mm512_srlv_epi64(a, b) STRATA_M::both<uint64_t>(a, b, [](uint64_t x, uint64_t y) { return y > 63 ? 0 : x >> y; })
#define _mm512_slli_epi16(a, n) STRATA_M::shiftLeft<uint16_t>(a, n)
#define _mm512_slli_epi32(a, n) STRATA_M::shiftLeft<uint32_t>(a, n)
#define _mm512_srli_epi16(a, n) STRATA_M::shiftRight<uint16_t>(a, n)
#define _mm512_srli_epi32(a, n) STRATA_M::shiftRight<uint32_t>(a, n)
#define _mm512_srli_epi64(a, n) STRATA_M::shiftRight<uint64_t>(a, n)
#define _mm512_srai_epi16(a, n) STRATA_M::shiftRight<int16_t>(a, n)
#define _mm512_srai_epi32(a, n) STRATA_M::shiftRight<int32_t>(a, n)
#define _mm512_mask_blend_epi8(mask, a, b) STRATA_M::blend<uint8_t>(mask, a, b)
#define _mm512_mask_blend_epi16(mask, a, b) STRATA_M::blend<uint16_t>(mask, a, b)
#undef _mm512_ternarylogic_epi32
#define _mm512_ternarylogic_epi32(a, b, c, table) STRATA_M::ternary(a, b, c, table)
#define _mm512_permutexvar_epi8(n, a) STRATA_M::permute<uint8_t>(n, a)
#define _mm512_permutexvar_epi16(n, a) STRATA_M::permute<uint16_t>(n, a)
#define _mm512_permutexvar_epi64(n, a) STRATA_M::permute<uint64_t>(n, a)
#define _mm512_permutexvar_ps(n, a) _mm512_castsi512_ps(STRATA_M::permute<uint32_t>(n, _mm512_castps_si512(a)))
#define _mm512_permutex2var_epi8(a, n, b) STRATA_M::permute2<uint8_t>(a, n, b)
#define _mm512_unpacklo_epi16(a, b) STRATA_M::unpack<uint16_t>(a, b, false)
#define _mm512_unpackhi_epi16(a, b) STRATA_M::unpack<uint16_t>(a, b, true)
#undef _mm512_gf2p8affine_epi64_epi8
#define _mm512_gf2p8affine_epi64_epi8(a, m, n) STRATA_M::timesBitMatrix(a, m)
#define _mm512_unpacklo_epi8(a, b) STRATA_M::unpack<uint8_t>(a, b, false)
#define _mm512_unpackhi_epi8(a, b) STRATA_M::unpack<uint8_t>(a, b, true)
#define _mm512_unpacklo_epi32(a, b) STRATA_M::unpack<uint32_t>(a, b, false)
#define _mm512_unpackhi_epi32(a, b) STRATA_M::unpack<uint32_t>(a, b, true)
#define _mm512_unpacklo_epi64(a, b) STRATA_M::unpack<uint64_t>(a, b, false)
#define _mm512_unpackhi_epi64(a, b) STRATA_M::unpack<uint64_t>(a, b, true)
#undef _mm512_shuffle_i32x4
#define _mm512_shuffle_i32x4(a, b, control) STRATA_M::shuffleLanes(a, b, control)
#define _mm512_shuffle_epi8(a, n) STRATA_M::shuffleBytes(a, n)
#define _mm512_multishift_epi64_epi8(n, a) STRATA_M::multishift(n, a)
#define _mm512_movepi8_mask(a) STRATA_M::signMask(a)
#define _mm512_dpbusd_epi32(c, a, b) STRATA_M::dotBytes(c, a, b)
#undef _mm512_dpwssd_epi32
#define _mm512_dpwssd_epi32(c, a, b) STRATA_M::dotWords(c, a, b)
#undef _mm256_dpwssd_epi32
#define _mm256_dpwssd_epi32(c, a, b) STRATA_M::dotWords(c, a, b)
#define _cvtu64_mask64(a) uint64_t(a)
#undef _mm512_inserti64x4
#define _mm512_inserti64x4(a, b, n) STRATA_M::with<32>(a, b, n)
#undef _mm512_insertf32x8
#define _mm512_insertf32x8(a, b, n) _mm512_castsi512_ps(STRATA_M::with<32>(_mm512_castps_si512(a), b, n))
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps(a, n) STRATA_M::part<__m512, 32, __m256>(a, n)
#define _mm512_castps512_ps256(a) STRATA_M::part<__m512, 32, __m256>(a, 0)
#define _mm512_castps256_ps512(a) _mm512_castsi512_ps(STRATA_M::with<32>(STRATA_M::zero(), a, 0))
#define _mm512_castsi256_si512(a) STRATA_M::with<32>(STRATA_M::zero(), a, 0)
#define _mm512_castps_si512(...) ((__m512i)(__VA_ARGS__))
#define _mm512_castsi512_ps(...) ((__m512)(__VA_ARGS__))
#define _mm512_cvtepi8_epi32(a) STRATA_M::convert<int32_t, __m512i, int8_t>(a)
#define _mm512_cvtepi16_epi32(a) STRATA_M::convert<int32_t, __m512i, int16_t>(a)
#define _mm512_cvtepu8_epi16(a) STRATA_M::convert<int16_t, __m512i, uint8_t>(a)
#define _mm512_cvtepu8_epi32(a) STRATA_M::convert<int32_t, __m512i, uint8_t>(a)
#define _mm512_cvtepu8_epi64(a) STRATA_M::convert<int64_t, __m512i, uint8_t>(a)
#define _mm512_cvtepu16_epi32(a) STRATA_M::convert<int32_t, __m512i, uint16_t>(a)
#define _mm512_cvtepu16_epi64(a) STRATA_M::convert<int64_t, __m512i, uint16_t>(a)
#define _mm512_cvtepu32_epi64(a) STRATA_M::convert<int64_t, __m512i, uint32_t>(a)
#define _mm512_cvtepi16_epi8(a) STRATA_M::convert<int8_t, __m256i, int16_t>(a)
#define _mm512_cvtepi32_epi16(a) STRATA_M::convert<int16_t, __m256i, int32_t>(a)
#define _mm512_cvtepi32_ps(a) STRATA_M::convert<float, __m512, int32_t>(a)
#define _mm512_cvtps_epi32(a) STRATA_M::convert<int32_t, __m512i, float>(STRATA_M::rounded(a))
#define _mm512_add_ps(a, b) STRATA_M::bothF(a, b, [](float x, float y) { return x + y; })
#define _mm512_sub_ps(a, b) STRATA_M::bothF(a, b, [](float x, float y) { return x - y; })
#define _mm512_mul_ps(a, b) STRATA_M::bothF(a, b, [](float x, float y) { return x * y; })
#define _mm512_div_ps(a, b) STRATA_M::bothF(a, b, [](float x, float y) { return x / y; })
#define _mm512_max_ps(a, b) STRATA_M::bothF(a, b, [](float x, float y) { return x > y ? x : y; })
#define _mm512_min_ps(a, b) STRATA_M::bothF(a, b, [](float x, float y) { return x < y ? x : y; })
#define _mm512_abs_ps(a) STRATA_M::bothF(a, a, [](float x, float) { return std::fabs(x); })
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps(a, mode) STRATA_M::rounded(a)
#define _mm512_fmadd_ps(a, b, c) STRATA_M::bothF(STRATA_M::bothF(a, b, [](float x, float y) { return x * y; }), c, [](float x, float y) { return x + y; })
#define _mm512_reduce_add_ps(a) STRATA_M::reduce(a, [](float x, float y) { return x + y; })
#define _mm512_reduce_max_ps(a) STRATA_M::reduce(a, [](float x, float y) { return x > y ? x : y; })
#define _mm512_cvtph_ps(h) STRATA_M::ofHalf(h)
#undef _mm512_cvtps_ph
#define _mm512_cvtps_ph(a, mode) STRATA_M::toHalf(a)
#undef _tile_loadconfig
#define _tile_loadconfig(p) memcpy(STRATA_M::tiles.shape, p, 64)
#undef _tile_release
#define _tile_release() ((void)0)
#undef _tile_zero
#define _tile_zero(t) memset(STRATA_M::tiles.data[t], 0, sizeof STRATA_M::tiles.data[t])
#undef _tile_loadd
#define _tile_loadd(t, p, stride) STRATA_M::tileLoad(t, p, stride)
#undef _tile_stored
#define _tile_stored(t, p, stride) STRATA_M::tileStore(t, p, stride)
#undef _tile_dpbf16ps
#define _tile_dpbf16ps(c, a, b) STRATA_M::tileBf16(c, a, b)
