// Routed experts: choosing, and products for few rows.
//
// Layout: an expert's matrices lie in one blob [gate | up | down | factors]; `table` holds the address of every blob (a cache slot, a ring
// slot or mapped memory), 0 when kernels may not read it. A pair is (row, j-th expert of the row), pair = row * used + j.
// Products (few rows): one warp two outputs of one pair, the blob read once for each pair, through the L2 cache where rows share
// experts. The down product sums over the experts of a row inside the warp, in routing order: nothing is added by atomics.
#include "types.cuh"

STRATA_INLINE float dot8(const float* a, const float* b) {
    float even = a[0] * b[0] + a[2] * b[2] + a[4] * b[4] + a[6] * b[6];
    float odd = a[1] * b[1] + a[3] * b[3] + a[5] * b[5] + a[7] * b[7];
    return even + odd;
}

STRATA_INLINE float sum8(const float* a) { return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])); }

template <class T>
STRATA_INLINE void load8(const float* x, int group, int quarter, int columns, float* v) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int k = 32 * group + (half == 0 ? T::first(quarter) : T::second(quarter));
        if (!T::PLAIN || ((columns & 3) == 0 && k + 4 <= columns)) {
            Vec4 four = *(const Vec4*)(x + k);
            v[4 * half] = four.x;
            v[4 * half + 1] = four.y;
            v[4 * half + 2] = four.z;
            v[4 * half + 3] = four.w;
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[4 * half + i] = k + i < columns ? x[k + i] : 0.0f;
            }
        }
    }
}

// h[pair][i] = silu(gate_i . x) * (up_i . x). grid (intermediate / (8 / split), pairs). Without a table the matrices are `gate` and
// `up`; with one they lie 0 and up_offset bytes into the blob, and their factors tail bytes into it (0: none).
template <class T>
STRATA_INLINE void gate_and_up(const u64* table, const int* ids, int first, int count, u64 up_offset, u64 tail,
                               const u8* gate, const u8* up, float gate_scale, float up_scale, u64 row_bytes,
                               int intermediate, int columns, const float* x, int used, float* h, int split) {
    __shared__ float partial[4][4];
    wait_for_previous_kernel();
    release_next_kernel();
    int pair = blockIdx.y;
    if (table != nullptr) {
        int expert = ids[pair];
        if (expert < first || expert >= first + count || table[expert] == 0) {
            return;
        }
        u64 blob = table[expert];
        gate = (const u8*)blob;
        up = (const u8*)(blob + up_offset);
        if (tail != 0) {
            gate_scale = ((const float*)(blob + tail))[0];
            up_scale = ((const float*)(blob + tail))[1];
        }
    }
    x += (long long)(pair / used) * columns;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, part = warp % split;
    int output = (blockIdx.x * (4 / split) + warp / split) * 2;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (output < intermediate) {
        u64 next = output + 1 < intermediate ? row_bytes : 0;
        const u8* rows[4] = {gate + output * row_bytes, gate + output * row_bytes + next, up + output * row_bytes,
                             up + output * row_bytes + next};
        int groups = (columns + 31) >> 5, quarter = lane & 3;
#pragma unroll 4
        for (int g = part * 8 + (lane >> 2); g < groups; g += 8 * split) {
            float v[4][8], a[8];
            Scale s[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                s[i] = T::read(rows[i], g, quarter, columns, v[i]);
            }
            load8<T>(x, g, quarter, columns, a);
            float total = T::OFFSET ? sum8(a) : 0.0f;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                sums[i] += s[i].scale * dot8(v[i], a);
                if (T::OFFSET) {
                    sums[i] += s[i].offset * total;
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sums[i] = warp_sum(sums[i]);
    }
    if (split > 1) {
        if (lane == 0) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                partial[warp][i] = sums[i];
            }
        }
        __syncthreads();
        if (part == 0) {
            for (int other = 1; other < split; other++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sums[i] += partial[warp + other][i];
                }
            }
        }
    }
    if (part == 0 && lane == 0) {
        float* to = h + (long long)pair * intermediate + output;
        if (output < intermediate) {
            to[0] = silu(gate_scale * sums[0]) * (up_scale * sums[2]);
        }
        if (output + 1 < intermediate) {
            to[1] = silu(gate_scale * sums[1]) * (up_scale * sums[3]);
        }
    }
}

// out[row][o] = sum over j of weight_j * down_j[o] . h[row * used + j]. grid (outputs / (8 / split), rows). Without weights every
// factor is 1; with used = 1 and a row a pair this gives the unweighted result of every pair. `share` pairs read the same row of h. The
// factor of the matrix lies `tail` bytes into the blob (0: none).
template <class T>
STRATA_INLINE void down(const u64* table, const int* ids, int first, int count, u64 offset, u64 tail, const float* weights,
                        u64 row_bytes, int outputs, int columns, const float* h, int used, int share, float* out,
                        int split) {
    const int MOST = 64;
    __shared__ float partial[4][2];
    __shared__ const u8* bases[MOST];
    __shared__ float factors[MOST];
    wait_for_previous_kernel();
    release_next_kernel();
    int row = blockIdx.y;
    for (int j = threadIdx.x; j < used; j += blockDim.x) {
        int expert = ids[row * used + j];
        u64 blob = expert < first || expert >= first + count ? 0 : table[expert];
        bases[j] = blob == 0 ? nullptr : (const u8*)(blob + offset);
        factors[j] = blob == 0 ? 0.0f
                               : (weights == nullptr ? 1.0f : weights[row * used + j]) *
                                     (tail == 0 ? 1.0f : *(const float*)(blob + tail));
    }
    __syncthreads();
    if (used == 1 && bases[0] == nullptr) {
        return;
    }
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, part = warp % split;
    int output = (blockIdx.x * (4 / split) + warp / split) * 2;
    float sum0 = 0.0f, sum1 = 0.0f;
    if (output < outputs) {
        u64 next = output + 1 < outputs ? row_bytes : 0;
        int groups = (columns + 31) >> 5, quarter = lane & 3, steps = (groups + 7) >> 3;
#pragma unroll 4
        for (int step = part; step < used * steps; step += split) {
            int j = step / steps, g = (step - j * steps) * 8 + (lane >> 2);
            const u8* base = bases[j];
            if (g < groups && base != nullptr) {
                float v0[8], v1[8], a[8];
                base += output * row_bytes;
                Scale s0 = T::read(base, g, quarter, columns, v0);
                Scale s1 = T::read(base + next, g, quarter, columns, v1);
                load8<T>(h + (long long)((row * used + j) / share) * columns, g, quarter, columns, a);
                float d0 = s0.scale * dot8(v0, a), d1 = s1.scale * dot8(v1, a);
                if (T::OFFSET) {
                    float total = sum8(a);
                    d0 += s0.offset * total;
                    d1 += s1.offset * total;
                }
                sum0 += factors[j] * d0;
                sum1 += factors[j] * d1;
            }
        }
    }
    sum0 = warp_sum(sum0);
    sum1 = warp_sum(sum1);
    if (split > 1) {
        if (lane == 0) {
            partial[warp][0] = sum0;
            partial[warp][1] = sum1;
        }
        __syncthreads();
        if (part == 0) {
            for (int other = 1; other < split; other++) {
                sum0 += partial[warp + other][0];
                sum1 += partial[warp + other][1];
            }
        }
    }
    if (part == 0 && lane == 0) {
        if (output < outputs) {
            out[(long long)row * outputs + output] = sum0;
        }
        if (output + 1 < outputs) {
            out[(long long)row * outputs + output + 1] = sum1;
        }
    }
}

#define EXPERT(name, T)                                                                                                \
    STRATA_KERNEL(128, gate_up_##name, const u64* table, const int* ids, int first, int count, u64 up_offset, u64 tail, \
                  const u8* gate, const u8* up, float gate_scale, float up_scale, u64 row_bytes, int intermediate,      \
                  int columns, const float* x, int used, float* h, int split) {                                        \
        gate_and_up<T>(table, ids, first, count, up_offset, tail, gate, up, gate_scale, up_scale, row_bytes,           \
                       intermediate, columns, x, used, h, split);                                                      \
    }                                                                                                                  \
    STRATA_KERNEL(128, down_##name, const u64* table, const int* ids, int first, int count, u64 offset, u64 tail,       \
                  const float* weights, u64 row_bytes, int outputs, int columns, const float* h, int used, int share,  \
                  float* out, int split) {                                                                             \
        down<T>(table, ids, first, count, offset, tail, weights, row_bytes, outputs, columns, h, used, share, out,     \
                split);                                                                                                \
    }
EACH_STORED_TYPE(EXPERT)

// Softmax over all experts, the best `used` (lower index first among equals). One warp a row; scores in dynamic shared memory.
STRATA_KERNEL(128, route, const float* logits, int rows, int experts, int used, int renormalise, float scale, int* ids,
              float* weights) {
    STRATA_DYNAMIC_SHARED(bytes);
    wait_for_previous_kernel();
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int row = blockIdx.x * 4 + warp;
    if (row >= rows) {
        return;
    }
    float* score = (float*)bytes + warp * experts;
    const float* from = logits + (long long)row * experts;
    float best = -INFINITY;
    for (int e = lane; e < experts; e += 32) {
        score[e] = from[e];
        best = fmaxf(best, score[e]);
    }
    best = warp_max(best);
    float sum = 0.0f;
    for (int e = lane; e < experts; e += 32) {
        score[e] = expf(score[e] - best);
        sum += score[e];
    }
    sum = warp_sum(sum);
    for (int e = lane; e < experts; e += 32) {
        score[e] /= sum;
    }
    float chosen_sum = 0.0f, kept = 0.0f;
    int kept_id = 0;
    for (int j = 0; j < used; j++) {
        float top = -1.0f;
        int top_id = experts;
        for (int e = lane; e < experts; e += 32) {
            if (score[e] > top) {
                top = score[e];
                top_id = e;
            }
        }
#pragma unroll
        for (int distance = 16; distance > 0; distance >>= 1) {
            float other = exchange_xor(top, distance);
            int other_id = exchange_xor(top_id, distance);
            if (other > top || (other == top && other_id < top_id)) {
                top = other;
                top_id = other_id;
            }
        }
        if (top_id >= experts) {  // scores that are not numbers
            top_id = j;
            top = 0.0f;
        }
        if ((top_id & 31) == lane) {
            score[top_id] = -2.0f;
        }
        chosen_sum += top;
        if (j == lane) {
            kept = top;
            kept_id = top_id;
        }
        if (j >= 32 && lane == 0) {  // more experts than lanes: written at once, divided below
            ids[(long long)row * used + j] = top_id;
            weights[(long long)row * used + j] = top;
        }
    }
    float factor = renormalise ? scale / fmaxf(chosen_sum, 6.103515625e-5f) : scale;
    if (lane < used) {
        ids[(long long)row * used + lane] = kept_id;
        weights[(long long)row * used + lane] = kept * factor;
    }
    if (lane == 0) {
        for (int j = 32; j < used; j++) {
            weights[(long long)row * used + j] *= factor;
        }
    }
}

// factors[row] = sigmoid(gate . x[row]), 1 without a gate. One warp a row.
STRATA_KERNEL(128, scalar_gate, const float* gate, const float* x, int rows, int columns, float* factors) {
    wait_for_previous_kernel();
    release_next_kernel();
    int row = blockIdx.x * 4 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    if (gate != nullptr) {
        for (int k = lane; k < columns; k += 32) {
            sum += gate[k] * x[(long long)row * columns + k];
        }
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        factors[row] = gate == nullptr ? 1.0f : sigmoid(sum);
    }
}
