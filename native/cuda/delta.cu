// Gated DeltaNet.
//
// delta_convolve: causal depthwise convolution and SiLU; a thread a (row, channel).
// delta_prepare: unit queries and keys (in place), k . q, decay and beta of every row; a warp a (row, key head).
// delta_recur: the delta rule. State [slot][value head][value size][key size], float32: the value rows of a head are independent, so a
//   block takes 16 of them and eight lanes one, in registers; all tokens of a segment run through one after the other, their q, k and v
//   staged in shared memory 16 tokens at a time, the next ones on their way. With o = decay (S q) + d (k . q) both products with the old
//   state are made at once. Bytes moved: the state once in and once out a segment, q, k and v once for each block.
// delta_gate: norm over a value head and the output gate; a warp a (row, head).
#include "strata.cuh"

STRATA_KERNEL(256, delta_convolve, const float* qkv, const float* taps, const float* state, const int* first_rows,
              const int* counts, const int* slots, int channels, int kernel, int rows_each, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    int channel = blockIdx.x * 256 + threadIdx.x, segment = blockIdx.z;
    int begin = blockIdx.y * rows_each, end = min(counts[segment], begin + rows_each);
    if (channel >= channels) {
        return;
    }
    const float* in = qkv + (long long)first_rows[segment] * channels + channel;
    const float* past = state + (long long)slots[segment] * (kernel - 1) * channels + channel;
    float* to = out + (long long)first_rows[segment] * channels + channel;
    if (kernel == 4) {
        // The usual length: every value is read once.
        auto value = [&](int t) {
            return t >= 0 ? in[(long long)t * channels] : past[(long long)(3 + t) * channels];
        };
        float tap0 = taps[channel * 4], tap1 = taps[channel * 4 + 1], tap2 = taps[channel * 4 + 2], tap3 = taps[channel * 4 + 3];
        float first = 0.0f, second = 0.0f, third = 0.0f;
        if (begin < end) {
            first = value(begin - 3);
            second = value(begin - 2);
            third = value(begin - 1);
        }
#pragma unroll 4
        for (int t = begin; t < end; t++) {
            float fourth = in[(long long)t * channels];
            to[(long long)t * channels] = silu(tap0 * first + tap1 * second + tap2 * third + tap3 * fourth);
            first = second;
            second = third;
            third = fourth;
        }
        return;
    }
    for (int t = begin; t < end; t++) {
        float sum = 0.0f;
        for (int j = 0; j < kernel; j++) {
            int source = t - (kernel - 1) + j;
            float v = source >= 0 ? in[(long long)source * channels] : past[(long long)(kernel - 1 + source) * channels];
            sum += taps[channel * kernel + j] * v;
        }
        to[(long long)t * channels] = silu(sum);
    }
}

// scalars[row] = [decay x value heads | beta x value heads | k . q x key heads]
STRATA_KERNEL(128, delta_prepare, float* convolved, const float* beta, const float* alpha, const float* decay,
              const float* time_bias, int rows, int key_heads, int value_heads, int key_size, int channels,
              float* scalars) {
    wait_for_previous_kernel();
    release_next_kernel();
    int lane = threadIdx.x & 31;
    int item = blockIdx.x * 4 + (threadIdx.x >> 5);
    int row = item / key_heads, head = item % key_heads;
    if (row >= rows) {
        return;
    }
    float* q = convolved + (long long)row * channels + head * key_size;
    float* k = q + key_heads * key_size;
    float* own = scalars + (long long)row * (2 * value_heads + key_heads);
    float qq = 0.0f, kk = 0.0f;
    for (int i = lane; i < key_size; i += 32) {
        qq += q[i] * q[i];
        kk += k[i] * k[i];
    }
    float q_factor = 1.0f / (sqrtf(warp_sum(qq) + 1e-6f) * sqrtf((float)key_size));
    float k_factor = 1.0f / sqrtf(warp_sum(kk) + 1e-6f);
    float kq = 0.0f;
    for (int i = lane; i < key_size; i += 32) {
        q[i] *= q_factor;
        k[i] *= k_factor;
        kq += q[i] * k[i];
    }
    kq = warp_sum(kq);
    if (lane == 0) {
        own[2 * value_heads + head] = kq;
    }
    for (int h = head * 32 + lane; h < value_heads; h += 32 * key_heads) {
        float a = alpha[(long long)row * value_heads + h] + time_bias[h];
        float softplus = a > 20.0f ? a : log1pf(expf(a));
        own[h] = expf(decay[h] * softplus);
        own[value_heads + h] = sigmoid(beta[(long long)row * value_heads + h]);
    }
}

// K: key size. Without `out` only the state advances; with `keep` it stays as it was.
template <int K>
STRATA_INLINE void recur(const float* convolved, const float* scalars, float* state, const int* first_rows,
                         const int* counts, const int* slots, int key_heads, int value_heads, int value_size, int tiled,
                         int keep, float* out) {
    const int VEC = K >= 32 ? 4 : K / 8, CHUNKS = K / 8 / VEC, TOKENS = 16, ROWS = 16;
    __shared__ __align__(16) float queries[2][TOKENS][K];
    __shared__ __align__(16) float keys[2][TOKENS][K];
    __shared__ __align__(16) float values[2][TOKENS][ROWS];
    __shared__ float gates[2][TOKENS][4];
    wait_for_previous_kernel();
    release_next_kernel();
    int head = blockIdx.y, segment = blockIdx.z, first_value = blockIdx.x * ROWS;
    int key_head = tiled ? head % key_heads : head / (value_heads / key_heads);
    int count = counts[segment], first_row = first_rows[segment];
    int channels = 2 * key_heads * K + value_heads * value_size;
    int width = 2 * value_heads + key_heads;
    int lane = threadIdx.x & 7, row = threadIdx.x >> 3;  // 16 rows of 8 lanes
    bool live = first_value + row < value_size;
    float* own = state + (((long long)slots[segment] * value_heads + head) * value_size + (live ? first_value + row : 0)) * K;
    float s[CHUNKS][VEC];
#pragma unroll
    for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            s[m][e] = own[(8 * m + lane) * VEC + e];
        }
    }
    int value_columns = min(ROWS, value_size - first_value);
    auto fetch = [&](int stage) {
        int begin = stage * TOKENS;
        if (begin < count) {
            int here = min(TOKENS, count - begin);
            for (int i = threadIdx.x; i < here * (K / 4); i += 128) {
                int t = i / (K / 4), chunk = i % (K / 4);
                const float* from = convolved + (long long)(first_row + begin + t) * channels + key_head * K + 4 * chunk;
                copy_async_16(&queries[stage & 1][t][4 * chunk], from);
                copy_async_16(&keys[stage & 1][t][4 * chunk], from + key_heads * K);
            }
            for (int i = threadIdx.x; i < here * (value_columns / 4); i += 128) {
                int t = i / (value_columns / 4), chunk = i % (value_columns / 4);
                copy_async_16(&values[stage & 1][t][4 * chunk],
                              convolved + (long long)(first_row + begin + t) * channels + 2 * key_heads * K +
                                  head * value_size + first_value + 4 * chunk);
            }
            if ((int)threadIdx.x < here) {
                const float* from = scalars + (long long)(first_row + begin + threadIdx.x) * width;
                gates[stage & 1][threadIdx.x][0] = from[head];
                gates[stage & 1][threadIdx.x][1] = from[value_heads + head];
                gates[stage & 1][threadIdx.x][2] = from[2 * value_heads + key_head];
            }
        }
        copy_async_commit();
    };
    fetch(0);
    for (int stage = 0; stage * TOKENS < count; stage++) {
        fetch(stage + 1);
        copy_async_wait<1>();
        __syncthreads();
        int here = min(TOKENS, count - stage * TOKENS);
        for (int t = 0; t < here; t++) {
            const float* q = queries[stage & 1][t];
            const float* k = keys[stage & 1][t];
            float key[CHUNKS][VEC];
            float sk[VEC], sq[VEC];
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                sk[e] = 0.0f;
                sq[e] = 0.0f;
            }
#pragma unroll
            for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
                for (int e = 0; e < VEC; e++) {
                    key[m][e] = k[(8 * m + lane) * VEC + e];
                    sk[e] += s[m][e] * key[m][e];
                    sq[e] += s[m][e] * q[(8 * m + lane) * VEC + e];
                }
            }
            float recalled = 0.0f, answered = 0.0f;
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                recalled += sk[e];
                answered += sq[e];
            }
#pragma unroll
            for (int distance = 4; distance > 0; distance >>= 1) {
                recalled += exchange_xor(recalled, distance);
                answered += exchange_xor(answered, distance);
            }
            float decay = gates[stage & 1][t][0], beta = gates[stage & 1][t][1], kq = gates[stage & 1][t][2];
            float change = beta * ((live ? values[stage & 1][t][row] : 0.0f) - decay * recalled);
#pragma unroll
            for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
                for (int e = 0; e < VEC; e++) {
                    s[m][e] = decay * s[m][e] + key[m][e] * change;
                }
            }
            if (out != nullptr && live && lane == 0) {
                out[((long long)(first_row + stage * TOKENS + t) * value_heads + head) * value_size + first_value + row] =
                    decay * answered + change * kq;
            }
        }
        __syncthreads();
    }
    copy_async_wait<0>();
    if (!keep && live) {
#pragma unroll
        for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                own[(8 * m + lane) * VEC + e] = s[m][e];
            }
        }
    }
}

#define RECUR(K)                                                                                                    \
    STRATA_KERNEL(128, delta_recur_##K, const float* convolved, const float* scalars, float* state,                \
                  const int* first_rows, const int* counts, const int* slots, int key_heads, int value_heads,       \
                  int value_size, int tiled, int keep, float* out) {                                                \
        recur<K>(convolved, scalars, state, first_rows, counts, slots, key_heads, value_heads, value_size, tiled,   \
                 keep, out);                                                                                        \
    }
RECUR(8)
RECUR(16)
RECUR(32)
RECUR(64)
RECUR(128)

STRATA_KERNEL(128, delta_gate, float* out, const float* z, const float* norm, long long heads, int value_size,
              float epsilon, int sigmoid_gate) {
    wait_for_previous_kernel();
    release_next_kernel();
    int lane = threadIdx.x & 31;
    long long head = (long long)blockIdx.x * 4 + (threadIdx.x >> 5);
    if (head >= heads) {
        return;
    }
    float* v = out + head * value_size;
    const float* g = z + head * value_size;
    float squares = 0.0f;
    for (int i = lane; i < value_size; i += 32) {
        squares += v[i] * v[i];
    }
    float factor = 1.0f / sqrtf(warp_sum(squares) / value_size + epsilon);
    for (int i = lane; i < value_size; i += 32) {
        v[i] = v[i] * factor * norm[i] * (sigmoid_gate ? sigmoid(g[i]) : silu(g[i]));
    }
}
