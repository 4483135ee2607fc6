// Vectors of 16 float32 or int32 lanes with AVX-512 F, BW, VL and DQ.
#pragma once
// Loops over registers of a tile: without it their arrays would lie in memory.
#define STRATA_UNROLL _Pragma("GCC unroll 16")
#include <immintrin.h>

#include <cstdint>
#ifdef STRATA_MODEL
#include "../../check/model512.h"
#endif

namespace strata::STRATA_NS {

typedef __m512 VF;
typedef __m512i VI;
constexpr int W = 16;
// Register tile of products: tokens x (2 vectors of outputs).
constexpr int MR = 12;
constexpr int NV = 2;

static inline VF vload(const float* p) { return _mm512_loadu_ps(p); }
static inline void vstore(float* p, VF a) { _mm512_storeu_ps(p, a); }
static inline VF vset(float a) { return _mm512_set1_ps(a); }
static inline VF vzero() { return _mm512_setzero_ps(); }
static inline VF vadd(VF a, VF b) { return _mm512_add_ps(a, b); }
static inline VF vsub(VF a, VF b) { return _mm512_sub_ps(a, b); }
static inline VF vmul(VF a, VF b) { return _mm512_mul_ps(a, b); }
static inline VF vdiv(VF a, VF b) { return _mm512_div_ps(a, b); }
static inline VF vfma(VF a, VF b, VF c) { return _mm512_fmadd_ps(a, b, c); }
static inline VF vmax(VF a, VF b) { return _mm512_max_ps(a, b); }
static inline VF vmin(VF a, VF b) { return _mm512_min_ps(a, b); }
static inline VF vabs(VF a) { return _mm512_abs_ps(a); }

static inline VF vloadHalf(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
static inline void vstoreHalf(uint16_t* p, VF a) {
    _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
static inline VF vloadBf16(const uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16));
}
static inline VF vloadInt8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)));
}

static inline float vsum(VF a) { return _mm512_reduce_add_ps(a); }
static inline float vhighest(VF a) { return _mm512_reduce_max_ps(a); }

static inline VF vround(VF a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// 2^a for integral a in [-126, 127].
static inline VF vpow2(VF a) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127)), 23));
}

static inline VI iload(const void* p) { return _mm512_loadu_si512(p); }
static inline VI izero() { return _mm512_setzero_si512(); }
static inline VF ifloat(VI a) { return _mm512_cvtepi32_ps(a); }
// One token's step in a register tile: c0 and c1 += products of the int16 pair at x with w0 and w1. As assembly, so that the compiler
// does not move the broadcasts of all tokens to the front.
static inline void itile(VI& c0, VI& c1, VI w0, VI w1, const int16_t* x) {
#ifdef STRATA_MODEL
    VI a = _mm512_set1_epi32(*(const int32_t*)x);
    c0 = _mm512_dpwssd_epi32(c0, a, w0);
    c1 = _mm512_dpwssd_epi32(c1, a, w1);
#else
    VI a;
#ifdef STRATA_VNNI
    asm volatile(
        "vpbroadcastd %[x], %[a]\n\t"
        "vpdpwssd %[a], %[w0], %[c0]\n\t"
        "vpdpwssd %[a], %[w1], %[c1]"
        : [c0] "+v"(c0), [c1] "+v"(c1), [a] "=&v"(a)
        : [w0] "v"(w0), [w1] "v"(w1), [x] "m"(*(const int32_t*)x));
#else
    VI t;
    asm volatile(
        "vpbroadcastd %[x], %[a]\n\t"
        "vpmaddwd %[a], %[w0], %[t]\n\t"
        "vpaddd %[t], %[c0], %[c0]\n\t"
        "vpmaddwd %[a], %[w1], %[a]\n\t"
        "vpaddd %[a], %[c1], %[c1]"
        : [c0] "+v"(c0), [c1] "+v"(c1), [a] "=&v"(a), [t] "=&v"(t)
        : [w0] "v"(w0), [w1] "v"(w1), [x] "m"(*(const int32_t*)x));
#endif
#endif
}
// The first step: c0 and c1 are its products.
static inline void itileStart(VI& c0, VI& c1, VI w0, VI w1, const int16_t* x) {
#ifdef STRATA_MODEL
    c0 = c1 = izero();
    itile(c0, c1, w0, w1, x);
#else
    VI a;
    asm volatile(
        "vpbroadcastd %[x], %[a]\n\t"
        "vpmaddwd %[a], %[w0], %[c0]\n\t"
        "vpmaddwd %[a], %[w1], %[c1]"
        : [c0] "=&v"(c0), [c1] "=&v"(c1), [a] "=&v"(a)
        : [w0] "v"(w0), [w1] "v"(w1), [x] "m"(*(const int32_t*)x));
#endif
}

// What products of packed matrices need.
static inline void istore(void* p, VI a) { _mm512_storeu_si512(p, a); }
static inline VI iand(VI a, VI b) { return _mm512_and_si512(a, b); }
static inline VI ior(VI a, VI b) { return _mm512_or_si512(a, b); }
static inline VI iadd(VI a, VI b) { return _mm512_add_epi32(a, b); }
static inline VI iset8(int a) { return _mm512_set1_epi8(char(a)); }
static inline VI iset16(int a) { return _mm512_set1_epi16(short(a)); }
static inline VI iset32(int a) { return _mm512_set1_epi32(a); }
static inline VI isub16(VI a, VI b) { return _mm512_sub_epi16(a, b); }
static inline VI ishr16(VI a, int n) { return _mm512_srli_epi16(a, n); }
static inline VI ishl16(VI a, int n) { return _mm512_slli_epi16(a, n); }
static inline VI ishl32(VI a, int n) { return _mm512_slli_epi32(a, n); }
static inline VI ishr32(VI a, int n) { return _mm512_srli_epi32(a, n); }
static inline VI ilarger32(VI a, VI b) { return _mm512_max_epi32(a, b); }
static inline VI isub32(VI a, VI b) { return _mm512_sub_epi32(a, b); }
static inline VI imultiply32(VI a, VI b) { return _mm512_mullo_epi32(a, b); }
// The upper half of every 64 bits in the lower one.
static inline VI ishr64(VI a) { return _mm512_srli_epi64(a, 32); }
static inline VF ibits(VI a) { return _mm512_castsi512_ps(a); }
// 2 s + 1 of the lowest half byte s of every lane, and of the one above it: a permutation looks at 4 bits alone.
static inline VF vodd(VI codes) {
    return _mm512_permutexvar_ps(codes, _mm512_setr_ps(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31));
}
static inline VF voddNext(VI codes) { return vodd(ishr32(codes, 4)); }
// W bytes as lanes, without a sign and with one.
static inline VI ibytes(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
static inline VI isigned(const uint8_t* p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)); }
// Entries of 16 bytes by the low halves of bytes, whose highest bits are zero.
static inline VI itable(const int8_t* values) { return _mm512_broadcast_i32x4(_mm_load_si128((const __m128i*)values)); }
static inline VI ilookup(VI table, VI codes) { return _mm512_shuffle_epi8(table, codes); }
// c += products of the int16 pair at x with a.
static inline void iproduct(VI& c, VI a, const int16_t* x) {
    c = _mm512_add_epi32(c, _mm512_madd_epi16(a, _mm512_set1_epi32(*(const int32_t*)x)));
}
// 4 bytes in every lane.
static inline VI irepeat(const void* p) { return _mm512_set1_epi32(*(const int32_t*)p); }
#ifdef STRATA_VNNI
// c += products of the 4 signed bytes at x with the unsigned ones of a.
static inline void ibyteProduct(VI& c, VI a, const int8_t* x) { c = _mm512_dpbusd_epi32(c, a, irepeat(x)); }
#endif

}  // namespace strata::STRATA_NS
