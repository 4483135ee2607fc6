// Decode: the products of up to eight rows, each kernel doing all that its input allows. See decode.cuh for tiles.
//
// decode_products: several matrices with the same rows, normed on the way when asked. A block makes 16 outputs; its eight warps share the
//   columns. Stored rows are on their way before the kernel waits for the one that makes its activations.
// decode_route: norm, router product (float32), softmax and choice. A warp an expert; the block that comes last for a row chooses.
// decode_gate_up: silu(gate x) * (up x) for every (row, expert) pair and for the shared expert. A block makes 16 values of a pair.
// decode_hyper: what a gated residual module gives its block, after decode_products has made its low-rank values and injections.
// decode_down: the weighted sum of the down products over a row's experts and the shared one, in that order. A block makes 16
//   outputs, a warp takes an expert.
// Bytes moved: every stored row once for eight activation rows; an expert's once for each pair, through the L2 cache.
//
// Rehearsal: the kernels of a layer push each other out of the instruction caches. So each kernel goes through its work once before it
// waits, on a few columns of whatever lies there and without writing, and again in earnest (see docs/kernels.md for what that gave).
// Activations are read past the first cache, which would keep what the rehearsal saw.
#include "decode.cuh"

const int REHEARSED_COLUMNS = 256;
// Blocks behind them find everything in place.
const unsigned REHEARSING_BLOCKS = 1056;

// Adds an output to every residual stream, as strongly as the stream takes it.
STRATA_INLINE void inject(float* residual, float value, const float* strengths, int streams, int row, int hidden, int column) {
    for (int s = 0; s < streams; s++) {
        residual[((long long)row * streams + s) * hidden + column] += strengths[row * streams + s] * value;
    }
}

struct Matrix {
    const u8* weights;
    float* out;
    u64 row_bytes;
    int outputs, first_block, type, mode;
    float scale;
    int piece_bytes, piece_columns, slot;
};
struct Matrices {
    Matrix of[6];
};

STRATA_RESIDENT_KERNEL(256, 4, decode_products, const __grid_constant__ Matrices list, int count, const float* x, const float* norm,
              float epsilon, int parts, int rows, int columns, int stride, int sums_at, int tile_at,
              const float* factors, int streams, float* norm_factors) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16][8];
    __shared__ float inverses[8];
    release_next_kernel();
    int which = 0;
    while (which + 1 < count && (int)blockIdx.x >= list.of[which + 1].first_block) {
        which++;
    }
    const Matrix& m = list.of[which];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int first = ((int)blockIdx.x - m.first_block) * 16, own = min(16, m.outputs - first);
    u16* activations = (u16*)shared;
    float* sums = sums_at == 0 ? nullptr : (float*)(shared + sums_at);
    u8* tile = shared + tile_at;
    const u8* from = m.weights + first * m.row_bytes;
    bring_rows(tile, m.slot, from, m.row_bytes, own, (int)min(m.row_bytes, (u64)m.piece_bytes), warp, 8);
    copy_async_commit();
    int row0 = blockIdx.y * 8, here = min(8, rows - row0);
    int output = threadIdx.x >> 3, row = threadIdx.x & 7, runs = twice();
    float* target = m.out + (long long)(row0 + row) * m.outputs + first + output;
#pragma unroll 1
    for (int run = blockIdx.x < REHEARSING_BLOCKS ? 0 : 1; run < runs; run++) {
        bool real = run > 0;
        if (real) {
            wait_for_previous_kernel();
        }
        int width = real ? columns : min(columns, (int)REHEARSED_COLUMNS), groups = (width + 31) >> 5;
        bool makes = real && output < own && row < here;
        float before = makes && m.mode == ADD ? *target : 0.0f;  // on its way while the product is made
        bring_activations(x + (long long)row0 * columns, norm, epsilon, parts, here, width, activations, stride, sums, inverses,
                          !real || norm_factors == nullptr || blockIdx.x > 0 ? nullptr : norm_factors + row0 * parts);
        if (real) {
            copy_async_wait<0>();
        }
        __syncthreads();
        float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        Columns c = columns_of(activations, stride, sums, groups, here);
        for (int begin = 0; begin < width; begin += m.piece_columns) {
            if (begin > 0) {
                from += m.piece_bytes;
                __syncthreads();
                bring_rows(tile, m.slot, from, m.row_bytes, own,
                           (int)min((u64)m.piece_bytes, m.row_bytes - (u64)(begin / m.piece_columns) * m.piece_bytes), warp, 8);
                copy_async_commit();
                copy_async_wait<0>();
                __syncthreads();
            }
            int length = min(m.piece_columns, width - begin);
            multiply_stored(m.type, brought(tile, m.slot, from, m.row_bytes, lane >> 2),
                            brought(tile, m.slot, from, m.row_bytes, (lane >> 2) + 8), (length + 31) >> 5, length, c, begin >> 5,
                            warp, 8, result);
        }
        float* to = &partial[warp][lane >> 2][2 * (lane & 3)];
        to[0] = result[0];
        to[1] = result[1];
        to[64] = result[2];
        to[65] = result[3];
        __syncthreads();
        if (makes) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < 8; w++) {
                sum += partial[w][output][row];
            }
            float value = sum * inverses[row] * m.scale;
            if (m.mode == INJECT) {
                inject(m.out, value, factors, streams, row0 + row, m.outputs, first + output);
            } else if (m.mode == ADD) {
                *target = before + value;
            } else {
                finish(target, value, m.mode, factors, row0 + row);
            }
        }
    }
}

// A module's gates and what it reads: out[c] = mean over streams s of sigmoid(up[s * hidden + c] . low) * normed[s][c], where a residual stream
// is normed by its factor (from the product before) and its weights. grid (hidden / 16): 8 / streams warps make 16 gates of one stream.
STRATA_KERNEL(256, decode_hyper, const u8* up, u64 row_bytes, int type, float scale, int slot, const float* low, int rank,
              int stride, int sums_at, int tile_at, const float* residual, const float* norm, const float* norm_factors,
              int streams, int rows, int hidden, float* out) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16][8];
    __shared__ float inverses[8];
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, each = 8 / streams, stream = warp / each;
    int first = blockIdx.x * 16, own = min(16, hidden - first);
    u16* activations = (u16*)shared;
    float* sums = sums_at == 0 ? nullptr : (float*)(shared + sums_at);
    u8* tile = shared + tile_at + stream * 16 * slot;
    const u8* from = up + (u64)(stream * hidden + first) * row_bytes;
    bring_rows(tile, slot, from, row_bytes, own, (int)row_bytes, warp % each, each);
    copy_async_commit();
    wait_for_previous_kernel();
    int groups = (rank + 31) >> 5;
    bring_activations(low, nullptr, 0.0f, 1, rows, rank, activations, stride, sums, inverses, nullptr);
    copy_async_wait<0>();
    __syncthreads();
    float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    multiply_stored(type, brought(tile, slot, from, row_bytes, lane >> 2), brought(tile, slot, from, row_bytes, (lane >> 2) + 8),
                    groups, rank, columns_of(activations, stride, sums, groups, rows), 0, warp % each, each, result);
    float* to = &partial[warp][lane >> 2][2 * (lane & 3)];
    to[0] = result[0];
    to[1] = result[1];
    to[64] = result[2];
    to[65] = result[3];
    __syncthreads();
    int output = threadIdx.x >> 3, row = threadIdx.x & 7;
    if (output < own && row < rows) {
        float mean = 0.0f;
        for (int s = 0; s < streams; s++) {
            float gate = 0.0f;
            for (int w = s * each; w < (s + 1) * each; w++) {
                gate += partial[w][output][row];
            }
            int column = s * hidden + first + output;
            mean += sigmoid(gate * inverses[row] * scale) * residual[(long long)row * streams * hidden + column] *
                    norm_factors[row * streams + s] * norm[column];
        }
        out[(long long)row * hidden + first + output] = mean / streams;
    }
}

// Whether this block is the last of `blocks` to come here for counter `arrivals`, which is zero again afterwards. All threads.
STRATA_INLINE bool last_of(int* arrivals, int blocks) {
    __shared__ int before;
    publish();
    __syncthreads();
    if (threadIdx.x == 0) {
        before = atomicAdd(arrivals, 1);
        if (before == blocks - 1) {
            *arrivals = 0;
        }
    }
    __syncthreads();
    publish();
    return before == blocks - 1;
}

// The best `used` of up to 32 N logits by one warp: softmax, then one after the other, the lower index first among equals.
template <int N>
STRATA_INLINE void choose(const float* logits, int experts, int used, int renormalise, float scale, int* ids, float* weights) {
    int lane = threadIdx.x & 31;
    float score[N], best = -INFINITY, sum = 0.0f;
    u32 key[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        score[i] = 32 * i + lane < experts ? read_fresh(logits + 32 * i + lane) : -INFINITY;
        best = fmaxf(best, score[i]);
    }
    best = warp_max(best);
#pragma unroll
    for (int i = 0; i < N; i++) {
        score[i] = 32 * i + lane < experts ? expf(score[i] - best) : 0.0f;
        sum += score[i];
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int i = 0; i < N; i++) {
        score[i] /= sum;
        key[i] = 32 * i + lane < experts ? bits_of(score[i]) + 1 : 0;
    }
    float kept = 0.0f, chosen_sum = 0.0f;
    int kept_id = 0;
    for (int j = 0; j < used; j++) {
        u32 mine = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            mine = max(mine, key[i]);
        }
        u32 top = warp_most(mine);
        u32 behind = 0;  // counted from the end: the largest is the lowest index
#pragma unroll
        for (int i = N - 1; i >= 0; i--) {
            behind = key[i] == top ? (u32)(32 * N - (32 * i + lane)) : behind;
        }
        int id = 32 * N - (int)warp_most(behind);
#pragma unroll
        for (int i = 0; i < N; i++) {
            key[i] = 32 * i + lane == id ? 0 : key[i];
        }
        float value = float_of(top - 1);
        chosen_sum += value;
        if (lane == j) {
            kept = value;
            kept_id = id;
        }
    }
    if (lane < used) {
        ids[lane] = kept_id;
        weights[lane] = kept * (renormalise ? scale / fmaxf(chosen_sum, 6.103515625e-5f) : scale);
    }
}

// A stored row times 32 values a group, both in shared memory; sums go on in `sum`.
template <class T>
STRATA_INLINE void score(const u8* stored, const float* x, int columns, float& sum) {
    int lane = threadIdx.x & 31, quarter = lane & 3, groups = (columns + 31) >> 5;
#pragma unroll 2
    for (int g = lane >> 2; g < groups; g += 8) {
        float v[8];
        Scale s = T::read(stored, g, quarter, columns, v);
        Vec4 low = *(const Vec4*)(x + 32 * g + T::first(quarter)), high = *(const Vec4*)(x + 32 * g + T::second(quarter));
        float a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sum += (s.scale * v[i] + s.offset) * a[i];
        }
    }
}

// grid (experts / 4, rows). `normed` gets the normed rows when there is a norm.
STRATA_KERNEL(128, decode_route, const u8* router, u64 row_bytes, int type, float router_scale, int slot, int x_at, const float* x,
              const float* norm, float epsilon, int columns, int experts, int used, int renormalise, float scale, int* arrivals,
              float* logits, float* normed, int* ids, float* weights) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[32];
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.y, expert = blockIdx.x * 4 + warp;
    float* values = (float*)(shared + x_at);  // normed but for the factor
    const u8* from = router + (u64)min(expert, experts - 1) * row_bytes;
    u8* tile = shared + warp * slot;
    bring_rows(tile, slot, from, row_bytes, 1, (int)row_bytes, 0, 1);
    copy_async_commit();
    int padded = (columns + 31) & ~31;
    for (int k = threadIdx.x; k < padded; k += 128) {
        values[k] = k >= columns ? 0.0f : norm == nullptr ? 1.0f : norm[k];
    }
    x += (long long)row * columns;
    logits += (long long)row * experts;
    ids += (long long)row * used;
    weights += (long long)row * used;
    int runs = twice();
#pragma unroll 1
    for (int run = 0; run < runs; run++) {
        bool real = run > 0;
        if (real) {
            wait_for_previous_kernel();
        }
        int width = real ? columns : min(columns, (int)REHEARSED_COLUMNS);
        float sum = 0.0f, squares = 0.0f;
#pragma unroll 4
        for (int k = threadIdx.x; k < width; k += 128) {
            float v = real ? read_fresh(x + k) : 1.0f;
            squares += v * v;
            values[k] *= v;
        }
        squares = block_sum(squares, partial);
        if (real) {
            copy_async_wait<0>();
        }
        __syncthreads();
        const u8* stored = brought(tile, slot, from, row_bytes, 0);
        switch (type) {
#define STRATA_SCORE(name, T) \
        case CODE_##name: score<T>(stored, values, width, sum); break;
            STRATA_EACH_TYPE(STRATA_SCORE)
        }
        sum = warp_sum(sum);
        float factor = norm == nullptr ? 1.0f : 1.0f / sqrtf(squares / columns + epsilon);
        if (real && lane == 0 && expert < experts) {
            logits[expert] = sum * factor * router_scale;
        }
        if (real && blockIdx.x == 0 && norm != nullptr) {
            for (int k = threadIdx.x; k < columns; k += 128) {
                normed[(long long)row * columns + k] = values[k] * factor;
            }
        }
        if (real && last_of(arrivals + row, gridDim.x) && warp == 0) {
            if (experts <= 128) {
                choose<4>(logits, experts, used, renormalise, scale, ids, weights);
            } else if (experts <= 256) {
                choose<8>(logits, experts, used, renormalise, scale, ids, weights);
            } else {
                choose<16>(logits, experts, used, renormalise, scale, ids, weights);
            }
        }
    }
}

// The two matrices of a gated product. In a blob `gate` and `up` are offsets and the factors lie `tail` bytes into it (0: none).
struct GateUp {
    u64 gate, up, tail, gate_bytes, up_bytes;
    float gate_scale, up_scale;
    int gate_type, up_type, gate_slot, up_slot, intermediate;
};

// grid (most intermediate / 16, pairs + rows of the shared expert). `factors` gets the shared expert's factor of every row.
STRATA_RESIDENT_KERNEL(256, 4, decode_gate_up, const u64* table, const int* ids, int pairs, int used, int first_expert, int experts,
              const __grid_constant__ GateUp routed, const __grid_constant__ GateUp common, const float* x, int columns,
              int sums_at, int tile_at, float* h, float* common_h, const float* scalar_gate, float* factors) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16];
    __shared__ float inverse;
    __shared__ float of_gate[8];
    release_next_kernel();
    bool shares = (int)blockIdx.y >= pairs;
    const GateUp& m = shares ? common : routed;
    int first = blockIdx.x * 16, own = min(16, m.intermediate - first);
    if (own <= 0) {
        return;
    }
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, quarter_of = warp & 3;
    int row = shares ? blockIdx.y - pairs : blockIdx.y / used;
    bool up = warp >= 4;
    float gate_scale = m.gate_scale, up_scale = m.up_scale;
    u64 row_bytes = up ? m.up_bytes : m.gate_bytes;
    int slot = up ? m.up_slot : m.gate_slot, runs = twice();
    u8* tile = shared + tile_at + (up ? 16 * m.gate_slot : 0);
    u16* activations = (u16*)shared;
    float* sums = sums_at == 0 ? nullptr : (float*)(shared + sums_at);
    x += (long long)row * columns;
    const u8* from = (const u8*)(up ? m.up : m.gate) + first * row_bytes;
    if (shares) {
        bring_rows(tile, slot, from, row_bytes, own, (int)row_bytes, quarter_of, 4);
        copy_async_commit();
    }
#pragma unroll 1
    for (int run = 0; run < runs; run++) {
        bool real = run > 0;
        if (real) {
            wait_for_previous_kernel();
        }
        if (real && !shares) {
            int expert = ids[blockIdx.y];
            if (expert < first_expert || expert >= first_expert + experts) {
                return;
            }
            u64 base = table[expert];
            if (base == 0) {
                return;
            }
            if (m.tail != 0) {
                gate_scale = ((const float*)(base + m.tail))[0];
                up_scale = ((const float*)(base + m.tail))[1];
            }
            from += base;
            bring_rows(tile, slot, from, row_bytes, own, (int)row_bytes, quarter_of, 4);
            copy_async_commit();
        }
        int width = real ? columns : min(columns, (int)REHEARSED_COLUMNS);
        bring_activations(x, nullptr, 0.0f, 1, 1, width, activations, 0, sums, &inverse, nullptr);
        if (real) {
            copy_async_wait<0>();
        }
        __syncthreads();
        float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        Columns c = columns_of(activations, 0, sums, 0, 1);
        multiply_stored(up ? m.up_type : m.gate_type, brought(tile, slot, from, row_bytes, lane >> 2),
                        brought(tile, slot, from, row_bytes, (lane >> 2) + 8), (width + 31) >> 5, width, c, 0, quarter_of, 4,
                        result);
        if ((lane & 3) == 0) {
            partial[warp][lane >> 2] = result[0];
            partial[warp][(lane >> 2) + 8] = result[2];
        }
        __syncthreads();
        if ((int)threadIdx.x < own) {
            int i = threadIdx.x;
            float gate = partial[0][i] + partial[1][i] + partial[2][i] + partial[3][i];
            float upper = partial[4][i] + partial[5][i] + partial[6][i] + partial[7][i];
            float value = silu(gate * inverse * gate_scale) * (upper * inverse * up_scale);
            if (!real) {
                continue;
            }
            if (shares) {
                common_h[(long long)row * m.intermediate + first + i] = value;
            } else {
                h[(long long)blockIdx.y * m.intermediate + first + i] = value;
            }
        }
        if (real && shares && blockIdx.x == 0) {
            float sum = 0.0f;
            for (int k = threadIdx.x; scalar_gate != nullptr && k < columns; k += 256) {
                sum += scalar_gate[k] * x[k];
            }
            sum = warp_sum(sum);
            if (lane == 0) {
                of_gate[warp] = sum;
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                sum = 0.0f;
                for (int w = 0; w < 8; w++) {
                    sum += of_gate[w];
                }
                factors[row] = scalar_gate == nullptr ? 1.0f : sigmoid(sum);
            }
        }
    }
}

// A matrix of a blob, or (offset: its address) of the shared expert.
struct Down {
    u64 offset, tail, row_bytes;
    float scale;
    int type, slot, columns;
};

// grid (outputs / 16, rows), a warp for every expert and one for the shared one (`shares`). warp_bytes: shared memory of a warp, its stored
// rows first, then from x_at on its activations and from sums_at on their sums (0: none).
STRATA_KERNEL(1024, decode_down, const u64* table, const int* ids, const float* weights, int used, int shares,
              const __grid_constant__ Down routed, const __grid_constant__ Down common, const float* h, const float* common_h,
              const float* factors, int outputs, int mode, const float* strengths, int streams, float* out,
              int warp_bytes, int x_at, int sums_at) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[32][16];
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.y;
    int first = blockIdx.x * 16, own = min(16, outputs - first);
    bool common_one = warp >= used;
    const Down& m = common_one ? common : routed;
    u8* tile = shared + warp * warp_bytes;
    u16* activations = (u16*)(tile + x_at);
    float* sums = sums_at == 0 ? nullptr : (float*)(tile + sums_at);
    const u8* from = (const u8*)m.offset;
    if (common_one) {
        from += first * m.row_bytes;
        bring_rows(tile, m.slot, from, m.row_bytes, own, (int)m.row_bytes, 0, 1);
        copy_async_commit();
    }
    float* target = out + (long long)row * outputs + first + threadIdx.x;
    int runs = twice();
#pragma unroll 1
    for (int run = 0; run < runs; run++) {
        bool real = run > 0;
        if (real) {
            wait_for_previous_kernel();
        }
        float before = real && mode == ADD && (int)threadIdx.x < own ? *target : 0.0f;  // on its way while the sum is made
        float factor = m.scale;
        const float* values = common_one ? common_h : h;
        bool there = true;
        if (!real) {
            factor = 1.0f;
        } else if (common_one) {
            factor *= factors[row];
            values = common_h + (long long)row * m.columns;
        } else {
            int pair = row * used + warp;
            u64 blob = table[ids[pair]];
            there = blob != 0;
            from = (const u8*)(blob + m.offset) + first * m.row_bytes;
            values = h + (long long)pair * m.columns;
            if (there) {
                bring_rows(tile, m.slot, from, m.row_bytes, own, (int)m.row_bytes, 0, 1);
                factor *= weights[pair] * (m.tail == 0 ? 1.0f : *(const float*)(blob + m.tail));
            }
            copy_async_commit();
        }
        float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (there) {
            float inverse;
            int width = real ? m.columns : min(m.columns, 128);
            bring_activations_of_warp(values, width, activations, sums, inverse);
            if (real) {
                copy_async_wait<0>();
            }
            warp_barrier();
            Columns c = columns_of(activations, 0, sums, 0, 1);
            multiply_stored(m.type, brought(tile, m.slot, from, m.row_bytes, lane >> 2),
                            brought(tile, m.slot, from, m.row_bytes, (lane >> 2) + 8), (width + 31) >> 5, width, c, 0, 0, 1,
                            result);
            factor *= inverse;
        }
        if ((lane & 3) == 0) {
            partial[warp][lane >> 2] = there ? factor * result[0] : 0.0f;
            partial[warp][(lane >> 2) + 8] = there ? factor * result[2] : 0.0f;
        }
        __syncthreads();
        if ((int)threadIdx.x < own) {
            float sum = 0.0f;
            for (int w = 0; w < used + shares; w++) {
                sum += partial[w][threadIdx.x];
            }
            if (!real) {
                continue;
            }
            if (mode == INJECT) {
                inject(out, sum, strengths, streams, row, outputs, first + threadIdx.x);
            } else {
                *target = before + sum;
            }
        }
    }
}
