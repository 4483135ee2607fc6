// Matrix products on tensor cores with mma.sync: out[m][n] = a[m][k] b[n][k]^T, float16 operands, float32 sums.
//
// Layout: a and b row-major with k innermost; k is a multiple of 64 (operands are padded with zeros); m and n are free.
// Tiling: 128 x 128 outputs a block of 256 threads, 8 warps of 64 x 32, k in steps of 64 through a ring of three stages (96 KiB),
// filled by 16-byte asynchronous copies. In shared memory a row is 128 bytes and its 16-byte chunks are permuted by the row's lowest
// three bits, so that ldmatrix meets no bank twice.
// Bytes moved: a once for every 128 columns of the output, b once for every 128 rows, most of it from the L2 cache.
// Sums: k ascending, in steps of 16; the same for any m and n.
#include "output.cuh"

enum { TILE = 128, DEPTH = 64, STAGES = 3, STAGE_BYTES = 2 * TILE * DEPTH * 2 };

// One output tile. `rows` and `columns` say how much of it exists; a_rows, when given, names the row of a for every row of the tile.
STRATA_INLINE void multiply_tile(const u16* a, const int* a_rows, int rows, const u16* b, int columns, int k,
                                 const Output& out, long long row0, int column0, u8* shared) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int warp_row = (warp & 1) * 64, warp_column = (warp >> 1) * 32;
    int chunk = threadIdx.x & 7, line = threadIdx.x >> 3;

    const u16* from_a[4];
    const u16* from_b[4];
    bool have_a[4], have_b[4];
    int to[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = line + 32 * i;
        have_a[i] = row < rows;
        have_b[i] = row < columns;
        long long source = have_a[i] ? (a_rows != nullptr ? a_rows[row] : row) : 0;
        from_a[i] = a + source * k + 8 * chunk;
        from_b[i] = b + (long long)(have_b[i] ? row : 0) * k + 8 * chunk;
        to[i] = row * 128 + ((chunk ^ (row & 7)) << 4);
    }
    float sums[4][4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                sums[i][j][e] = 0.0f;
            }
        }
    }
    int steps = k / DEPTH;
    auto fetch = [&](int step) {
        if (step < steps) {
            u8* stage = shared + (step % STAGES) * STAGE_BYTES;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                copy_async_16_or_zero(stage + to[i], from_a[i] + step * DEPTH, have_a[i]);
                copy_async_16_or_zero(stage + TILE * 128 + to[i], from_b[i] + step * DEPTH, have_b[i]);
            }
        }
        copy_async_commit();
    };
    fetch(0);
    fetch(1);
    for (int step = 0; step < steps; step++) {
        copy_async_wait<1>();
        __syncthreads();
        fetch(step + 2);
        const u8* stage = shared + (step % STAGES) * STAGE_BYTES;
#pragma unroll
        for (int kk = 0; kk < DEPTH / 16; kk++) {
            u32 left[4][4], right[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = warp_row + 16 * i + (lane & 15);
                load_matrices(left[i], stage + row * 128 + (((2 * kk + (lane >> 4)) ^ (row & 7)) << 4));
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                int row = warp_column + 16 * j + ((lane >> 4) << 3) + (lane & 7);
                load_matrices(right[j], stage + TILE * 128 + row * 128 + (((2 * kk + ((lane >> 3) & 1)) ^ (row & 7)) << 4));
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    multiply_f16(sums[i][j], left[i], right[j >> 1][2 * (j & 1)], right[j >> 1][2 * (j & 1) + 1]);
                }
            }
        }
    }
    copy_async_wait<0>();
    __syncthreads();

#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = warp_row + 16 * i + 8 * half + (lane >> 2);
            if (row >= rows) {
                continue;
            }
            if (out.mode == SWIGLU_F16) {
#pragma unroll
                for (int j = 0; j < 4; j += 2) {
                    int column = (column0 + warp_column + 8 * j) / 2 + 2 * (lane & 3);
                    float first = GATED_PART * silu(sums[i][j][2 * half]) * sums[i][j + 1][2 * half];
                    float second = GATED_PART * silu(sums[i][j][2 * half + 1]) * sums[i][j + 1][2 * half + 1];
                    if (column + 1 < out.used) {
                        *(u32*)((u16*)out.values + (row0 + row) * out.columns + column) = half2_in_range(first, second);
                    } else if (column < out.used) {
                        ((u16*)out.values)[(row0 + row) * out.columns + column] = (u16)half2_in_range(first, 0.0f);
                    }
                }
            } else {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    put(out, row0 + row, column0 + warp_column + 8 * j + 2 * (lane & 3), sums[i][j][2 * half],
                        sums[i][j][2 * half + 1]);
                }
            }
        }
    }
}

STRATA_KERNEL(256, gemm_dense, const u16* a, const u16* b, int m, int n, int k, void* values, int columns, int used,
              int mode, float scale, const float* factors) {
    STRATA_DYNAMIC_SHARED(shared);
    wait_for_previous_kernel();
    int row_tile, column_tile;
    place(blockIdx.x, (m + TILE - 1) / TILE, (n + TILE - 1) / TILE, row_tile, column_tile);
    Output out = {values, columns, used, mode, scale, factors};
    multiply_tile(a + (long long)row_tile * TILE * k, nullptr, min((int)TILE, m - row_tile * TILE),
                  b + (long long)column_tile * TILE * k, min((int)TILE, n - column_tile * TILE), k, out,
                  (long long)row_tile * TILE, column_tile * TILE, shared);
}

// The products of experts first .. first + count - 1. Rows of the output are grouped by expert: those of expert e are starts[e] ..
// starts[e + 1] - 1, and row i of the group reads row sources[i] of a (row i without sources). b holds `stride` values an expert, from
// `first` on. Blocks walk over all tiles; count is at most 512.
STRATA_KERNEL(256, gemm_grouped, const u16* a, const int* sources, const int* starts, int first, int count, const u16* b,
              u64 stride, int n, int k, void* values, int columns, int used, int mode) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ int ends[512];
    wait_for_previous_kernel();
    int column_tiles = (n + TILE - 1) / TILE;
    for (int e = threadIdx.x; e < 512; e += 256) {
        ends[e] = e < count ? (starts[first + e + 1] - starts[first + e] + TILE - 1) / TILE * column_tiles : 0;
    }
    __syncthreads();
    for (int distance = 1; distance < 512; distance *= 2) {
        int e0 = threadIdx.x, e1 = threadIdx.x + 256;
        int add0 = e0 >= distance ? ends[e0 - distance] : 0;
        int add1 = e1 >= distance ? ends[e1 - distance] : 0;
        __syncthreads();
        ends[e0] += add0;
        ends[e1] += add1;
        __syncthreads();
    }
    int total = ends[511];
    Output out = {values, columns, used, mode, 1.0f, nullptr};
    for (int tile = blockIdx.x; tile < total; tile += gridDim.x) {
        int low = 0, high = count - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            if (ends[middle] > tile) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        int inside = tile - (low > 0 ? ends[low - 1] : 0);
        int start = starts[first + low], rows = starts[first + low + 1] - start;
        int row_tile, column_tile;
        place(inside, (rows + TILE - 1) / TILE, column_tiles, row_tile, column_tile);
        int row0 = start + row_tile * TILE;
        multiply_tile(sources != nullptr ? a : a + (long long)row0 * k, sources != nullptr ? sources + row0 : nullptr,
                      min((int)TILE, rows - row_tile * TILE), b + stride * low + (long long)column_tile * TILE * k,
                      min((int)TILE, n - column_tile * TILE), k, out, row0, column_tile * TILE, shared);
    }
}
