// Stored types: ids of the ggml enumeration, block sizes, scalar decoders to float32.
#pragma once
#include <cstddef>
#include <cstdint>

// name, id, elements a block, bytes a block
#define STRATA_TYPES(X)     \
    X(F32, 0, 1, 4)         \
    X(F16, 1, 1, 2)         \
    X(Q4_0, 2, 32, 18)      \
    X(Q4_1, 3, 32, 20)      \
    X(Q5_0, 6, 32, 22)      \
    X(Q5_1, 7, 32, 24)      \
    X(Q8_0, 8, 32, 34)      \
    X(Q2_K, 10, 256, 84)    \
    X(Q3_K, 11, 256, 110)   \
    X(Q4_K, 12, 256, 144)   \
    X(Q5_K, 13, 256, 176)   \
    X(Q6_K, 14, 256, 210)   \
    X(IQ2_XXS, 16, 256, 66) \
    X(IQ2_XS, 17, 256, 74)  \
    X(IQ3_XXS, 18, 256, 98) \
    X(IQ1_S, 19, 256, 50)   \
    X(IQ4_NL, 20, 32, 18)   \
    X(IQ3_S, 21, 256, 110)  \
    X(IQ2_S, 22, 256, 82)   \
    X(IQ4_XS, 23, 256, 136) \
    X(IQ1_M, 29, 256, 56)   \
    X(BF16, 30, 1, 2)       \
    X(TQ1_0, 34, 256, 54)   \
    X(TQ2_0, 35, 256, 66)   \
    X(MXFP4, 39, 32, 17)    \
    X(NVFP4, 40, 64, 36)    \
    X(Q1_0, 41, 128, 18)    \
    X(Q2_0, 42, 64, 18)

namespace strata {

enum Type : int {
#define X(name, id, elements, bytes) name = id,
    STRATA_TYPES(X)
#undef X
        TYPE_LIMIT = 43
};

// Writes n elements (whole blocks) to dst.
using DecodeFn = void (*)(const uint8_t* src, float* dst, int n);

struct TypeInfo {
    int elements;
    int bytes;
    DecodeFn decode;
    int factors;  // bytes that factors take apart from `bytes`
};

// Block layout of a type; elements is 0 for ids that are no weights.
const TypeInfo& typeInfo(int type);

// Bytes of all factors that take `each` apart: what follows them begins at a multiple of 8 bytes.
static inline int64_t allFactors(int64_t blocks, int each) { return (blocks * each + 7) / 8 * 8; }

static inline int64_t rowBytes(int type, int64_t elements) {
    const TypeInfo& info = typeInfo(type);
    const int64_t blocks = elements / info.elements;
    return blocks * info.bytes + allFactors(blocks, info.factors);
}

// Tables that the formats refer to.
extern const uint64_t GRID_IQ2XXS[256];
extern const uint64_t GRID_IQ2XS[512];
extern const uint64_t GRID_IQ2S[1024];
extern const uint32_t GRID_IQ3XXS[256];
extern const uint32_t GRID_IQ3S[512];
extern const uint64_t GRID_IQ1[2048];
alignas(16) constexpr int8_t VALUES_IQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
alignas(16) constexpr int8_t VALUES_PLAIN[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};  // codes that mean themselves
alignas(16) constexpr int8_t VALUES_Q4_0[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
alignas(16) constexpr int8_t VALUES_FP4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // E2M1 doubled
// Value of a UE4M3 byte times one half (the E2M1 values are doubled).
extern float SCALE_UE4M3[256];

}  // namespace strata
