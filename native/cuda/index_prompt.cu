// Scores of the block selector for prompts, on tensor cores; index heads of 128 values.
//
// Layout as in index.cu. Queries and pooled keys are sums of two float16 values; the products of high x high, high x low and low x high
// (mma.sync) lack 2^-22 of the float32 ones, so that hardly a row chooses another block.
// Tiling: 64 rows of one segment against 128 pooled keys, whose parts stay in shared memory (64 KiB) while the heads' queries (32 KiB)
// follow one another. 8 warps of 32 rows x 32 keys. Bytes moved: every pooled key once for 64 rows, queries once for 128 keys.
#include "strata.cuh"

enum { ROWS = 64, KEYS = 128, SIZE = 128 };

STRATA_INLINE int offset_of(int row, int chunk) { return row * (2 * SIZE) + ((chunk ^ (row & 7)) << 4); }

// Eight values as high and low parts, to the same place of two tiles.
STRATA_INLINE void split(const float* from, bool present, u8* high, u8* low, int place) {
    u32 h[4], l[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float first = present ? from[2 * i] : 0.0f, second = present ? from[2 * i + 1] : 0.0f;
        h[i] = half2_in_range(first, second);
        l[i] = half2_in_range(first - from_half((u16)h[i]), second - from_half((u16)(h[i] >> 16)));
    }
    *(Word4*)(high + place) = Word4{h[0], h[1], h[2], h[3]};
    *(Word4*)(low + place) = Word4{l[0], l[1], l[2], l[3]};
}

// grid (blocks / 128, rows / 64, segments); parameters as of index_scores.
STRATA_KERNEL(256, index_scores_prompt, const float* queries, int heads, int block, const float* pooled,
              const int* first_rows, const int* counts, const int* pasts, const int* segment_bases, const int* pages,
              int row_offset, int row_limit, float* scores, int stride) {
    STRATA_DYNAMIC_SHARED(shared);
    wait_for_previous_kernel();
    int segment = blockIdx.z;
    int first_row = first_rows[segment], past = pasts[segment], base = segment_bases[segment];
    int begin = max(0, row_offset - first_row) + blockIdx.y * ROWS;
    int end = min(min(counts[segment], row_limit - first_row), begin + ROWS);
    int first_key = blockIdx.x * KEYS, last_key = begin < end ? (past + end) / block : 0;
    if (begin >= end || first_key >= last_key) {
        return;
    }
    u8* key_high = shared;
    u8* key_low = shared + KEYS * 2 * SIZE;
    u8* query_high = shared + 2 * KEYS * 2 * SIZE;
    u8* query_low = query_high + ROWS * 2 * SIZE;
    int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    int per_page = 64 / block;
    for (int i = thread; i < KEYS * (SIZE / 8); i += 256) {
        int key = i / (SIZE / 8), chunk = i % (SIZE / 8), b = first_key + key;
        bool present = b < last_key;
        const float* from =
            present ? pooled + ((long long)pages[base + b / per_page] * per_page + b % per_page) * SIZE + 8 * chunk : pooled;
        split(from, present, key_high, key_low, offset_of(key, chunk));
    }
    int row = 32 * (warp & 1), column = 32 * (warp >> 1);
    float total[2][4][4];
#pragma unroll
    for (int m = 0; m < 2; m++) {
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                total[m][n][e] = 0.0f;
            }
        }
    }
    for (int head = 0; head < heads; head++) {
        __syncthreads();
        for (int i = thread; i < ROWS * (SIZE / 8); i += 256) {
            int r = i / (SIZE / 8), chunk = i % (SIZE / 8);
            bool present = begin + r < end;
            const float* from =
                present ? queries + ((long long)(first_row + begin + r) * heads + head) * SIZE + 8 * chunk : queries;
            split(from, present, query_high, query_low, offset_of(r, chunk));
        }
        __syncthreads();
        float sums[2][4][4];
#pragma unroll
        for (int m = 0; m < 2; m++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    sums[m][n][e] = 0.0f;
                }
            }
        }
#pragma unroll
        for (int kk = 0; kk < SIZE / 16; kk++) {
            u32 high[2][4], low[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++) {
                int place = offset_of(row + 16 * m + (lane & 15), 2 * kk + (lane >> 4));
                load_matrices(high[m], query_high + place);
                load_matrices(low[m], query_low + place);
            }
#pragma unroll
            for (int n = 0; n < 2; n++) {
                int place = offset_of(column + 16 * n + ((lane >> 4) << 3) + (lane & 7), 2 * kk + ((lane >> 3) & 1));
                u32 k_high[4], k_low[4];
                load_matrices(k_high, key_high + place);
                load_matrices(k_low, key_low + place);
#pragma unroll
                for (int m = 0; m < 2; m++) {
#pragma unroll
                    for (int side = 0; side < 2; side++) {
                        multiply_f16(sums[m][2 * n + side], low[m], k_high[2 * side], k_high[2 * side + 1]);
                        multiply_f16(sums[m][2 * n + side], high[m], k_low[2 * side], k_low[2 * side + 1]);
                        multiply_f16(sums[m][2 * n + side], high[m], k_high[2 * side], k_high[2 * side + 1]);
                    }
                }
            }
        }
#pragma unroll
        for (int m = 0; m < 2; m++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    total[m][n][e] += fmaxf(sums[m][n][e], 0.0f);
                }
            }
        }
    }
    float scale = 1.0f / sqrtf((float)SIZE);
#pragma unroll
    for (int m = 0; m < 2; m++) {
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int r = begin + row + 16 * m + (lane >> 2) + 8 * (e >> 1);
                int b = first_key + column + 8 * n + 2 * (lane & 3) + (e & 1);
                if (r < end && b < (past + r + 1) / block) {
                    scores[(long long)(first_row + r - row_offset) * stride + b] = total[m][n][e] * scale;
                }
            }
        }
    }
}
