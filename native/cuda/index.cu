// The block selector of sparse attention.
//
// index_keys: appends raw keys and pools complete blocks; a block of threads a row. Layout: raw [page][64][head size], pooled
//   [page][64 / block][head size], float32.
// index_scores: 32 rows of one segment against 64 pooled keys, all heads, float32 in shared memory (48 KiB); every pooled key is read
//   once for 32 rows.
// index_choose: the best `budget` scores of a row by a radix search for the cut (four passes over the row's scores, from the L2 cache),
//   then the chosen blocks in ascending order; of equal scores at the cut the lower blocks. Scores are not negative, so their bits sort.
#include "strata.cuh"

STRATA_KERNEL(128, index_keys, const float* keys, const float* norm, int head_size, int block, float epsilon,
              const double* frequencies, int width, float magnitude, const int* positions, const int* page_bases,
              const int* segment_firsts, const int* pages, float* raw, float* pooled) {
    __shared__ float partial[32];
    __shared__ float mean[256];
    wait_for_previous_kernel();
    int row = blockIdx.x, position = positions[row], base = page_bases[row];
    const float* key = keys + (long long)row * head_size;
    float* own = raw + ((long long)pages[base + (position >> 6)] * 64 + (position & 63)) * head_size;
    for (int d = threadIdx.x; d < head_size; d += 128) {
        own[d] = key[d];
    }
    if ((position + 1) % block != 0) {
        return;
    }
    int start = position + 1 - block, first_row = segment_firsts[row];
    float squares = 0.0f;
    for (int d = threadIdx.x; d < head_size; d += 128) {
        float sum = 0.0f;
        for (int p = start; p <= position; p++) {
            int source = row - (position - p);
            sum += source >= first_row
                       ? keys[(long long)source * head_size + d]
                       : raw[((long long)pages[base + (p >> 6)] * 64 + (p & 63)) * head_size + d];
        }
        mean[d] = sum / block;
        squares += mean[d] * mean[d];
    }
    float factor = 1.0f / sqrtf(block_sum(squares, partial) / head_size + epsilon);
    for (int d = threadIdx.x; d < head_size; d += 128) {
        mean[d] *= factor * norm[d];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < width / 2; i += 128) {
        float sine, cosine;
        turn_of(start, frequencies[i], magnitude, sine, cosine);
        float low = mean[i], high = mean[i + width / 2];
        mean[i] = low * cosine - high * sine;
        mean[i + width / 2] = high * cosine + low * sine;
    }
    __syncthreads();
    int per_page = 64 / block;
    int index = start / block;
    float* to = pooled + ((long long)pages[base + index / per_page] * per_page + index % per_page) * head_size;
    for (int d = threadIdx.x; d < head_size; d += 128) {
        to[d] = mean[d];
    }
}

// queries: normed and rotated, [rows][heads][head size]; scores [rows][stride]. grid (blocks / 64, rows / 32, segments)
STRATA_KERNEL(256, index_scores, const float* queries, int heads, int head_size, int block, const float* pooled,
              const int* first_rows, const int* counts, const int* pasts, const int* segment_bases, const int* pages,
              int row_offset, int row_limit, float* scores, int stride) {
    STRATA_DYNAMIC_SHARED(shared);
    const int ROWS = 32, BLOCKS = 64;
    wait_for_previous_kernel();
    int segment = blockIdx.z;
    int first_row = first_rows[segment], past = pasts[segment], base = segment_bases[segment];
    // rows row_offset .. row_limit - 1 of the pass are scored in this launch
    int begin = max(0, row_offset - first_row) + blockIdx.y * ROWS;
    int end = min(min(counts[segment], row_limit - first_row), begin + ROWS);
    int first_block = blockIdx.x * BLOCKS;
    if (begin >= end || first_block >= (past + end) / block) {
        return;
    }
    int last_block = (past + end) / block;
    int pitch = head_size + 4;
    float* query_tile = (float*)shared;
    float* key_tile = query_tile + ROWS * pitch;
    int per_page = 64 / block;
    for (int i = threadIdx.x; i < BLOCKS * head_size; i += 256) {
        int b = first_block + i / head_size, d = i % head_size;
        key_tile[i / head_size * pitch + d] =
            b < last_block ? pooled[((long long)pages[base + b / per_page] * per_page + b % per_page) * head_size + d] : 0.0f;
    }
    int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;  // blocks tx + 16 j, rows ty + 16 i
    float total[2][4];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 4; j++) {
            total[i][j] = 0.0f;
        }
    }
    for (int head = 0; head < heads; head++) {
        __syncthreads();
        for (int i = threadIdx.x; i < ROWS * head_size; i += 256) {
            int r = begin + i / head_size, d = i % head_size;
            query_tile[i / head_size * pitch + d] =
                r < end ? queries[((long long)(first_row + r) * heads + head) * head_size + d] : 0.0f;
        }
        __syncthreads();
        float sum[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                sum[i][j] = 0.0f;
            }
        }
        for (int d = 0; d < head_size; d += 4) {
            Vec4 q[2], k[4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                q[i] = *(const Vec4*)(query_tile + (ty + 16 * i) * pitch + d);
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                k[j] = *(const Vec4*)(key_tile + (tx + 16 * j) * pitch + d);
            }
#pragma unroll
            for (int i = 0; i < 2; i++) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    sum[i][j] += q[i].x * k[j].x + q[i].y * k[j].y + q[i].z * k[j].z + q[i].w * k[j].w;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                total[i][j] += fmaxf(sum[i][j], 0.0f);
            }
        }
    }
    float scale = 1.0f / sqrtf((float)head_size);
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int r = begin + ty + 16 * i, b = first_block + tx + 16 * j;
            if (r < end && b < (past + r + 1) / block) {
                scores[(long long)(first_row + r - row_offset) * stride + b] = total[i][j] * scale;
            }
        }
    }
}

// One block a row; row_offset as in index_scores.
STRATA_KERNEL(256, index_choose, const float* scores, int stride, const int* positions, int block, int budget,
              int row_offset, int* counts, int* blocks) {
    __shared__ int bins[256];
    __shared__ int digit, above;
    __shared__ int larger_of[8], equal_of[8];
    wait_for_previous_kernel();
    int row = blockIdx.x + row_offset, count = (positions[row] + 1) / block;
    int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    if (count <= budget) {
        if (thread == 0) {
            counts[row] = -1;
        }
        return;
    }
    const float* own = scores + (long long)blockIdx.x * stride;
    u32 prefix = 0;
    int wanted = budget;  // still to find among the scores that share the prefix
    for (int shift = 24; shift >= 0; shift -= 8) {
        bins[thread] = 0;
        __syncthreads();
        for (int i = thread; i < count; i += 256) {
            u32 bits = bits_of(own[i]);
            if (shift == 24 || bits >> (shift + 8) == prefix >> (shift + 8)) {
                atomicAdd(&bins[bits >> shift & 255u], 1);
            }
        }
        __syncthreads();
        // bins[d] becomes the number of scores with a digit of at least d
        for (int distance = 1; distance < 256; distance *= 2) {
            int add = thread + distance < 256 ? bins[thread + distance] : 0;
            __syncthreads();
            bins[thread] += add;
            __syncthreads();
        }
        int more = thread < 255 ? bins[thread + 1] : 0;
        if (bins[thread] >= wanted && more < wanted) {
            digit = thread;
            above = more;
        }
        __syncthreads();
        prefix |= (u32)digit << shift;
        wanted -= above;
        __syncthreads();
    }
    // All scores above the cut, and the first `wanted` of those at it.
    int out = 0, equal_before = 0;
    int* to = blocks + (long long)row * budget;
    for (int start = 0; start < count; start += 256) {
        int i = start + thread;
        u32 bits = i < count ? bits_of(own[i]) : 0u;
        bool larger = i < count && bits > prefix, equal = i < count && bits == prefix;
        u32 larger_votes = votes(larger), equal_votes = votes(equal);
        __syncthreads();
        if (lane == 0) {
            larger_of[warp] = population(larger_votes);
            equal_of[warp] = population(equal_votes);
        }
        __syncthreads();
        int larger_rank = 0, equal_rank = equal_before, all_larger = 0, all_equal = 0;
        for (int w = 0; w < 8; w++) {
            larger_rank += w < warp ? larger_of[w] : 0;
            equal_rank += w < warp ? equal_of[w] : 0;
            all_larger += larger_of[w];
            all_equal += equal_of[w];
        }
        u32 below = (1u << lane) - 1;
        larger_rank += population(larger_votes & below);
        equal_rank += population(equal_votes & below);
        int equal_taken = min(wanted, equal_rank) - min(wanted, equal_before);
        if (larger || (equal && equal_rank < wanted)) {
            to[out + larger_rank + equal_taken] = i;
        }
        out += all_larger + min(wanted, equal_before + all_equal) - min(wanted, equal_before);
        equal_before += all_equal;
    }
    if (thread == 0) {
        counts[row] = budget;
    }
}
