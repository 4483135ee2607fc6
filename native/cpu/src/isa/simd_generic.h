// Vectors of 4 float32 lanes in GCC's vector extension, for any processor.
#pragma once
// Loops over registers of a tile: without it their arrays would lie in memory.
#define STRATA_UNROLL _Pragma("GCC unroll 16")
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../numbers.h"

namespace strata::STRATA_NS {

typedef float VF __attribute__((vector_size(16)));
typedef int32_t VI __attribute__((vector_size(16)));
constexpr int W = 4;
// Register tile of products: tokens x (2 vectors of outputs).
constexpr int MR = 6;
constexpr int NV = 2;

static inline VF vload(const float* p) {
    VF a;
    memcpy(&a, p, sizeof a);
    return a;
}
static inline void vstore(float* p, VF a) { memcpy(p, &a, sizeof a); }
static inline VF vset(float a) { return VF{a, a, a, a}; }
static inline VF vzero() { return vset(0); }
static inline VF vadd(VF a, VF b) { return a + b; }
static inline VF vsub(VF a, VF b) { return a - b; }
static inline VF vmul(VF a, VF b) { return a * b; }
static inline VF vdiv(VF a, VF b) { return a / b; }
static inline VF vfma(VF a, VF b, VF c) { return a * b + c; }
static inline VF vmax(VF a, VF b) { return a > b ? a : b; }
static inline VF vmin(VF a, VF b) { return a < b ? a : b; }
static inline VF vabs(VF a) { return a < 0 ? -a : a; }

static inline VF vloadHalf(const uint16_t* p) {
    return VF{halfToFloat(p[0]), halfToFloat(p[1]), halfToFloat(p[2]), halfToFloat(p[3])};
}
static inline void vstoreHalf(uint16_t* p, VF a) {
    for (int i = 0; i < W; i++) p[i] = floatToHalf(a[i]);
}
static inline VF vloadBf16(const uint16_t* p) {
    return VF{bf16ToFloat(p[0]), bf16ToFloat(p[1]), bf16ToFloat(p[2]), bf16ToFloat(p[3])};
}
static inline VF vloadInt8(const int8_t* p) { return VF{float(p[0]), float(p[1]), float(p[2]), float(p[3])}; }

static inline float vsum(VF a) { return (a[0] + a[2]) + (a[1] + a[3]); }
static inline float vhighest(VF a) {
    float x = a[0] > a[1] ? a[0] : a[1];
    float y = a[2] > a[3] ? a[2] : a[3];
    return x > y ? x : y;
}

static inline VF vround(VF a) {
    return VF{nearbyintf(a[0]), nearbyintf(a[1]), nearbyintf(a[2]), nearbyintf(a[3])};
}
// 2^a for integral a in [-126, 127].
static inline VF vpow2(VF a) {
    VI bits = (__builtin_convertvector(a, VI) + 127) << 23;
    return (VF)bits;
}

}  // namespace strata::STRATA_NS
