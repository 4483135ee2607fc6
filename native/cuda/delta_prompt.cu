// Gated DeltaNet over prompts in chunks of 64 tokens, on tensor cores; heads of 128 keys and 128 values.
//
// With G the running sum of the logarithms of the decays inside a chunk, S the state before it and d the changes that its tokens make,
//   (I + A) d = beta v - beta exp(G) (S k),  A_tj = beta_t exp(G_t - G_j) k_t . k_j  for j < t
//   o_t = exp(G_t) S q_t + sum over j <= t of exp(G_t - G_j) (q_t . k_j) d_j
//   S' = exp(G_63) S + sum over t of exp(G_63 - G_t) d_t k_t^T
// delta_chunks: all chunks at once, a block each: the products of keys and queries by mma.sync, then U = (I + A)^-1 beta v and
//   W = (I + A)^-1 beta exp(G) k by substitution in float32, a thread a column. Writes a piece per chunk in float16:
//   [W | exp(G) q | exp(G_63 - G) k | U | weights of d in o].
// delta_pass: the chunks of a sequence in turn, a block 64 values of a head; d = U - W S, outputs and the next state by mma.sync. The
//   state stays in float32 registers, a float16 copy in shared memory serves the products; the next piece arrives meanwhile.
// Bytes moved: 72 KiB written and read for every chunk and head, from the L2 cache when few chunks are made ahead.
#include "strata.cuh"

enum { TOKENS = 64, SIZE = 128, HALF = 64, PIECE = 4 * TOKENS * SIZE + TOKENS * TOKENS, PITCH = 68 };

// Byte offset of 16-byte chunk `chunk` of row `row` in a tile with rows of `bytes` bytes.
template <int BYTES>
STRATA_INLINE int place_of(int row, int chunk) {
    return row * BYTES + ((chunk ^ (row & 7)) << 4);
}

STRATA_INLINE Word4 eight_halves(const float* from, float factor) {
    Vec4 low = *(const Vec4*)from, high = *(const Vec4*)(from + 4);
    return Word4{half2_in_range(low.x * factor, low.y * factor), half2_in_range(low.z * factor, low.w * factor),
                 half2_in_range(high.x * factor, high.y * factor), half2_in_range(high.z * factor, high.w * factor)};
}

// grid (chunks, value heads, segments); chunk 0 is `first_chunk`. shrinks: exp(G_63) of every piece.
STRATA_KERNEL(256, delta_chunks, const float* convolved, const float* scalars, const int* first_rows, const int* counts,
              int key_heads, int value_heads, int tiled, int first_chunk, u16* pieces, float* shrinks) {
    STRATA_DYNAMIC_SHARED(shared);
    wait_for_previous_kernel();
    int head = blockIdx.y, segment = blockIdx.z;
    int begin = (first_chunk + blockIdx.x) * TOKENS, tokens = min((int)TOKENS, counts[segment] - begin);
    if (tokens <= 0) {
        return;
    }
    int key_head = tiled ? head % key_heads : head / (value_heads / key_heads);
    int channels = 2 * key_heads * SIZE + value_heads * SIZE, width = 2 * value_heads + key_heads;
    long long row0 = first_rows[segment] + begin;
    const float* queries = convolved + row0 * channels + key_head * SIZE;
    const float* keys = queries + key_heads * SIZE;
    const float* values = convolved + row0 * channels + 2 * key_heads * SIZE + head * SIZE;
    long long number = ((long long)segment * value_heads + head) * gridDim.x + blockIdx.x;
    u16* piece = pieces + number * PIECE;
    u8* query_tile = shared;
    u8* key_tile = shared + TOKENS * SIZE * 2;
    float* matrix = (float*)(shared + 2 * TOKENS * SIZE * 2);
    float* sums = matrix + TOKENS * PITCH;
    float* betas = sums + TOKENS;
    int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    if (warp == 0) {
        // Each lane two tokens; decays of nothing count as far away.
        const float* own = scalars + row0 * width;
        float first = 2 * lane < tokens ? logf(fmaxf(own[(long long)(2 * lane) * width + head], 1e-30f)) : 0.0f;
        float second = 2 * lane + 1 < tokens ? logf(fmaxf(own[(long long)(2 * lane + 1) * width + head], 1e-30f)) : 0.0f;
        float before = 0.0f;
        for (int other = 0; other < 31; other++) {
            float both = broadcast(first + second, other);
            before += other < lane ? both : 0.0f;
        }
        sums[2 * lane] = before + first;
        sums[2 * lane + 1] = before + first + second;
        betas[2 * lane] = 2 * lane < tokens ? own[(long long)(2 * lane) * width + value_heads + head] : 0.0f;
        betas[2 * lane + 1] = 2 * lane + 1 < tokens ? own[(long long)(2 * lane + 1) * width + value_heads + head] : 0.0f;
    }
    __syncthreads();
    float last = sums[TOKENS - 1];
    for (int i = thread; i < TOKENS * (SIZE / 8); i += 256) {
        int t = i / (SIZE / 8), chunk = i % (SIZE / 8);
        Word4 zero = {0, 0, 0, 0};
        bool there = t < tokens;
        const float* q = queries + (long long)t * channels + 8 * chunk;
        const float* k = keys + (long long)t * channels + 8 * chunk;
        *(Word4*)(query_tile + place_of<2 * SIZE>(t, chunk)) = there ? eight_halves(q, 1.0f) : zero;
        *(Word4*)(key_tile + place_of<2 * SIZE>(t, chunk)) = there ? eight_halves(k, 1.0f) : zero;
        u16* to = piece + TOKENS * SIZE + t * SIZE + 8 * chunk;
        *(Word4*)to = there ? eight_halves(q, expf(sums[t])) : zero;
        *(Word4*)(to + TOKENS * SIZE) = there ? eight_halves(k, expf(last - sums[t])) : zero;
    }
    __syncthreads();
    int row = 16 * (warp & 3), column = 32 * (warp >> 2);
    float of_keys[4][4], of_queries[4][4];
#pragma unroll
    for (int n = 0; n < 4; n++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            of_keys[n][e] = 0.0f;
            of_queries[n][e] = 0.0f;
        }
    }
#pragma unroll
    for (int kk = 0; kk < SIZE / 16; kk++) {
        u32 k_left[4], q_left[4];
        load_matrices(k_left, key_tile + place_of<2 * SIZE>(row + (lane & 15), 2 * kk + (lane >> 4)));
        load_matrices(q_left, query_tile + place_of<2 * SIZE>(row + (lane & 15), 2 * kk + (lane >> 4)));
#pragma unroll
        for (int n = 0; n < 2; n++) {
            u32 right[4];
            load_matrices(right, key_tile + place_of<2 * SIZE>(column + 16 * n + ((lane >> 4) << 3) + (lane & 7),
                                                               2 * kk + ((lane >> 3) & 1)));
            multiply_f16(of_keys[2 * n], k_left, right[0], right[1]);
            multiply_f16(of_keys[2 * n + 1], k_left, right[2], right[3]);
            multiply_f16(of_queries[2 * n], q_left, right[0], right[1]);
            multiply_f16(of_queries[2 * n + 1], q_left, right[2], right[3]);
        }
    }
#pragma unroll
    for (int n = 0; n < 4; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int t = row + (lane >> 2) + 8 * half, j = column + 8 * n + 2 * (lane & 3);
            float first = expf(fminf(sums[t] - sums[j], 0.0f)), second = expf(fminf(sums[t] - sums[j + 1], 0.0f));
            matrix[t * PITCH + j] = j < t ? betas[t] * first * of_keys[n][2 * half] : 0.0f;
            matrix[t * PITCH + j + 1] = j + 1 < t ? betas[t] * second * of_keys[n][2 * half + 1] : 0.0f;
            *(u32*)(piece + 4 * TOKENS * SIZE + t * TOKENS + j) =
                half2_in_range(j <= t ? first * of_queries[n][2 * half] : 0.0f,
                               j + 1 <= t ? second * of_queries[n][2 * half + 1] : 0.0f);
        }
    }
    __syncthreads();
    bool of_value = thread < SIZE;
    int c = thread & (SIZE - 1);
    const float* from = of_value ? values + c : keys + c;
    float x[TOKENS];
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
        float v = t < tokens ? from[(long long)t * channels] : 0.0f;
        x[t] = betas[t] * (of_value ? v : v * expf(sums[t]));
    }
    u16* to = piece + (of_value ? 3 * TOKENS * SIZE : 0) + c;
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
        float even = x[t], odd = 0.0f;
#pragma unroll
        for (int j = 0; j < t; j += 4) {
            Vec4 a = *(const Vec4*)(matrix + t * PITCH + j);  // zeros from column t on
            even -= a.x * x[j];
            odd -= j + 1 < t ? a.y * x[j + 1] : 0.0f;
            even -= j + 2 < t ? a.z * x[j + 2] : 0.0f;
            odd -= j + 3 < t ? a.w * x[j + 3] : 0.0f;
        }
        x[t] = even + odd;
        to[t * SIZE] = (u16)half2_in_range(x[t], 0.0f);
    }
    if (thread == 0) {
        shrinks[number] = expf(last);
    }
}

// grid (2, value heads, segments). `chunks` pieces of every sequence and head from `first_chunk` on.
STRATA_KERNEL(256, delta_pass, const u16* pieces, const float* shrinks, float* state, const int* first_rows, const int* counts,
              const int* slots, int value_heads, int first_chunk, int chunks, float* out) {
    STRATA_DYNAMIC_SHARED(shared);
    wait_for_previous_kernel();
    const int STAGE = 2 * (3 * TOKENS * SIZE + TOKENS * HALF + TOKENS * TOKENS);
    int part = blockIdx.x, head = blockIdx.y, segment = blockIdx.z;
    int count = counts[segment], here = min(chunks, (count + TOKENS - 1) / TOKENS - first_chunk);
    if (here <= 0) {
        return;
    }
    u8* copy = shared + 2 * STAGE;             // the state, [key][64 values]
    u8* changes = copy + 2 * SIZE * HALF;      // d, [token][64 values]
    int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    int row = 16 * (warp & 3), column = 32 * (warp >> 2);
    long long first_piece = ((long long)segment * value_heads + head) * chunks;
    auto fetch = [&](int number) {
        if (number < here) {
            const u16* piece = pieces + (first_piece + number) * PIECE;
            u8* stage = shared + (number & 1) * STAGE;
            for (int i = thread; i < 3 * TOKENS * 16; i += 256) {
                int t = i >> 4, chunk = i & 15;
                copy_async_16(stage + place_of<256>(t, chunk), piece + t * SIZE + 8 * chunk);
            }
            u8* rest = stage + 3 * TOKENS * 256;
            for (int i = thread; i < TOKENS * 8; i += 256) {
                int t = i >> 3, chunk = i & 7;
                copy_async_16(rest + place_of<128>(t, chunk), piece + 3 * TOKENS * SIZE + t * SIZE + HALF * part + 8 * chunk);
                copy_async_16(rest + TOKENS * 128 + place_of<128>(t, chunk), piece + 4 * TOKENS * SIZE + t * TOKENS + 8 * chunk);
            }
        }
        copy_async_commit();
    };
    // Keys 32 (warp & 3) + 16 m + lane / 4 (+ 8), values column + 8 n + 2 (lane & 3) (+ 1) of this part.
    float* own = state + ((long long)slots[segment] * value_heads + head) * SIZE * SIZE + (long long)HALF * part * SIZE;
    float s[2][4][4];
    auto at = [&](int m, int n, int e) {
        return (long long)(column + 8 * n + 2 * (lane & 3) + (e & 1)) * SIZE + 2 * row + 16 * m + (lane >> 2) + 8 * (e >> 1);
    };
    auto keep_copy = [&]() {
#pragma unroll
        for (int m = 0; m < 2; m++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    int key = 2 * row + 16 * m + (lane >> 2) + 8 * half, value = column + 8 * n + 2 * (lane & 3);
                    *(u32*)(copy + place_of<128>(key, value >> 3) + 2 * (value & 7)) =
                        half2_in_range(s[m][n][2 * half], s[m][n][2 * half + 1]);
                }
            }
        }
    };
    fetch(0);
#pragma unroll
    for (int m = 0; m < 2; m++) {
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[m][n][e] = own[at(m, n, e)];
            }
        }
    }
    keep_copy();
    for (int number = 0; number < here; number++) {
        fetch(number + 1);
        copy_async_wait<1>();
        __syncthreads();
        const u8* stage = shared + (number & 1) * STAGE;
        const u8* query_tile = stage + TOKENS * 256;
        const u8* key_tile = stage + 2 * TOKENS * 256;
        const u8* value_tile = stage + 3 * TOKENS * 256;
        const u8* weight_tile = value_tile + TOKENS * 128;
        float recalled[4][4], answer[4][4];
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                recalled[n][e] = 0.0f;
                answer[n][e] = 0.0f;
            }
        }
#pragma unroll
        for (int kk = 0; kk < SIZE / 16; kk++) {
            u32 w[4], q[4];
            load_matrices(w, stage + place_of<256>(row + (lane & 15), 2 * kk + (lane >> 4)));
            load_matrices(q, query_tile + place_of<256>(row + (lane & 15), 2 * kk + (lane >> 4)));
#pragma unroll
            for (int n = 0; n < 2; n++) {
                u32 right[4];
                load_matrices_transposed(right, copy + place_of<128>(16 * kk + (lane & 15), column / 8 + 2 * n + (lane >> 4)));
                multiply_f16(recalled[2 * n], w, right[0], right[1]);
                multiply_f16(recalled[2 * n + 1], w, right[2], right[3]);
                multiply_f16(answer[2 * n], q, right[0], right[1]);
                multiply_f16(answer[2 * n + 1], q, right[2], right[3]);
            }
        }
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int t = row + (lane >> 2) + 8 * half, value = column + 8 * n + 2 * (lane & 3);
                int place = place_of<128>(t, value >> 3) + 2 * (value & 7);
                u32 u = *(const u32*)(value_tile + place);
                *(u32*)(changes + place) = half2_in_range(from_half((u16)u) - recalled[n][2 * half],
                                                          from_half((u16)(u >> 16)) - recalled[n][2 * half + 1]);
            }
        }
        __syncthreads();
        float shrink = shrinks[first_piece + number];
#pragma unroll
        for (int m = 0; m < 2; m++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    s[m][n][e] *= shrink;
                }
            }
        }
#pragma unroll
        for (int kk = 0; kk < TOKENS / 16; kk++) {
            u32 p[4], k[2][4];
            load_matrices(p, weight_tile + place_of<128>(row + (lane & 15), 2 * kk + (lane >> 4)));
#pragma unroll
            for (int m = 0; m < 2; m++) {
                load_matrices_transposed(k[m], key_tile + place_of<256>(16 * kk + (lane & 7) + ((lane >> 4) << 3),
                                                                        (2 * row + 16 * m) / 8 + ((lane >> 3) & 1)));
            }
#pragma unroll
            for (int n = 0; n < 2; n++) {
                u32 right[4];
                load_matrices_transposed(right, changes + place_of<128>(16 * kk + (lane & 15), column / 8 + 2 * n + (lane >> 4)));
                multiply_f16(answer[2 * n], p, right[0], right[1]);
                multiply_f16(answer[2 * n + 1], p, right[2], right[3]);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply_f16(s[m][2 * n], k[m], right[0], right[1]);
                    multiply_f16(s[m][2 * n + 1], k[m], right[2], right[3]);
                }
            }
        }
        keep_copy();  // all have read the old one before the barrier above
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int t = (first_chunk + number) * TOKENS + row + (lane >> 2) + 8 * half;
                if (t < count) {
                    float* to = out + ((long long)(first_rows[segment] + t) * value_heads + head) * SIZE + HALF * part + column +
                                8 * n + 2 * (lane & 3);
                    to[0] = answer[n][2 * half];
                    to[1] = answer[n][2 * half + 1];
                }
            }
        }
        __syncthreads();
    }
    copy_async_wait<0>();
#pragma unroll
    for (int m = 0; m < 2; m++) {
#pragma unroll
        for (int n = 0; n < 4; n++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                own[at(m, n, e)] = s[m][n][e];
            }
        }
    }
}
