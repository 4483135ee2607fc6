// Expert products: routed and shared.
#pragma once
#include "products.h"

namespace strata {

// One expert's matrices.
struct Expert {
    const uint8_t* gate;  // null: not part of this call
    const uint8_t* up;
    const uint8_t* down;
    float gateScale;
    float upScale;
    float downScale;
    float reserved;
};

struct ExpertSizes {
    int experts;
    int hidden;
    int intermediate;
    int gateType;
    int upType;
    int downType;
};

// results[r * used + j] = down(silu(gate x[r]) * (up x[r])) for the j-th expert of row r, for all experts that are there.
void expertResults(Context& c, const ExpertSizes& sizes, const Expert* table, const int32_t* ids, int rows, int used,
                   const float* x, float* results);

}  // namespace strata
