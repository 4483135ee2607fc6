// Gated DeltaNet for passes of few rows a sequence: convolution, unit keys, the delta rule, norm and output gate in one kernel.
//
// A block takes one value head of one segment, of at most 8 rows. State [slot][value head][value size][key size], float32: eight lanes hold a value
// row, 64 rows at a time, and the first of them are on their way before the kernel waits for the projections. The convolution's last rows
// are a value head's own or shared by all of a key head: those the block that comes last moves on.
// Bytes moved: the state once in and once out, the inputs of a key head once for each of its value heads.
#include "integers.cuh"

enum { MOST_ROWS = 8, MOST_VALUES = 256 };

struct DeltaInputs {
    const float* qkv;
    const float* z;
    const float* beta;
    const float* alpha;
    const float* taps;
    const float* decay;
    const float* time_bias;
    const float* norm;
    u8* integers;  // where a single row is left as integers too (0: nowhere)
};

// What is left of a channel's inputs for the next pass: rows move towards the front, so in place is safe.
STRATA_INLINE void move_on(float* past, const float* in, int count, int keep, int channels) {
    for (int j = 0; j < keep; j++) {
        int source = count - keep + j;
        past[(long long)j * channels] =
            source >= 0 ? in[(long long)source * channels] : past[(long long)(keep + source) * channels];
    }
}

// K: key size. With `hold` the state stays as it was.
template <int K>
STRATA_INLINE void decode(const DeltaInputs& given, float* rows, float* matrices, const int* first_rows, const int* counts,
                          const int* slots, int key_heads, int value_heads, int value_size, int kernel, int tiled,
                          float epsilon, int sigmoid_gate, int hold, int* arrivals, float* out) {
    const int VEC = K >= 32 ? 4 : K / 8, CHUNKS = K / 8 / VEC;
    __shared__ __align__(16) float queries[MOST_ROWS][K];
    __shared__ __align__(16) float keys[MOST_ROWS][K];
    __shared__ float values[MOST_ROWS][MOST_VALUES];
    __shared__ float scalars[MOST_ROWS][3];
    __shared__ int before;
    int head = blockIdx.x, segment = blockIdx.y;
    int ratio = value_heads / key_heads, key_head = tiled ? head % key_heads : head / ratio;
    int count = counts[segment], first_row = first_rows[segment], slot = slots[segment];
    int channels = 2 * key_heads * K + value_heads * value_size;
    int lane = threadIdx.x & 7, part = threadIdx.x >> 3, warp = threadIdx.x >> 5, in_warp = threadIdx.x & 31;
    float* own = matrices + ((long long)slot * value_heads + head) * value_size * K;
    float s[CHUNKS][VEC];
    auto load_state = [&](int row) {
#pragma unroll
        for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                s[m][e] = own[(long long)(row < value_size ? row : 0) * K + (8 * m + lane) * VEC + e];
            }
        }
    };
    load_state(part);
    wait_for_previous_kernel();
    release_next_kernel();

    auto channel_of = [&](int c) {
        return c < K ? key_head * K + c : c < 2 * K ? key_heads * K + key_head * K + c - K
                                                    : 2 * key_heads * K + head * value_size + c - 2 * K;
    };
    // What a row's warp needs later on is on its way while others convolve.
    long long at = ((long long)(first_row + warp) * value_heads + head) * value_size;
    float gates[MOST_VALUES / 32], norms[MOST_VALUES / 32], alpha = 0.0f, beta = 0.0f;
    if (warp < count) {
#pragma unroll
        for (int j = 0; j < MOST_VALUES / 32; j++) {
            int i = in_warp + 32 * j;
            gates[j] = i < value_size ? given.z[at + i] : 0.0f;
            norms[j] = i < value_size ? given.norm[i] : 0.0f;
        }
        long long of_head = (long long)(first_row + warp) * value_heads + head;
        alpha = given.alpha[of_head] + given.time_bias[head];
        beta = given.beta[of_head];
    }
    float* past_rows = rows + (long long)slot * (kernel - 1) * channels;
    const float* inputs = given.qkv + (long long)first_row * channels;
    for (int c = threadIdx.x; c < 2 * K + value_size; c += 512) {
        int channel = channel_of(c);
        const float* in = inputs + channel;
        float* past = past_rows + channel;
        for (int t = 0; t < count; t++) {
            float sum = 0.0f;
            for (int j = 0; j < kernel; j++) {
                int source = t - (kernel - 1) + j;
                float v = source >= 0 ? in[(long long)source * channels] : past[(long long)(kernel - 1 + source) * channels];
                sum += given.taps[channel * kernel + j] * v;
            }
            float* to = c < K ? &queries[t][c] : c < 2 * K ? &keys[t][c - K] : &values[t][c - 2 * K];
            *to = silu(sum);
        }
        if (c >= 2 * K && !hold) {
            move_on(past, in, count, kernel - 1, channels);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && !hold) {
        int* counter = arrivals + segment * key_heads + key_head;
        before = atomicAdd(counter, 1);
        if (before == ratio - 1) {
            *counter = 0;
        }
    }
    if (warp < count) {
        float* q = queries[warp];
        float* k = keys[warp];
        float qq = 0.0f, kk = 0.0f;
        for (int i = in_warp; i < K; i += 32) {
            qq += q[i] * q[i];
            kk += k[i] * k[i];
        }
        float q_factor = 1.0f / (sqrtf(warp_sum(qq) + 1e-6f) * sqrtf((float)K));
        float k_factor = 1.0f / sqrtf(warp_sum(kk) + 1e-6f);
        float kq = 0.0f;
        for (int i = in_warp; i < K; i += 32) {
            q[i] *= q_factor;
            k[i] *= k_factor;
            kq += q[i] * k[i];
        }
        kq = warp_sum(kq);
        if (in_warp == 0) {
            float softplus = alpha > 20.0f ? alpha : log1pf(expf(alpha));
            scalars[warp][0] = expf(given.decay[head] * softplus);
            scalars[warp][1] = sigmoid(beta);
            scalars[warp][2] = kq;
        }
    }
    __syncthreads();
    if (!hold && before == ratio - 1) {
        for (int c = threadIdx.x; c < 2 * K; c += 512) {
            move_on(past_rows + channel_of(c), inputs + channel_of(c), count, kernel - 1, channels);
        }
    }
    for (int first = 0; first < value_size; first += 64) {
        int row = first + part;
        bool live = row < value_size;
        if (first > 0) {
            load_state(row);
        }
        for (int t = 0; t < count; t++) {
            float key[CHUNKS][VEC], recalled = 0.0f, answered = 0.0f;
#pragma unroll
            for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
                for (int e = 0; e < VEC; e++) {
                    key[m][e] = keys[t][(8 * m + lane) * VEC + e];
                    recalled += s[m][e] * key[m][e];
                    answered += s[m][e] * queries[t][(8 * m + lane) * VEC + e];
                }
            }
#pragma unroll
            for (int distance = 4; distance > 0; distance >>= 1) {
                recalled += exchange_xor(recalled, distance);
                answered += exchange_xor(answered, distance);
            }
            float decay = scalars[t][0], beta = scalars[t][1];
            float change = beta * ((live ? values[t][row] : 0.0f) - decay * recalled);
#pragma unroll
            for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
                for (int e = 0; e < VEC; e++) {
                    s[m][e] = decay * s[m][e] + key[m][e] * change;
                }
            }
            warp_barrier();
            if (live && lane == 0) {
                values[t][row] = decay * answered + change * scalars[t][2];
            }
        }
        if (!hold && live) {
#pragma unroll
            for (int m = 0; m < CHUNKS; m++) {
#pragma unroll
                for (int e = 0; e < VEC; e++) {
                    own[(long long)row * K + (8 * m + lane) * VEC + e] = s[m][e];
                }
            }
        }
    }
    __syncthreads();
    if (warp < count) {
        const float* v = values[warp];
        float squares = 0.0f;
        for (int i = in_warp; i < value_size; i += 32) {
            squares += v[i] * v[i];
        }
        float factor = 1.0f / sqrtf(warp_sum(squares) / value_size + epsilon);
#pragma unroll
        for (int j = 0; j < MOST_VALUES / 32; j++) {
            int i = in_warp + 32 * j;
            if (i < value_size) {
                out[at + i] = v[i] * factor * norms[j] * (sigmoid_gate ? sigmoid(gates[j]) : silu(gates[j]));
            }
        }
    }
}

// One row a sequence, heads of ROW_SIZE and ROW_TAPS taps: a thread keeps what it needs of two state rows and of the convolution in registers before it waits, and two
// barriers are left behind the wait. The same sums as above in another order: keys and queries are brought to unit length where they are used.
enum { ROW_SIZE = 128, ROW_TAPS = 4, ROW_FOURS = ROW_SIZE / 32 };
struct DeltaRowRoom {
    Vec4 queries[ROW_SIZE / 4], keys[ROW_SIZE / 4], answers[ROW_SIZE / 4];
    float values[ROW_SIZE];
    int before;
};
STRATA_INLINE float dot(const Vec4& a, const Vec4& b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
STRATA_INLINE void decode_row(const DeltaInputs& given, DeltaRowRoom& room, float* rows, float* matrices, int first_row, int slot, int key_heads, int value_heads,
                              int tiled, float epsilon, int sigmoid_gate, int hold, int* arrivals, float* out) {
    int t = threadIdx.x, lane = t & 7, part = t >> 3, in_warp = t & 31, head = blockIdx.x;
    int ratio = value_heads / key_heads, key_head = tiled ? head % key_heads : head / ratio;
    int channels = (2 * key_heads + value_heads) * ROW_SIZE;
    Vec4* own = (Vec4*)(matrices + ((long long)slot * value_heads + head) * ROW_SIZE * ROW_SIZE) + part * (ROW_SIZE / 4) + lane;
    const int HALF = ROW_SIZE * ROW_SIZE / 8;
    Vec4 s[2][ROW_FOURS];
#pragma unroll
    for (int m = 0; m < ROW_FOURS; m++) {
        s[0][m] = own[8 * m];
        s[1][m] = own[HALF + 8 * m];
    }
    // Threads up to 3 * ROW_SIZE have a channel of the query, the key or the values.
    int of = t / ROW_SIZE, inside = t % ROW_SIZE;
    bool convolves = of < 3;
    int channel = (of == 0 ? key_head : of == 1 ? key_heads + key_head : 2 * key_heads + head) * ROW_SIZE + inside;
    float* past = rows + (long long)slot * (ROW_TAPS - 1) * channels + channel;
    Vec4 taps = {0.0f, 0.0f, 0.0f, 0.0f};
    float before[ROW_TAPS - 1] = {0.0f, 0.0f, 0.0f}, in = 0.0f;
    if (convolves) {
        taps = ((const Vec4*)given.taps)[channel];
#pragma unroll
        for (int j = 0; j < ROW_TAPS - 1; j++) {
            before[j] = past[(long long)j * channels];
        }
    }
    float bias = given.time_bias[head], rate = given.decay[head], gate[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    Vec4 norm = ((const Vec4*)given.norm)[in_warp];
    long long of_head = (long long)first_row * value_heads + head, at = of_head * ROW_SIZE + 4 * in_warp;
    wait_for_previous_kernel();
    release_next_kernel();
    if (convolves) {
        in = read_fresh(given.qkv + (long long)first_row * channels + channel);
        float v = silu(taps.x * before[0] + taps.y * before[1] + taps.z * before[2] + taps.w * in);
        (of == 0 ? (float*)room.queries : of == 1 ? (float*)room.keys : room.values)[inside] = v;
    }
    if (t < 32) {
        read_fresh_four(given.z + at, gate);
    }
    float alpha = read_fresh(given.alpha + of_head) + bias, beta = sigmoid(read_fresh(given.beta + of_head));
    float decay = expf(rate * (alpha > 20.0f ? alpha : log1pf(expf(alpha))));
    __syncthreads();
    auto move_on = [&]() {
#pragma unroll
        for (int j = 0; j < ROW_TAPS - 1; j++) {
            past[(long long)j * channels] = j + 2 < ROW_TAPS ? before[j + 1] : in;
        }
    };
    // A query's or key's channels are moved on by the last of the blocks that read them.
    if (!hold && t == 0) {
        int* counter = arrivals + blockIdx.y * key_heads + key_head;
        room.before = atomicAdd(counter, 1);
        if (room.before == ratio - 1) {
            *counter = 0;
        }
    }
    float qq = dot(room.queries[in_warp], room.queries[in_warp]), kk = dot(room.keys[in_warp], room.keys[in_warp]), kq = dot(room.keys[in_warp], room.queries[in_warp]);
    qq = warp_sum(qq);
    kk = warp_sum(kk);
    kq = warp_sum(kq);
    float of_query = 1.0f / (sqrtf(qq + 1e-6f) * sqrtf((float)ROW_SIZE)), of_key = 1.0f / sqrtf(kk + 1e-6f);
    float recalled[2] = {0.0f, 0.0f}, answered[2] = {0.0f, 0.0f};
#pragma unroll
    for (int m = 0; m < ROW_FOURS; m++) {
        Vec4 key = room.keys[8 * m + lane], query = room.queries[8 * m + lane];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            recalled[i] += dot(s[i][m], key);
            answered[i] += dot(s[i][m], query);
        }
    }
#pragma unroll
    for (int distance = 4; distance > 0; distance >>= 1) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            recalled[i] += exchange_xor(recalled[i], distance);
            answered[i] += exchange_xor(answered[i], distance);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int row = part + i * (ROW_SIZE / 2);
        float change = beta * (room.values[row] - decay * of_key * recalled[i]), by = change * of_key;
        if (lane == 0) {
            ((float*)room.answers)[row] = of_query * (decay * answered[i] + by * kq);
        }
        if (!hold) {
#pragma unroll
            for (int m = 0; m < ROW_FOURS; m++) {
                Vec4 key = room.keys[8 * m + lane], old = s[i][m];
                own[i * HALF + 8 * m] = Vec4{decay * old.x + by * key.x, decay * old.y + by * key.y, decay * old.z + by * key.z, decay * old.w + by * key.w};
            }
        }
    }
    __syncthreads();
    if (t < 32) {
        Vec4 answer = room.answers[t];
        float factor = inverse_root(warp_sum(dot(answer, answer)) / ROW_SIZE + epsilon), v[4] = {answer.x, answer.y, answer.z, answer.w};
        const float norms[4] = {norm.x, norm.y, norm.z, norm.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] *= factor * norms[i] * (sigmoid_gate ? sigmoid(gate[i]) : silu(gate[i]));
        }
        *(Vec4*)(out + at) = Vec4{v[0], v[1], v[2], v[3]};
        if (given.integers != nullptr) {
            put_integers(integer_row(given.integers, value_heads * ROW_SIZE), head * ROW_SIZE + 4 * t, v);
        }
    }
    if (!hold && (of == 2 || (convolves && room.before == ratio - 1))) {
        move_on();
    }
}

STRATA_RESIDENT_KERNEL(512, 2, delta_row, const DeltaInputs given, float* rows, float* matrices, const int* first_rows, const int*, const int* slots, int key_heads,
                       int value_heads, int, int, int tiled, float epsilon, int sigmoid_gate, int hold, int* arrivals, float* out) {
    __shared__ DeltaRowRoom room;
    decode_row(given, room, rows, matrices, first_rows[blockIdx.y], slots[blockIdx.y], key_heads, value_heads, tiled, epsilon, sigmoid_gate, hold, arrivals, out);
}

#define DELTA_DECODE(K)                                                                                                     \
    STRATA_KERNEL(512, delta_decode_##K, const DeltaInputs given, float* rows, float* matrices, const int* first_rows,      \
                  const int* counts, const int* slots, int key_heads, int value_heads, int value_size, int kernel,          \
                  int tiled, float epsilon, int sigmoid_gate, int hold, int* arrivals, float* out) {                        \
        decode<K>(given, rows, matrices, first_rows, counts, slots, key_heads, value_heads, value_size, kernel, tiled,      \
                  epsilon, sigmoid_gate, hold, arrivals, out);                                                              \
    }
DELTA_DECODE(8)
DELTA_DECODE(16)
DELTA_DECODE(32)
DELTA_DECODE(64)
DELTA_DECODE(128)
