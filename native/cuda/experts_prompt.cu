// Routed experts of prompts: rows grouped by expert, and the weighted sums of their results.
//
// Layout: a pair is (row, j-th expert of the row), pair = row * used + j. Grouping is a counting sort by expert, stable, one block an
// expert. Sums run in routing order: nothing is added by atomics.
// Bytes moved: ids once an expert, from the L2 cache; every result once.
#include "output.cuh"

// Pairs of every expert. One block an expert.
STRATA_KERNEL(256, count_pairs, const int* ids, int pairs, int* counts) {
    __shared__ float partial[32];
    wait_for_previous_kernel();
    release_next_kernel();
    int expert = blockIdx.x;
    int mine = 0;
    for (int i = threadIdx.x; i < pairs; i += 256) {
        mine += ids[i] == expert;
    }
    float sum = block_sum((float)mine, partial);
    if (threadIdx.x == 0) {
        counts[expert] = (int)sum;
    }
}

// The sums of the values of all threads up to this one, by a block of 1024.
STRATA_INLINE int sum_up_to(int value, int* ends) {
    int e = threadIdx.x;
    ends[e] = value;
    __syncthreads();
    for (int distance = 1; distance < 1024; distance *= 2) {
        int add = e >= distance ? ends[e - distance] : 0;
        __syncthreads();
        ends[e] += add;
        __syncthreads();
    }
    return ends[e];
}

// starts[e] = pairs of all experts before e; starts[experts] = all. The same of tiles of `rows` pairs, which know their expert and which of its tiles they
// are: tiles[i] = expert | tile << 16. One block.
STRATA_KERNEL(1024, place_pairs, const int* counts, int experts, int rows, int* starts, int* tile_starts, int* tiles) {
    __shared__ int ends[1024];
    __shared__ int tile_ends[1024];
    wait_for_previous_kernel();
    release_next_kernel();
    int e = threadIdx.x, count = e < experts ? counts[e] : 0, own = (count + rows - 1) / rows;
    int end = sum_up_to(count, ends), last = sum_up_to(own, tile_ends);
    if (e < experts) {
        starts[e + 1] = end;
        tile_starts[e + 1] = last;
    }
    if (e == 0) {
        starts[0] = 0;
        tile_starts[0] = 0;
    }
    for (int i = 0; i < own; i++) {
        tiles[last - own + i] = e | i << 16;
    }
}

// sources[i] = row of the i-th grouped pair, places[pair] = i. One block an expert; pairs keep their order.
STRATA_KERNEL(256, group_pairs, const int* ids, int pairs, int used, const int* starts, int* sources, int* places) {
    const int EACH = 16;  // neighbouring pairs of a thread
    __shared__ int before[8];
    wait_for_previous_kernel();
    release_next_kernel();
    int expert = blockIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int next = starts[expert];
    if (next == starts[expert + 1]) {
        return;
    }
    for (int base = 0; base < pairs; base += 256 * EACH) {
        int first = base + EACH * threadIdx.x;
        u32 wanted = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            wanted |= (u32)(first + i < pairs && ids[first + i] == expert) << i;
        }
        // The ranks inside the warp, bit by bit of the lanes' counts.
        int mine = population(wanted), place = next, all = 0;
#pragma unroll
        for (int bit = 0; bit < 5; bit++) {
            u32 lanes = votes((mine >> bit & 1) != 0);
            place += population(lanes & ((1u << lane) - 1)) << bit;
            all += population(lanes) << bit;
        }
        __syncthreads();
        if (lane == 0) {
            before[warp] = all;
        }
        __syncthreads();
        int total = 0;
        for (int i = 0; i < 8; i++) {
            place += i < warp ? before[i] : 0;
            total += before[i];
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (wanted >> i & 1) {
                sources[place] = (first + i) / used;
                places[first + i] = place;
                place++;
            }
        }
        next += total;
    }
}

// Activations in the order of the pairs of experts first .. first + count - 1: out[i] = from[sources[i]]. A thread eight values.
STRATA_KERNEL(256, gather_halves, const u16* from, const int* sources, const int* starts, int first, int count, int padded,
              u16* out) {
    wait_for_previous_kernel();
    int chunks = padded >> 3;
    long long begin = (long long)starts[first] * chunks, end = (long long)starts[first + count] * chunks;
    for (long long i = begin + (long long)blockIdx.x * 256 + threadIdx.x; i < end; i += (long long)gridDim.x * 256) {
        u32 row = (u32)i / (u32)chunks, chunk = (u32)i - row * (u32)chunks;
        ((Word4*)out)[i] = ((const Word4*)from)[(long long)sources[row] * chunks + chunk];
    }
}

// out[row] = sum over j of weights[row][j] * results[place of pair]; float32 results, or float16 ones made of gated parts. With `others`, pairs whose expert has
// no blob in the table are taken from there (float32, by pair). One block a row.
STRATA_KERNEL(256, combine_pairs, const void* results, int halves, const int* places, const float* weights, int used,
              int columns, const float* others, const u64* table, const int* ids, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    int row = blockIdx.x;
    if (halves && others == nullptr && places != nullptr && (columns & 7) == 0) {
        const int* own = places + (long long)row * used;
        const float* factors = weights + (long long)row * used;
        for (int k = 8 * threadIdx.x; k < columns; k += 8 * blockDim.x) {
            float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
            for (int j = 0; j < used; j++) {
                Word4 eight = *(const Word4*)((const u16*)results + (long long)own[j] * columns + k);
                float factor = factors[j] / GATED_PART;
                u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sums[2 * i] += factor * from_half((u16)words[i]);
                    sums[2 * i + 1] += factor * from_half((u16)(words[i] >> 16));
                }
            }
            Vec4* to = (Vec4*)(out + (long long)row * columns + k);
            to[0] = Vec4{sums[0], sums[1], sums[2], sums[3]};
            to[1] = Vec4{sums[4], sums[5], sums[6], sums[7]};
        }
        return;
    }
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        float sum = 0.0f;
        for (int j = 0; j < used; j++) {
            int pair = row * used + j;
            long long at = (long long)(places != nullptr ? places[pair] : pair) * columns + k;
            if (others != nullptr && table[ids[pair]] == 0) {
                sum += weights[pair] * others[(long long)pair * columns + k];
                continue;
            }
            float value = halves ? from_half(((const u16*)results)[at]) / GATED_PART : ((const float*)results)[at];
            sum += weights[pair] * value;
        }
        out[(long long)row * columns + k] = sum;
    }
}
