// Decode: the products of up to eight rows, each kernel doing all that its input allows. See activations.cuh for tiles.
//
// decode_products: several matrices with the same rows, normed on the way when asked. A block makes 16 outputs; its eight warps share the
//   columns. Stored rows are on their way before the kernel waits for the one that makes its activations.
// decode_route: norm, router product (float32), softmax and choice. A block an expert; the one that comes last for a row chooses.
// decode_gate_up: silu(gate x) * (up x) for every (row, expert) pair and for the shared expert. A block makes 16 values of a pair.
// decode_down: the weighted sum of the down products over a row's experts and the shared one, in that order. A block makes 16
//   outputs, one or two warps take an expert.
// Bytes moved: every stored row once for eight activation rows; an expert's once for each pair, through the L2 cache.
//
// What does not depend on the kernel before is read before the wait: stored rows, weights of norms, the table of blobs. Activations that another kernel
// makes are read past the first cache.
#include "decode.cuh"

STRATA_RESIDENT_KERNEL(256, 4, decode_products, const __grid_constant__ ProductsInputs given) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16][8];
    __shared__ float inverses[8];
    const Matrix& m = matrix_of(given.list.of, given.count, blockIdx.x);
    int columns = given.columns, stride = given.stride, groups = (columns + 31) >> 5;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int first = ((int)blockIdx.x - m.first_tile) * 16, own = min(16, m.outputs - first);
    u16* activations = (u16*)shared;
    float* sums = given.sums_at == 0 ? nullptr : (float*)(shared + given.sums_at);
    u8* tile = shared + given.tile_at;
    const u8* from = m.weights + first * m.row_bytes;
    bring_rows(tile, m.slot, from, m.row_bytes, own, (int)min(m.row_bytes, (u64)m.piece_bytes), warp, 8);
    copy_async_commit();
    int row0 = blockIdx.y * 8, here = min(8, given.rows - row0);
    int output = threadIdx.x >> 3, row = threadIdx.x & 7;
    float* target = m.out + (long long)(row0 + row) * m.outputs + first + output;
    bool makes = output < own && row < here, integers = exact(m.type), kept = keeps<8>(given.rows, columns);
    Vec4 norm[KEPT];
    if (kept) {
        keep_norm<8>(given.norm, columns, norm);
    }
    wait_for_previous_kernel();
    release_next_kernel();
    float before = makes && m.mode == ADD ? read_fresh(target) : 0.0f;  // on its way while the product is made
    if (kept) {
        bring_kept<8>(given.x, norm, given.norm != nullptr, given.epsilon, columns, integers, activations, sums, inverses, nullptr);
    } else {
        bring_activations(given.x + (long long)row0 * columns, given.norm, given.epsilon, here, columns, integers, activations,
                          stride, sums, inverses);
    }
    copy_async_wait<0>();
    __syncthreads();
    float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    Columns c = columns_of(activations, stride, sums, groups, here);
    for (int begin = 0; begin < columns; begin += m.piece_columns) {
        if (begin > 0) {
            from += m.piece_bytes;
            __syncthreads();
            bring_rows(tile, m.slot, from, m.row_bytes, own,
                       (int)min((u64)m.piece_bytes, m.row_bytes - (u64)(begin / m.piece_columns) * m.piece_bytes), warp, 8);
            copy_async_commit();
            copy_async_wait<0>();
            __syncthreads();
        }
        int length = min(m.piece_columns, columns - begin);
        const u8 *low = brought(tile, m.slot, from, m.row_bytes, lane >> 2),
                 *high = brought(tile, m.slot, from, m.row_bytes, (lane >> 2) + 8);
        if (here == 1) {
            multiply_stored<true>(m.type, low, high, (length + 31) >> 5, length, c, begin >> 5, warp, 8, result);
        } else {
            multiply_stored<false>(m.type, low, high, (length + 31) >> 5, length, c, begin >> 5, warp, 8, result);
        }
    }
    put_partial(partial[warp], result);
    __syncthreads();
    if (makes) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < 8; w++) {
            sum += partial[w][output][row];
        }
        finish_product(m, target, before, sum * inverses[row] * m.scale, given.factors, given.streams, row0 + row, first + output);
    }
}

// grid (experts, rows). A thread takes eight weights at a time; so many times over they are read before the wait.
const int READ_EARLY = 2;
STRATA_KERNEL(256, decode_route, const __grid_constant__ RouteInputs given) {
    __shared__ float partial[8][2];
    __shared__ ChoiceRoom choice;
    int t = threadIdx.x, row = blockIdx.y, expert = blockIdx.x;
    int columns = given.columns, items = 4 * ((columns + 31) >> 5);
    const float* norm = given.norm;
    const u8* stored = given.router + (u64)expert * given.row_bytes;
    Eight w[READ_EARLY];
    float norms[READ_EARLY][8];
    auto read = [&](int item, Eight& weights, float* factors) {
        read_eight_of(given.type, stored, min(item, items - 1), columns, weights);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            factors[i] = 1.0f;
        }
        if (norm != nullptr) {
            four_of(norm, weights.first, columns, factors);
            four_of(norm, weights.second, columns, factors + 4);
        }
    };
#pragma unroll
    for (int j = 0; j < READ_EARLY; j++) {
        read(t + 256 * j, w[j], norms[j]);
    }
    wait_for_previous_kernel();
    release_next_kernel();
    const float* x = given.x + (long long)row * columns;
    float* normed = blockIdx.x > 0 || norm == nullptr ? nullptr : given.normed + (long long)row * columns;
    float sum = 0.0f, squares = 0.0f, v[READ_EARLY][8];
    auto take = [&](int item, const Eight& weights, const float* factors, float* values) {
        if (item < items) {
            four_fresh(x, weights.first, columns, values);
            four_fresh(x, weights.second, columns, values + 4);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                squares += values[i] * values[i];
                values[i] *= factors[i];
                sum += values[i] * weights.of[i];
            }
        }
    };
#pragma unroll
    for (int j = 0; j < READ_EARLY; j++) {
        take(t + 256 * j, w[j], norms[j], v[j]);
    }
    for (int item = t + 256 * READ_EARLY; item < items; item += 256) {
        Eight weights;
        float factors[8], values[8];
        read(item, weights, factors);
        take(item, weights, factors, values);
    }
    sum_two(sum, squares, partial);
    float factor = norm == nullptr ? 1.0f : inverse_root(squares / columns + given.epsilon);
    float* logits = given.logits + (long long)row * given.experts;
    if (t == 0) {
        logits[expert] = sum * factor * given.router_scale;
    }
    if (normed != nullptr) {
        auto put = [&](int item, const Eight& weights, const float* values) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int k = (i < 4 ? weights.first : weights.second) + (i & 3);
                if (item < items && k < columns) {
                    normed[k] = values[i] * factor;
                }
            }
        };
#pragma unroll
        for (int j = 0; j < READ_EARLY; j++) {
            put(t + 256 * j, w[j], v[j]);
        }
        for (int item = t + 256 * READ_EARLY; item < items; item += 256) {
            Eight weights;
            float factors[8], values[8];
            read(item, weights, factors);
            take(item, weights, factors, values);
            put(item, weights, values);
        }
    }
    if (last_of(given.arrivals + row, gridDim.x)) {
        choose(logits, given.experts, given.used, given.renormalise, given.scale, choice, given.ids + (long long)row * given.used,
               given.weights + (long long)row * given.used);
    }
}

// grid (most intermediate / 16, pairs + rows of the shared expert). What the next kernel reads early was made by the kernel before this one: the next one
// is let in behind the wait.
STRATA_RESIDENT_KERNEL(256, 4, decode_gate_up, const __grid_constant__ GateUpInputs given) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[8][16];
    __shared__ float inverse;
    __shared__ float of_gate[8];
    __shared__ u64 blobs[TABLE_KEPT];
    int pairs = given.pairs, columns = given.columns;
    bool shares = (int)blockIdx.y >= pairs;
    const GateUp& m = shares ? given.common : given.routed;
    int first = blockIdx.x * 16, own = min(16, m.intermediate - first);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, quarter_of = warp & 3;
    int row = shares ? blockIdx.y - pairs : blockIdx.y / given.used;
    bool up = warp >= 4, integers = exact(m.gate_type), tabled = given.first_expert + given.experts <= TABLE_KEPT;
    float gate_scale = m.gate_scale, up_scale = m.up_scale;
    u64 row_bytes = up ? m.up_bytes : m.gate_bytes;
    int slot = up ? m.up_slot : m.gate_slot;
    u8* tile = shared + given.tile_at + (up ? 16 * m.gate_slot : 0);
    u16* activations = (u16*)shared;
    float* sums = given.sums_at == 0 ? nullptr : (float*)(shared + given.sums_at);
    const float* x = given.x + (long long)row * columns;
    const u8* from = (const u8*)(up ? m.up : m.gate) + first * row_bytes;
    if (shares && own > 0) {
        bring_rows(tile, slot, from, row_bytes, own, (int)row_bytes, quarter_of, 4);
        copy_async_commit();
    }
    if (!shares && tabled) {
        for (int i = threadIdx.x; i < given.experts; i += 256) {
            blobs[given.first_expert + i] = given.table[given.first_expert + i];
        }
    }
    __syncthreads();
    wait_for_previous_kernel();
    release_next_kernel();
    if (own <= 0) {
        return;
    }
    if (!shares) {
        int expert = read_fresh(given.ids + blockIdx.y);
        if (expert < given.first_expert || expert >= given.first_expert + given.experts) {
            return;
        }
        u64 base = tabled ? blobs[expert] : given.table[expert];
        if (base == 0) {
            return;
        }
        from += base;
        bring_rows(tile, slot, from, row_bytes, own, (int)row_bytes, quarter_of, 4);
        copy_async_commit();
        if (m.tail != 0) {
            gate_scale = ((const float*)(base + m.tail))[0];
            up_scale = ((const float*)(base + m.tail))[1];
        }
    }
    Vec4 ones[KEPT];
    if (keeps<8>(1, columns)) {
        keep_norm<8>(nullptr, columns, ones);
        bring_kept<8>(x, ones, false, 0.0f, columns, integers, activations, sums, &inverse, nullptr);
    } else {
        bring_activations(x, nullptr, 0.0f, 1, columns, integers, activations, 0, sums, &inverse);
    }
    copy_async_wait<0>();
    __syncthreads();
    float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    Columns c = columns_of(activations, 0, sums, 0, 1);
    multiply_stored<true>(up ? m.up_type : m.gate_type, brought(tile, slot, from, row_bytes, lane >> 2),
                          brought(tile, slot, from, row_bytes, (lane >> 2) + 8), (columns + 31) >> 5, columns, c, 0, quarter_of, 4,
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
        if (shares) {
            given.common_h[(long long)row * m.intermediate + first + i] = value;
        } else {
            given.h[(long long)blockIdx.y * m.intermediate + first + i] = value;
        }
    }
    if (shares && blockIdx.x == 0) {
        shared_factor(given, x, row, of_gate);
    }
}

// grid (outputs / 16, rows), `each` warps for every expert and as many for the shared one.
STRATA_KERNEL(1024, decode_down, const __grid_constant__ DownInputs given) {
    int used = given.used, outputs = given.outputs, mode = given.mode, each = given.each, experts = used + given.shares;
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float partial[32][16];
    __shared__ float most_of[32];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.y, which = warp / each, part = warp - which * each;
    int first = blockIdx.x * 16, own = min(16, outputs - first);
    bool common_one = which >= used;
    const Down& m = common_one ? given.common : given.routed;
    u8* tile = shared + which * given.expert_bytes;
    int x_at = common_one ? given.common_x_at : given.x_at, sums_at = common_one ? given.common_sums_at : given.sums_at;
    u16* activations = (u16*)(tile + x_at);
    float* sums = sums_at == 0 ? nullptr : (float*)(tile + sums_at);
    const u8* from = (const u8*)m.offset + first * m.row_bytes;
    int pair = row * used + which;
    float* target = given.out + (long long)row * outputs + first + threadIdx.x;
    float factor = m.scale;
    u64 blob = 0;
    if (!common_one && !given.early) {
        wait_for_previous_kernel();
    }
    if (!common_one) {
        blob = given.table[read_fresh(given.ids + pair)];
        from += blob;
    }
    bool there = common_one || blob != 0;
    if (there) {
        bring_rows(tile, m.slot, from, m.row_bytes, own, (int)m.row_bytes, part, each);
    }
    copy_async_commit();
    if (!common_one && there) {
        factor *= read_fresh(given.weights + pair) * (m.tail == 0 ? 1.0f : *(const float*)(blob + m.tail));
    }
    wait_for_previous_kernel();
    release_next_kernel();
    float before = mode == ADD && (int)threadIdx.x < own ? read_fresh(target) : 0.0f;  // on its way while the sum is made
    const float* values = common_one ? given.common_h + (long long)row * m.columns : given.h + (long long)pair * m.columns;
    if (common_one) {
        factor *= read_fresh(given.factors + row);
    }
    float inverse;
    bring_activations_of_warps(there, values, m.columns, exact(m.type), activations, sums, part, each, most_of + which * each, inverse);
    factor *= inverse;
    copy_async_wait<0>();
    __syncthreads();
    float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (there) {
        multiply_stored<true>(m.type, brought(tile, m.slot, from, m.row_bytes, lane >> 2),
                              brought(tile, m.slot, from, m.row_bytes, (lane >> 2) + 8), (m.columns + 31) >> 5, m.columns,
                              columns_of(activations, 0, sums, 0, 1), 0, part, each, result);
    }
    if ((lane & 3) == 0) {
        partial[warp][lane >> 2] = there ? factor * result[0] : 0.0f;
        partial[warp][(lane >> 2) + 8] = there ? factor * result[2] : 0.0f;
    }
    __syncthreads();
    if ((int)threadIdx.x < own) {
        float sum = 0.0f;
        for (int w = 0; w < experts * each; w++) {
            sum += partial[w][threadIdx.x];
        }
        if (mode == INJECT) {
            inject(given.out, sum, given.strengths, given.streams, row, outputs, first + threadIdx.x);
        } else {
            *target = before + sum;
        }
    }
}
