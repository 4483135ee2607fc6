// Decode of few rows: what the kernels of row_products.cu, row_hyper.cu and row_experts.cu share. They are for the shapes that models have, one for every type.
//
// What a step of few rows waits for is instructions: a kernel is gone through once, and code that is not in the caches of instructions runs at the pace of
// fetching it (docs/kernels.md). So these kernels have no choice of types, few branches and loops that are not unrolled far. Tiles, activations and the order
// of work are those of decode.cu.
#pragma once

#include "decode.cuh"

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

// What a warp, number `part` of `parts`, makes of a tile of 16 rows brought from `from`, or of eight rows (`low`) and eight others (`high`), with one row of activations.
template <class T>
STRATA_INLINE void multiply_rows(const u8* low, const u8* high, int columns, const u16* x, const float* sums, int part, int parts, float* result) {
    multiply_groups<T, true, T::BYTES>(low, high, (columns + 31) >> 5, columns, columns_of(x, 0, sums, 0, 1), 0, part, parts, result);
}
template <class T>
STRATA_INLINE void multiply_tile(const u8* tile, int slot, const u8* from, u64 row_bytes, int columns, const u16* x, const float* sums, int part, int parts,
                                 float* result) {
    int row = threadIdx.x >> 2 & 7;
    multiply_rows<T>(brought(tile, slot, from, row_bytes, row), brought(tile, slot, from, row_bytes, row + 8), columns, x, sums, part, parts, result);
}

// A warp's sums of one column to shared memory.
STRATA_INLINE void put_column(float* partial, const float* result) {
    int lane = threadIdx.x & 31;
    if ((lane & 3) == 0) {
        partial[lane >> 2] = result[0];
        partial[(lane >> 2) + 8] = result[2];
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
