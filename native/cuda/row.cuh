// Decode of few rows: what the kernels of row_products.cu, row_hyper.cu and row_experts.cu share. They are for the shapes that models have, one for every type.
//
// What a step of few rows waits for is instructions: a kernel is gone through once, and code that is not in the caches of instructions runs at the pace of
// fetching it (docs/kernels.md). So these kernels have no choice of types, few branches and loops that are not unrolled far. Tiles, activations and the order
// of work are those of decode.cu.
#pragma once

#include "decode.cuh"
#include "dot.cuh"

// Starts the copies of `bytes` bytes of `count` stored rows of 16; `per_row` threads a row, of which this thread has number `at` of row `r`.
STRATA_INLINE void bring_tile(u8* to, int slot, const u8* from, u32 row_bytes, u32 bytes, int count, int r, int at, int per_row) {
    if (r < count) {
        const u8* row = from + (u64)r * row_bytes;
        int skew = (int)((u64)row & 15), end = (int)bytes + skew;
        row -= skew;
        u8* target = to + r * slot;
#pragma unroll 1
        for (int i = 16 * at; i < end; i += 16 * per_row) {
            copy_async_some(target + i, row + i, min(16, end - i));
        }
    }
}

// What a warp, number `part` of `parts`, makes of a tile of 16 rows with one row of activations, `factor` times, to sums[16]: row r lies at row_of(r).
template <class T, class R>
STRATA_INLINE void tile_sums(R row_of, int columns, const u16* x, const float* group_sums, int part, int parts, float factor, float* sums) {
    int lane = threadIdx.x & 31, groups = (columns + 31) >> 5;
    if constexpr (T::BYTES) {
        float value = dot_rows<T, 16>(row_of(lane & 15), groups, x, group_sums, nullptr, part, parts);
        if (lane < 16) {
            sums[lane] = value * factor;
        }
    } else {
        float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        multiply_groups<T, true>(row_of(lane >> 2), row_of((lane >> 2) + 8), groups, columns, columns_of(x, 0, group_sums, 0, 1), 0, part, parts, result);
        if ((lane & 3) == 0) {
            sums[lane >> 2] = result[0] * factor;
            sums[(lane >> 2) + 8] = result[2] * factor;
        }
    }
}

struct RowMatrix {
    const u8* weights;
    float* out;
    u32 row_bytes;
    int outputs, first_tile, mode;
    float scale;
    int unused;
};
