// Work descriptions of the kernels that need more than a few parameters.
#pragma once
#include <cstdint>

namespace strata {

// Tokens in one page of the key-value cache.
constexpr int PAGE = 64;

enum KvFormat : int { KV_F32 = 0, KV_F16 = 1, KV_INT8 = 2, KV_Q4 = 3 };

// Sizes of the part of a page that holds the keys (or values) of one head. Keys lie [headSize][PAGE], values [PAGE][headSize]; int8 and
// 4 bits are followed by float16 scales, one for every 64 elements (or head) of a token: keys [groups][PAGE], values [PAGE][groups]. 4 bits: elements
// 2i and 2i + 1 of a token are the low and high half of a byte, keys [headSize / 2][PAGE], values [PAGE][headSize / 2]; 0 to 15 stand for -8 to 7
// scales, and every group was turned by a Hadamard matrix, as the queries are and as the sums are turned back.
// (Inlined always: a copy compiled for one instruction set must not serve another.)
#define STRATA_INLINE inline __attribute__((always_inline))

struct KvTile {
    int format;
    int headSize;

    STRATA_INLINE int groups() const { return headSize <= 64 ? 1 : (headSize + 63) / 64; }
    STRATA_INLINE int groupSize() const { return headSize <= 64 ? headSize : 64; }
    // Bytes of int8 or 4 bits before the scales.
    STRATA_INLINE int64_t codeBytes() const { return int64_t(headSize) * PAGE / (format == KV_Q4 ? 2 : 1); }
    STRATA_INLINE int64_t bytes() const {
        int64_t elements = int64_t(headSize) * PAGE;
        if (format == KV_F32) return elements * 4;
        if (format == KV_F16) return elements * 2;
        return codeBytes() + int64_t(groups()) * PAGE * 2;
    }
};

// Attention of some query vectors that share a key-value head over the pages [firstPage, lastPage) of their sequence, with running
// maxima: out is the sum of exp(score - max) * value, not yet divided by sum. Starts from empty.
struct AttentionRun {
    KvTile tile;
    int queries;
    const float* const* q;         // scaled query vectors
    const int* visible;            // tokens a query sees, counted from the start of the sequence
    const uint64_t* const* masks;  // null, or for every query one word a page: the tokens it attends to
    const int32_t* pages;
    int firstPage;
    int lastPage;
    const uint8_t* keys;  // of the head in page 0
    const uint8_t* values;
    int64_t pageStride;
    float* out;     // [queries][paddedHead]
    float* max;     // [queries]
    float* sum;     // [queries]
    float* scratch; // attentionScratch floats
};

constexpr int MAX_QUERIES = 48;
static inline int paddedHead(int headSize) { return (headSize + 31) / 32 * 32; }
static inline int64_t attentionScratch(int headSize) {
    return 2 * int64_t(PAGE) * paddedHead(headSize) + MAX_QUERIES * PAGE;
}

// The gated delta rule over consecutive tokens for `columns` value columns of one head.
struct DeltaRun {
    int tokens;
    int keySize;
    int columns;     // at most DELTA_COLUMNS
    float* state;    // [keySize][columns], rows stateStride apart
    int64_t stateStride;
    bool keep;       // write the new state back
    const float* q;  // normed and scaled, token t at t * keyStride
    const float* k;
    int64_t keyStride;
    const float* v;
    int64_t valueStride;
    const float* decay;  // exp(g), token t at t * gateStride
    const float* beta;
    int64_t gateStride;
    float* out;
    int64_t outStride;
    float* scratch;  // deltaScratch floats
};

constexpr int DELTA_COLUMNS = 32;
static inline int64_t deltaScratch(int keySize) { return int64_t(keySize) * DELTA_COLUMNS; }

}  // namespace strata
