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

STRATA_RESIDENT_KERNEL(256, 4, decode_products, const __grid_constant__ ProductsInputs given) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16][8];
    __shared__ float inverses[8];
    release_next_kernel();
    const Matrix& m = matrix_of(given.list, given.count, blockIdx.x);
    int columns = given.columns, stride = given.stride;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int first = ((int)blockIdx.x - m.first_block) * 16, own = min(16, m.outputs - first);
    u16* activations = (u16*)shared;
    float* sums = given.sums_at == 0 ? nullptr : (float*)(shared + given.sums_at);
    u8* tile = shared + given.tile_at;
    const u8* from = m.weights + first * m.row_bytes;
    bring_rows(tile, m.slot, from, m.row_bytes, own, (int)min(m.row_bytes, (u64)m.piece_bytes), warp, 8);
    copy_async_commit();
    int row0 = blockIdx.y * 8, here = min(8, given.rows - row0);
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
        bring_activations(given.x + (long long)row0 * columns, given.norm, given.epsilon, given.parts, here, width, activations, stride,
                          sums, inverses,
                          !real || given.norm_factors == nullptr || blockIdx.x > 0 ? nullptr : given.norm_factors + row0 * given.parts);
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
        put_partial(partial[warp], result);
        __syncthreads();
        if (makes) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < 8; w++) {
                sum += partial[w][output][row];
            }
            finish_product(m, target, before, sum * inverses[row] * m.scale, given.factors, given.streams, row0 + row,
                           first + output);
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
    put_partial(partial[warp], result);
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

// grid (experts / 4, rows)
STRATA_KERNEL(128, decode_route, const __grid_constant__ RouteInputs given) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[32];
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.y, expert = blockIdx.x * 4 + warp;
    int columns = given.columns, experts = given.experts, slot = given.slot;
    u64 row_bytes = given.row_bytes;
    const float* norm = given.norm;
    float* values = (float*)(shared + given.x_at);  // normed but for the factor
    const u8* from = given.router + (u64)min(expert, experts - 1) * row_bytes;
    u8* tile = shared + warp * slot;
    bring_rows(tile, slot, from, row_bytes, 1, (int)row_bytes, 0, 1);
    copy_async_commit();
    int padded = (columns + 31) & ~31;
    for (int k = threadIdx.x; k < padded; k += 128) {
        values[k] = k >= columns ? 0.0f : norm == nullptr ? 1.0f : norm[k];
    }
    const float* x = given.x + (long long)row * columns;
    float* logits = given.logits + (long long)row * experts;
    int* ids = given.ids + (long long)row * given.used;
    float* weights = given.weights + (long long)row * given.used;
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
        score_stored(given.type, stored, values, width, sum, 0, 1);
        sum = warp_sum(sum);
        float factor = norm == nullptr ? 1.0f : 1.0f / sqrtf(squares / columns + given.epsilon);
        if (real && lane == 0 && expert < experts) {
            logits[expert] = sum * factor * given.router_scale;
        }
        if (real && blockIdx.x == 0 && norm != nullptr) {
            for (int k = threadIdx.x; k < columns; k += 128) {
                given.normed[(long long)row * columns + k] = values[k] * factor;
            }
        }
        if (real && last_of(given.arrivals + row, gridDim.x) && warp == 0) {
            choose_any(logits, experts, given.used, given.renormalise, given.scale, ids, weights);
        }
    }
}

// grid (most intermediate / 16, pairs + rows of the shared expert).
STRATA_RESIDENT_KERNEL(256, 4, decode_gate_up, const __grid_constant__ GateUpInputs given) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16];
    __shared__ float inverse;
    __shared__ float of_gate[8];
    release_next_kernel();
    int pairs = given.pairs, columns = given.columns;
    const float* scalar_gate = given.scalar_gate;
    bool shares = (int)blockIdx.y >= pairs;
    const GateUp& m = shares ? given.common : given.routed;
    int first = blockIdx.x * 16, own = min(16, m.intermediate - first);
    if (own <= 0) {
        return;
    }
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, quarter_of = warp & 3;
    int row = shares ? blockIdx.y - pairs : blockIdx.y / given.used;
    bool up = warp >= 4;
    float gate_scale = m.gate_scale, up_scale = m.up_scale;
    u64 row_bytes = up ? m.up_bytes : m.gate_bytes;
    int slot = up ? m.up_slot : m.gate_slot, runs = twice();
    u8* tile = shared + given.tile_at + (up ? 16 * m.gate_slot : 0);
    u16* activations = (u16*)shared;
    float* sums = given.sums_at == 0 ? nullptr : (float*)(shared + given.sums_at);
    const float* x = given.x + (long long)row * columns;
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
            int expert = given.ids[blockIdx.y];
            if (expert < given.first_expert || expert >= given.first_expert + given.experts) {
                return;
            }
            u64 base = given.table[expert];
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
                given.common_h[(long long)row * m.intermediate + first + i] = value;
            } else {
                given.h[(long long)blockIdx.y * m.intermediate + first + i] = value;
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
                given.factors[row] = scalar_gate == nullptr ? 1.0f : sigmoid(sum);
            }
        }
    }
}

// grid (outputs / 16, rows), a warp for every expert and one for the shared one.
STRATA_KERNEL(1024, decode_down, const __grid_constant__ DownInputs given) {
    int used = given.used, outputs = given.outputs, mode = given.mode;
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[32][16];
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.y;
    int first = blockIdx.x * 16, own = min(16, outputs - first);
    bool common_one = warp >= used;
    const Down& m = common_one ? given.common : given.routed;
    u8* tile = shared + warp * given.warp_bytes;
    u16* activations = (u16*)(tile + given.x_at);
    float* sums = given.sums_at == 0 ? nullptr : (float*)(tile + given.sums_at);
    const u8* from = (const u8*)m.offset;
    if (common_one) {
        from += first * m.row_bytes;
        bring_rows(tile, m.slot, from, m.row_bytes, own, (int)m.row_bytes, 0, 1);
        copy_async_commit();
    }
    float* target = given.out + (long long)row * outputs + first + threadIdx.x;
    int runs = twice();
#pragma unroll 1
    for (int run = 0; run < runs; run++) {
        bool real = run > 0;
        if (real) {
            wait_for_previous_kernel();
        }
        float before = real && mode == ADD && (int)threadIdx.x < own ? *target : 0.0f;  // on its way while the sum is made
        float factor = m.scale;
        const float* values = common_one ? given.common_h : given.h;
        bool there = true;
        if (!real) {
            factor = 1.0f;
        } else if (common_one) {
            factor *= given.factors[row];
            values = given.common_h + (long long)row * m.columns;
        } else {
            int pair = row * used + warp;
            u64 blob = given.table[given.ids[pair]];
            there = blob != 0;
            from = (const u8*)(blob + m.offset) + first * m.row_bytes;
            values = given.h + (long long)pair * m.columns;
            if (there) {
                bring_rows(tile, m.slot, from, m.row_bytes, own, (int)m.row_bytes, 0, 1);
                factor *= given.weights[pair] * (m.tail == 0 ? 1.0f : *(const float*)(blob + m.tail));
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
            for (int w = 0; w < used + given.shares; w++) {
                sum += partial[w][threadIdx.x];
            }
            if (!real) {
                continue;
            }
            if (mode == INJECT) {
                inject(given.out, sum, given.strengths, given.streams, row, outputs, first + threadIdx.x);
            } else {
                *target = before + sum;
            }
        }
    }
}
