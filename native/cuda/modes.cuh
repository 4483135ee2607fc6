// What products do with their sums; the host's ProductMode has the same numbers.
#pragma once

#include "strata.cuh"

enum Mode { STORE = 0, ADD = 1, SILU = 2, TWICE_SIGMOID = 3, ADD_SCALED = 4, STORE_F16 = 5, SWIGLU_F16 = 6, INJECT = 10 };

// What becomes of a float32 sum in the modes up to ADD_SCALED.
STRATA_INLINE void finish(float* target, float value, int mode, const float* factors, int row) {
    switch (mode) {
        case ADD: *target += value; break;
        case SILU: *target = silu(value); break;
        case TWICE_SIGMOID: *target = 2.0f * sigmoid(value); break;
        case ADD_SCALED: *target += factors[row] * value; break;
        default: *target = value;
    }
}
