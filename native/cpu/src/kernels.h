// The table of kernels: one instance for each instruction set, filled by the files under isa/.
//
// Quantized activations: blocks of 32 values as int16, the 16 even elements first, then the 16 odd ones; one
// float32 factor d a block and s = d * (sum of the block). Rows are padded with zeros to whole runs of 8 blocks.
#pragma once
#include <cstdint>

#include "packed.h"

namespace strata {

// Rows that one dot call takes.
constexpr int MAX_DOT_ROWS = 8;
// Largest value of a quantized activation. Unpacked weights have at most 8 bits: 32 products stay below 2^31.
constexpr int ACTIVATION_LIMIT = 32767;
// The same where a high and a low signed byte have to hold it.
constexpr int BYTES_LIMIT = 127 * 256 + 127;

// One activation row in the form that a type's products read: float32, or quantized.
struct Row {
    const float* f;
    const int16_t* q;
    const float* d;
    const float* s;
    const float* h;         // the two halves of every s
    const int32_t* totals;  // the same without d
    // Where the kernels ask for it: q = 256 * high + low in bytes, for every two blocks 64 high ones, then 64 low ones.
    const int8_t* bytes;
    const uint16_t* planes;  // and as sums of two bfloat16 numbers: of every block 32 high ones, then 32 low ones
};

// Weights of up to `width` outputs over some blocks of 32 inputs, interleaved for register tiles.
struct PanelQ {
    int16_t* data;  // [blocks][16 pairs][width][2]; on the AMX unit bfloat16 in another order
    float* scale;   // [blocks][halves][width]
    float* min;     // [blocks][width]: multiplies s
    int blocks;
    int halves;  // 2 where the first and last 16 elements of a block have scales of their own
    bool hasMin;
};

// out[r][o] (= or +=) scale * W[o] . x[r]
using DotFn = void (*)(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale,
                       bool add, float* const* out);
using PanelFn = void (*)(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale,
                         PanelQ* panel);

// Packs `lanes` outputs of whole runs.
using PackFn = void (*)(const uint8_t* w, int64_t rowBytes, int lanes, int inputs, uint8_t* packed);

// Attention of one group of query rows over a run of pages; see isa/attention.h.
struct AttentionRun;
// The delta rule over the tokens of one sequence for one block of value columns; see isa/delta.h.
struct DeltaRun;

// result, name, parameters
#define STRATA_KERNELS(X)                                                                                              \
    X(void, quantize, (const float* x, int n, int16_t* q, float* d, float* s, float* h, int32_t* totals, int8_t* bytes, uint16_t* planes))               \
    X(void, tileF, (const float* const* a, int rows, const float* b, int64_t ldb, int k, float* const* c))            \
    X(void, panelF, (int type, const uint8_t* w, int64_t rowBytes, int rows, int first, int count, float scale, float* panel)) \
    X(void, tileQ, (const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c))                     \
    X(float, dot, (const float* a, const float* b, int n))                                                             \
    X(float, sumSquares, (const float* a, int n))                                                                      \
    X(void, normalise, (const float* x, const float* w, float factor, int n, float* out))                             \
    X(void, add, (const float* x, int n, float* y))                                                                    \
    X(void, axpy, (float a, const float* x, int n, float* y))                                                          \
    X(void, scale, (float a, int n, float* y))                                                                         \
    X(void, siluMultiply, (const float* gate, const float* up, int n, float* out))                                    \
    X(void, silu, (float factor, int n, float* x))                                                                     \
    X(void, sigmoidMultiply, (const float* gate, int n, float* x))                                                    \
    X(float, softmax, (float* x, int n))                                                                               \
    X(void, convolve, (const float* const* taps, const float* const* weights, int kernel, int n, float* out))         \
    X(void, mixStreams, (const float* normed, float* gates, int streams, int n, float* out))                          \
    X(void, attend, (const AttentionRun* run))                                                                         \
    X(void, delta, (const DeltaRun* run))

struct Kernels {
    const char* name;
    int isa;
    int width;     // outputs of a register tile
    int tileRows;  // tokens of a register tile
    // The same for quantized weights, and the inputs of one of their panels.
    int widthQ;
    int tileQRows;
    int inputsQ;
    int dotOutputs;  // outputs that a dot call with few rows works on at once
    bool bytes;     // whether quantize() writes the bytes of a row too
    bool planes;    // and its planes
    int lanes;       // outputs side by side in packed matrices; 0: none are packed
    PackFn packs[TYPE_LIMIT];
    // By type id, plus PACKED for packed matrices. Quantized form where `panel` is there, float32 rows otherwise.
    DotFn dots[KIND_LIMIT];
    PanelFn panels[KIND_LIMIT];
#define X(result, name, parameters) result(*name) parameters;
    STRATA_KERNELS(X)
#undef X
};

// name, number; from the least to the most capable. A table is asked for only on processors that run it: its file is compiled for it.
#define STRATA_ISAS(X) X(generic, 0) X(avx2, 1) X(avxvnni, 2) X(avx512, 3) X(vnni, 4) X(vbmi, 5) X(amx, 6)
#define X(name, isa) extern const Kernels* kernels_##name();
STRATA_ISAS(X)
#undef X
#define X(name, isa) ISA_##name = isa,
enum Isa : int { STRATA_ISAS(X) };
#undef X

// The best table that this processor runs, not above `cap` (negative: no cap).
const Kernels* chooseKernels(int cap);

}  // namespace strata
