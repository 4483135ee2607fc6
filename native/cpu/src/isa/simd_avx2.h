// Vectors of 8 float32 or int32 lanes with AVX2, FMA and F16C; with AVX-VNNI, products and their sums are one instruction (`{vex}`: not the one of AVX-512).
#pragma once
// Loops over registers of a tile: without it their arrays would lie in memory.
#define STRATA_UNROLL _Pragma("GCC unroll 16")
#include <immintrin.h>

#include <cstdint>

namespace strata::STRATA_NS {

typedef __m256 VF;
typedef __m256i VI;
constexpr int W = 8;
// Register tile of products: tokens x (2 vectors of outputs).
constexpr int MR = 6;
constexpr int NV = 2;

static inline VF vload(const float* p) { return _mm256_loadu_ps(p); }
static inline void vstore(float* p, VF a) { _mm256_storeu_ps(p, a); }
static inline VF vset(float a) { return _mm256_set1_ps(a); }
static inline VF vzero() { return _mm256_setzero_ps(); }
static inline VF vadd(VF a, VF b) { return _mm256_add_ps(a, b); }
static inline VF vsub(VF a, VF b) { return _mm256_sub_ps(a, b); }
static inline VF vmul(VF a, VF b) { return _mm256_mul_ps(a, b); }
static inline VF vdiv(VF a, VF b) { return _mm256_div_ps(a, b); }
static inline VF vfma(VF a, VF b, VF c) { return _mm256_fmadd_ps(a, b, c); }
static inline VF vmax(VF a, VF b) { return _mm256_max_ps(a, b); }
static inline VF vmin(VF a, VF b) { return _mm256_min_ps(a, b); }
static inline VF vabs(VF a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }

static inline VF vloadHalf(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
static inline void vstoreHalf(uint16_t* p, VF a) {
    _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
static inline VF vloadBf16(const uint16_t* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)), 16));
}
static inline VF vloadInt8(const int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)));
}

static inline float vsum(VF a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline float vhighest(VF a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

static inline VF vround(VF a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// 2^a for integral a in [-126, 127].
static inline VF vpow2(VF a) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127)), 23));
}

static inline VI iload(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }
static inline VI izero() { return _mm256_setzero_si256(); }
static inline VF ifloat(VI a) { return _mm256_cvtepi32_ps(a); }
// One token's step in a register tile: c0 and c1 += products of the int16 pair at x with w0 and w1. As assembly, because the compiler
// moves the broadcasts of all tokens to the front and then spills the sums.
static inline void itile(VI& c0, VI& c1, VI w0, VI w1, const int16_t* x) {
#ifdef STRATA_AVXVNNI
    VI a;
    asm volatile(
        "vpbroadcastd %[x], %[a]\n\t"
        "%{vex%} vpdpwssd %[a], %[w0], %[c0]\n\t"
        "%{vex%} vpdpwssd %[a], %[w1], %[c1]"
        : [c0] "+x"(c0), [c1] "+x"(c1), [a] "=&x"(a)
        : [w0] "x"(w0), [w1] "x"(w1), [x] "m"(*(const int32_t*)x));
#else
    VI a, t;
    asm volatile(
        "vpbroadcastd %[x], %[a]\n\t"
        "vpmaddwd %[a], %[w0], %[t]\n\t"
        "vpaddd %[t], %[c0], %[c0]\n\t"
        "vpmaddwd %[a], %[w1], %[a]\n\t"
        "vpaddd %[a], %[c1], %[c1]"
        : [c0] "+x"(c0), [c1] "+x"(c1), [a] "=&x"(a), [t] "=&x"(t)
        : [w0] "x"(w0), [w1] "x"(w1), [x] "m"(*(const int32_t*)x));
#endif
}
// The first step: c0 and c1 are its products.
static inline void itileStart(VI& c0, VI& c1, VI w0, VI w1, const int16_t* x) {
    VI a;
    asm volatile(
        "vpbroadcastd %[x], %[a]\n\t"
        "vpmaddwd %[a], %[w0], %[c0]\n\t"
        "vpmaddwd %[a], %[w1], %[c1]"
        : [c0] "=&x"(c0), [c1] "=&x"(c1), [a] "=&x"(a)
        : [w0] "x"(w0), [w1] "x"(w1), [x] "m"(*(const int32_t*)x));
}

// What products of packed matrices need.
static inline void istore(void* p, VI a) { _mm256_storeu_si256((__m256i*)p, a); }
static inline VI iand(VI a, VI b) { return _mm256_and_si256(a, b); }
static inline VI ior(VI a, VI b) { return _mm256_or_si256(a, b); }
static inline VI iadd(VI a, VI b) { return _mm256_add_epi32(a, b); }
static inline VI iset8(int a) { return _mm256_set1_epi8(char(a)); }
static inline VI iset16(int a) { return _mm256_set1_epi16(short(a)); }
static inline VI iset32(int a) { return _mm256_set1_epi32(a); }
static inline VI isub16(VI a, VI b) { return _mm256_sub_epi16(a, b); }
static inline VI ishr16(VI a, int n) { return _mm256_srli_epi16(a, n); }
static inline VI ishl16(VI a, int n) { return _mm256_slli_epi16(a, n); }
static inline VI ishl32(VI a, int n) { return _mm256_slli_epi32(a, n); }
static inline VI ishr32(VI a, int n) { return _mm256_srli_epi32(a, n); }
static inline VI ilarger32(VI a, VI b) { return _mm256_max_epi32(a, b); }
static inline VI isub32(VI a, VI b) { return _mm256_sub_epi32(a, b); }
static inline VI imultiply32(VI a, VI b) { return _mm256_mullo_epi32(a, b); }
// The upper half of every 64 bits in the lower one.
static inline VI ishr64(VI a) { return _mm256_srli_epi64(a, 32); }
static inline VF ibits(VI a) { return _mm256_castsi256_ps(a); }
// 2 s + 1 of the lowest half byte s of every lane, and of the one above it, which is multiplied where it is.
static inline VF vodd(VI codes) { return vfma(ifloat(iand(codes, iset32(15))), vset(2), vset(1)); }
static inline VF voddNext(VI codes) { return vfma(ifloat(iand(codes, iset32(0xf0))), vset(0.125f), vset(1)); }
// W bytes as lanes, without a sign and with one.
static inline VI ibytes(const uint8_t* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
static inline VI isigned(const uint8_t* p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
// Entries of 16 bytes by the low halves of bytes, whose highest bits are zero.
static inline VI itable(const int8_t* values) { return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i*)values)); }
static inline VI ilookup(VI table, VI codes) { return _mm256_shuffle_epi8(table, codes); }
// c += products of the int16 pair at x with a. As assembly, because the compiler moves the broadcasts of all rows to the front and then spills.
static inline void iproduct(VI& c, VI a, const int16_t* x) {
    VI t;
    asm volatile(
        "vpbroadcastd %[x], %[t]\n\t"
#ifdef STRATA_AVXVNNI
        "%{vex%} vpdpwssd %[t], %[a], %[c]"
#else
        "vpmaddwd %[t], %[a], %[t]\n\t"
        "vpaddd %[t], %[c], %[c]"
#endif
        : [c] "+x"(c), [t] "=&x"(t)
        : [a] "x"(a), [x] "m"(*(const int32_t*)x));
}
#ifdef STRATA_AVXVNNI
// c += products of the 4 signed bytes at x with the unsigned ones of a.
static inline void ibyteProduct(VI& c, VI a, const int8_t* x) {
    VI t;
    asm volatile(
        "vpbroadcastd %[x], %[t]\n\t"
        "%{vex%} vpdpbusd %[t], %[a], %[c]"
        : [c] "+x"(c), [t] "=&x"(t)
        : [a] "x"(a), [x] "m"(*(const int32_t*)x));
}
#endif
// 4 bytes in every lane.
static inline VI irepeat(const void* p) { return _mm256_set1_epi32(*(const int32_t*)p); }

}  // namespace strata::STRATA_NS
