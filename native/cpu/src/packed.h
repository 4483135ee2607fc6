// Packed matrices: what the backend may turn a stored matrix into when it copies it, so that a product takes few instructions a weight.
//
// `lanes` outputs (as many as the kernels' vectors have lanes of 32 bits) lie side by side. A run is 256 inputs of a group of lanes. A group has the factors of all runs
// first, up to a multiple of 8 bytes a lane, so that codes begin and stay at cache lines; then, for every block of 32 inputs, codes as vectors of 4 inputs of every
// lane, [lanes][4] bytes, step i having inputs 4 i ... 4 i + 3. Of every byte, from the lowest bit up:
//
//   6 bits: vector i (0-3) has the low halves of steps i and i + 4, vector 4 + i (0-1) the upper two bits of steps 4 i ... 4 i + 3
//   5 bits: the same low halves, vector 4 the fifth bits of all 8 steps
//   4 bits: vector i (0-3) has steps i and i + 4
//   3 bits: vector i (0-2) has steps 2 i and 2 i + 1; vectors 0 and 1 end with two bits of steps 6 and 7, vector 2 with the third of both
//   2 bits: vector i (0-1) has steps 4 i ... 4 i + 3
//
// A code stands for one of up to 64 values, which no entry of a codebook and no sign has to be looked up for. Factors of a run:
//
//   FACTORS_E8     [8 blocks][lanes] bytes as MXFP4 has them
//   FACTORS_UE4M3  [8 blocks][2 halves][lanes] bytes as NVFP4 has them, those that stand for 0 being 0
//   FACTORS_HALF64 [4][lanes] float16, of 64 inputs
//   FACTORS_HALF32 [8 blocks][lanes] float16
//   FACTORS_ODD32  [lanes] float16, [lanes] words of 8 half bytes s, one a block: factor * unit * (2 s + 1)
//   FACTORS_ODD16  the same with two words a lane, a byte a block: its first half has the low half byte
//   FACTORS_SIGNED [lanes] float16, [8 blocks][lanes] signed bytes s: factor * unit * s
//   FACTORS_SIGNED16 the same with [8 blocks][2 halves][lanes] signed bytes
//   FACTORS_MINIMA [2][lanes] float16, [8 blocks][lanes] bytes, [lanes] words of 8 half bytes: the low 6 bits of a byte are s, first factor * unit * s; the high 2
//                  bits stand over a half byte, which together times the second factor and unit is to be subtracted from weights
#pragma once
#include "types.h"

namespace strata {

enum Factors : int { FACTORS_E8, FACTORS_UE4M3, FACTORS_HALF64, FACTORS_ODD32, FACTORS_ODD16, FACTORS_SIGNED, FACTORS_HALF32, FACTORS_MINIMA, FACTORS_SIGNED16 };

// name, bits a code, factors, unit of the factors, values of the codes
#define STRATA_PACKED(X)                              \
    X(MXFP4, 4, FACTORS_E8, 1.0f, VALUES_FP4)          \
    X(NVFP4, 4, FACTORS_UE4M3, 1.0f, VALUES_FP4)       \
    X(Q4_0, 4, FACTORS_HALF32, 1.0f, VALUES_Q4_0)      \
    X(Q4_K, 4, FACTORS_MINIMA, 1.0f, VALUES_PLAIN)     \
    X(Q5_K, 5, FACTORS_MINIMA, 1.0f, VALUES_FROM_0)     \
    X(Q6_K, 6, FACTORS_SIGNED16, 1.0f, VALUES_FROM_32)  \
    X(IQ4_NL, 4, FACTORS_HALF32, 1.0f, VALUES_IQ4)     \
    X(IQ4_XS, 4, FACTORS_SIGNED, 1.0f, VALUES_IQ4)     \
    X(Q2_0, 2, FACTORS_HALF64, 1.0f, VALUES_Q2)        \
    X(IQ2_XXS, 3, FACTORS_ODD32, 0.125f, VALUES_GRID2) \
    X(IQ2_XS, 3, FACTORS_ODD16, 0.125f, VALUES_GRID2)  \
    X(IQ2_S, 3, FACTORS_ODD16, 0.125f, VALUES_GRID2)   \
    X(IQ3_XXS, 4, FACTORS_ODD32, 0.25f, VALUES_GRID3)  \
    X(IQ3_S, 4, FACTORS_ODD32, 1.0f, VALUES_ODD)

// Magnitudes of the entries of codebooks; the highest bit of a code is the sign.
alignas(16) constexpr int8_t VALUES_GRID2[16] = {8, 25, 43, 0, -8, -25, -43, 0};
alignas(16) constexpr int8_t VALUES_GRID3[16] = {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62};
alignas(16) constexpr int8_t VALUES_ODD[16] = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
alignas(16) constexpr int8_t VALUES_Q2[16] = {-1, 0, 1, 2};

// Codes of more than 4 bits mean themselves, or themselves less 32.
struct alignas(64) Ascending {
    int8_t at[64] = {};
    constexpr explicit Ascending(int first) {
        for (int i = 0; i < 64; i++) at[i] = int8_t(first + i);
    }
};
constexpr Ascending FROM_0(0), FROM_32(-32);
constexpr const int8_t *VALUES_FROM_0 = FROM_0.at, *VALUES_FROM_32 = FROM_32.at;

// Inputs of a run.
constexpr int RUN_INPUTS = 256;
// What is added to a type's id for the packed form.
constexpr int PACKED = 64;
constexpr int KIND_LIMIT = PACKED + TYPE_LIMIT;

// Bytes of a run's factors, and of its codes, for every lane.
constexpr int factorBytes(Factors factors) {
    switch (factors) {
        case FACTORS_E8:
        case FACTORS_HALF64: return 8;
        case FACTORS_UE4M3:
        case FACTORS_HALF32:
        case FACTORS_MINIMA: return 16;
        case FACTORS_ODD32: return 6;
        case FACTORS_ODD16:
        case FACTORS_SIGNED: return 10;
        case FACTORS_SIGNED16: return 18;
    }
    return 0;
}
constexpr int codeBytes(int bits) { return RUN_INPUTS * bits / 8; }

// Writes one output of a packed matrix.
void decodePacked(int kind, int lanes, const uint8_t* matrix, int inputs, int output, float* dst);

}  // namespace strata
