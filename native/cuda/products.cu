// Products of a quantized matrix with few rows of float32 activations, and rows of an embedding table.
//
// Layout: weights [outputs][row_bytes] as stored, x [rows][columns] and out [rows][outputs] float32, row-major.
// Tiling: a warp makes two outputs for up to R rows; its 32 lanes read eight groups of 32 elements of both weight rows at once (see
// types.cuh), so that each load instruction of the warp covers neighbouring bytes, and every activation that is loaded serves
// two weight rows. `split` warps share the columns of a pair of outputs when there are few outputs.
// Bytes moved: every weight once for each R rows (grid.y); activations come from the caches.
// Sums: float32, in an order that depends only on columns and split; the same for any number of rows.
#include "modes.cuh"
#include "types.cuh"

template <class T>
STRATA_INLINE void load_activations(const float* x, int k, int columns, float* v) {
    if (!T::PLAIN || ((columns & 3) == 0 && k + 4 <= columns)) {
        Vec4 four = *(const Vec4*)(x + k);
        v[0] = four.x;
        v[1] = four.y;
        v[2] = four.z;
        v[3] = four.w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = k + i < columns ? x[k + i] : 0.0f;
        }
    }
}

STRATA_INLINE float dot8(const float* a, const float* b) {
    float even = a[0] * b[0] + a[2] * b[2] + a[4] * b[4] + a[6] * b[6];
    float odd = a[1] * b[1] + a[3] * b[3] + a[5] * b[5] + a[7] * b[7];
    return even + odd;
}

STRATA_INLINE float sum8(const float* a) { return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])); }

template <class T, int R>
STRATA_INLINE void multiply_rows(const u8* weights, u64 row_bytes, int outputs, int columns, const float* x, int rows,
                                 float* out, float scale, int mode, const float* factors, int split) {
    __shared__ float partial[4][2 * R];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int part = warp % split;
    int first = (blockIdx.x * (4 / split) + warp / split) * 2;
    // Weights do not depend on the kernel before: they start on their way while it still runs.
    if (first < outputs) {
        u64 bytes = first + 1 < outputs ? 2 * row_bytes : row_bytes;
        prefetch_lines(weights + first * row_bytes, bytes, part * 32 + lane, 32 * split);
    }
    wait_for_previous_kernel();
    release_next_kernel();
    int row0 = blockIdx.y * R;
    int here = min(R, rows - row0);
    x += (long long)row0 * columns;
    out += (long long)row0 * outputs;

    float sums[2][R];
#pragma unroll
    for (int r = 0; r < R; r++) {
        sums[0][r] = 0.0f;
        sums[1][r] = 0.0f;
    }
    if (first < outputs) {
        const u8* w0 = weights + first * row_bytes;
        const u8* w1 = first + 1 < outputs ? w0 + row_bytes : w0;
        int groups = (columns + 31) >> 5;
        int quarter = lane & 3;
#pragma unroll(R <= 2 ? 4 : 2)
        for (int g = part * 8 + (lane >> 2); g < groups; g += 8 * split) {
            float v0[8], v1[8];
            Scale s0 = T::read(w0, g, quarter, columns, v0);
            Scale s1 = T::read(w1, g, quarter, columns, v1);
#pragma unroll
            for (int r = 0; r < R; r++) {
                float a[8];
                const float* row = x + (long long)(r < here ? r : 0) * columns;
                load_activations<T>(row, 32 * g + T::first(quarter), columns, a);
                load_activations<T>(row, 32 * g + T::second(quarter), columns, a + 4);
                float sum0 = s0.scale * dot8(v0, a), sum1 = s1.scale * dot8(v1, a);
                if (T::OFFSET) {
                    float total = sum8(a);
                    sum0 += s0.offset * total;
                    sum1 += s1.offset * total;
                }
                sums[0][r] += sum0;
                sums[1][r] += sum1;
            }
        }
    }
    float mine = 0.0f;
#pragma unroll
    for (int i = 0; i < 2 * R; i++) {
        float sum = warp_sum(sums[i / R][i % R]);
        mine = lane == i ? sum : mine;
    }
    if (split > 1) {
        if (lane < 2 * R) {
            partial[warp][lane] = mine;
        }
        __syncthreads();
        if (part == 0 && lane < 2 * R) {
            for (int other = 1; other < split; other++) {
                mine += partial[warp + other][lane];
            }
        }
    }
    int output = first + lane / R, row = lane % R;
    if (part == 0 && lane < 2 * R && output < outputs && row < here) {
        finish(out + (long long)row * outputs + output, mine * scale, mode, factors, row0 + row);
    }
}

#define PRODUCT(name, T, R)                                                                                         \
    STRATA_KERNEL(128, product_##name##_##R, const u8* weights, u64 row_bytes, int outputs, int columns,            \
                  const float* x, int rows, float* out, float scale, int mode, const float* factors, int split) {   \
        multiply_rows<T, R>(weights, row_bytes, outputs, columns, x, rows, out, scale, mode, factors, split);        \
    }

// Row r of out becomes row tokens[r] of the table. One block a row.
template <class T>
STRATA_INLINE void take_rows(const u8* weights, u64 row_bytes, int columns, const int* tokens, float* out, float scale) {
    wait_for_previous_kernel();
    const u8* row = weights + (u64)tokens[blockIdx.x] * row_bytes;
    out += (long long)blockIdx.x * columns;
    int quarters = ((columns + 31) >> 5) * 4;
    for (int i = threadIdx.x; i < quarters; i += blockDim.x) {
        int group = i >> 2, quarter = i & 3;
        float v[8];
        Scale s = T::read(row, group, quarter, columns, v);
        for (int j = 0; j < 8; j++) {
            int k = 32 * group + (j < 4 ? T::first(quarter) : T::second(quarter)) + (j & 3);
            if (k < columns) {
                out[k] = scale * (s.scale * v[j] + s.offset);
            }
        }
    }
}

#define EMBED(name, T)                                                                                              \
    STRATA_KERNEL(128, embed_##name, const u8* weights, u64 row_bytes, int columns, const int* tokens, float* out,  \
                  float scale) {                                                                                    \
        take_rows<T>(weights, row_bytes, columns, tokens, out, scale);                                              \
    }

#define ALL(name, T) PRODUCT(name, T, 1) PRODUCT(name, T, 2) PRODUCT(name, T, 4) PRODUCT(name, T, 8) EMBED(name, T)
EACH_STORED_TYPE(ALL)
