// Products of stored matrices with activation rows, on all threads.
#pragma once
#include <cstring>

#include "../context.h"

namespace strata {

// A stored matrix: `outputs` rows of `inputs` elements; products are multiplied by `scale`.
struct Matrix {
    int type;
    const uint8_t* data;
    int outputs;
    int inputs;
    float scale;

    int64_t rowBytes() const { return strata::rowBytes(type, inputs); }
};

static inline bool quantized(const Kernels& k, int type) { return k.panels[type] != nullptr; }

// Rows in the forms that products with the types `first` and `second` read; scratch of the running operation.
Row* prepareRows(Context& c, int first, int second, const float* x, int rows, int columns);

// Columns [begin, end) of out[r] (= or +=) m x[r] for some rows, on the calling thread.
void productPart(Context& c, const Matrix& m, int begin, int end, const Row* x, int rows, bool add, float* const* out,
                 int worker);

// The same by register tiles, always adding.
void productTiles(Context& c, const Matrix& m, int begin, int end, const Row* x, int rows, float* const* out, int worker);

// out[r] (= or +=) m x[r] on all threads; rows of out are outStride apart.
void product(Context& c, const Matrix& m, const Row* x, int rows, bool add, float* out, int64_t outStride);

// Outputs that one claim takes where `matrices` of this shape are worked on together, and token rows of one claim in prompts.
int outputsOfClaim(const Context& c, const Matrix& m, int rows, int matrices = 1);
constexpr int TOKENS_OF_CLAIM = 192;

}  // namespace strata
