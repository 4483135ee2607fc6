// What products on tensor cores do with their sums, and in which order tiles are made.
#pragma once

#include "modes.cuh"

// Gated values are stored as this part of themselves: some grow beyond the range of float16, while the smallest ones do not matter.
const float GATED_PART = 0.015625f;

struct alignas(8) Vec2 {
    float x, y;
};

struct Output {
    void* values;
    int columns;  // of a row in memory
    int used;     // columns that exist
    int mode;
    float scale;
    const float* factors;
};

STRATA_INLINE void put(const Output& out, long long row, int column, float first, float second) {
    first *= out.scale;
    second *= out.scale;
    if (out.mode == STORE_F16) {
        u16* to = (u16*)out.values + row * out.columns + column;
        if (column + 1 < out.used && (out.columns & 1) == 0) {
            *(u32*)to = half2_in_range(first, second);
        } else if (column < out.used) {
            to[0] = (u16)half2_in_range(first, 0.0f);
            if (column + 1 < out.used) {
                to[1] = (u16)half2_in_range(second, 0.0f);
            }
        }
        return;
    }
    float* to = (float*)out.values + row * out.columns + column;
    if (out.mode == STORE && column + 1 < out.used && (out.columns & 1) == 0) {
        *(Vec2*)to = Vec2{first, second};
        return;
    }
    float values[2] = {first, second};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (column + i < out.used) {
            float v = values[i];
            switch (out.mode) {
                case ADD: to[i] += v; break;
                case SILU: to[i] = silu(v); break;
                case TWICE_SIGMOID: to[i] = 2.0f * sigmoid(v); break;
                case ADD_SCALED: to[i] += out.factors[row] * v; break;
                default: to[i] = v;
            }
        }
    }
}

// Two values that lie one below the other in the sums of neighbouring lanes, side by side: of the even lanes' tokens in the even lanes.
STRATA_INLINE void turn(bool even, float& first, float& second) {
    float other = exchange_xor(even ? second : first, 4);
    if (even) {
        second = other;
    } else {
        first = other;
    }
}

// Tiles of eight rows of tiles at a time, so that neighbouring blocks share operands in the L2 cache.
STRATA_INLINE void place(int tile, int row_tiles, int column_tiles, int& row_tile, int& column_tile) {
    const int BAND = 8;
    int band = tile / (BAND * column_tiles);
    int height = min(BAND, row_tiles - band * BAND);
    int inside = tile - band * BAND * column_tiles;
    row_tile = band * BAND + inside % height;
    column_tile = inside / height;
}
