// Attention of one row a sequence over float16 keys and values, with all that goes before it: head norms, RoPE, appending. The code is short: a step goes through it once.
//
// grid (spans, bunches of up to 16 heads, rows), eight warps. Spans are taken 64 positions at a time: a warp makes the scores of eight of them (mma.sync) and an eighth
// of the columns of the weighted sum of values; the softmax lies between, in shared memory, sixteen threads a head. The first keys and values are on their way before
// the kernel waits for the one that projects. Spans are summed by the block that comes last.
// Bytes moved: keys and values once, a span's sums out and in.
#include "attention_rows.cuh"
#include "integers.cuh"

const int ROW_POSITIONS = 64, MOST_LIVE = 64;  // the host makes fewer spans

template <int D>
struct RowShared {
    u8 queries[16 * 2 * D], keys[ROW_POSITIONS * 2 * D], values[ROW_POSITIONS * 2 * D];
    u8 weights[16 * 2 * ROW_POSITIONS];
    // Scores; in the end, factors of spans.
    float scores[16][ROW_POSITIONS + 8];
    float heads[18][D];
    u16 news[2][D];
    float turns[D];
    float factors[16];
};

// What a head becomes: normed, turned, by one warp. `v` lies in shared memory and is only this warp's.
template <int D>
STRATA_INLINE void turn_row_head(float* v, const float* norm, float epsilon, const float* sines, int half) {
    int lane = threadIdx.x & 31;
    float squares = 0.0f, turned[D / 32];
#pragma unroll
    for (int j = 0; j < D / 32; j++) {
        squares += v[lane + 32 * j] * v[lane + 32 * j];
    }
    float factor = norm == nullptr ? 1.0f : inverse_root(warp_sum(squares) / D + epsilon);
    auto normed = [&](int d) { return norm == nullptr ? v[d] : v[d] * (factor * norm[d]); };
#pragma unroll
    for (int j = 0; j < D / 32; j++) {
        int d = lane + 32 * j;
        turned[j] = normed(d);
        if (d < 2 * half) {
            int pair = d < half ? d : d - half;
            float sine = sines[pair], cosine = sines[half + pair];
            turned[j] = d < half ? turned[j] * cosine - normed(d + half) * sine : turned[j] * cosine + normed(d - half) * sine;
        }
    }
    warp_barrier();
#pragma unroll
    for (int j = 0; j < D / 32; j++) {
        v[lane + 32 * j] = turned[j];
    }
    warp_barrier();
}

template <int D>
STRATA_INLINE void attend_row(RowShared<D>& room, const AttendInputs& given) {
    const Inputs& inputs = given.inputs;
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, row = blockIdx.z, split = blockIdx.x, splits = gridDim.x, bunch = blockIdx.y;
    int group = given.heads / given.kv_heads, bunches = (group + 15) / 16, kv_head = bunch / bunches;
    int first_head = kv_head * group + bunch % bunches * 16, own = min(16, (kv_head + 1) * group - first_head);
    int position = given.positions[row], half = inputs.width / 2;
    Visible seen = visible(given.counts, given.blocks, given.budget, given.block, row, position);
    int begin = split * given.span, end = min(seen.length, begin + given.span), live = (seen.length + given.span - 1) / given.span;
    if (begin >= end) {
        return;
    }
    // The row's own entry is the last that it sees.
    int newest = end == seen.length ? end - 1 : -1, news = newest >= 0 ? 1 : 0;
    Pages table = {given.pages, given.kv_heads, D};
    int base = given.page_bases[row];
    auto fetch = [&](u8* to, const void* data, int start) {
        int r = t >> 2, at = start + r;
        if (start < end && at != newest) {
            const u16* from = (const u16*)data + (at < end ? table.vector_of(base, seen.position(at), kv_head) * D : 0);
#pragma unroll 1
            for (int i = t & 3; i < D / 8; i += 4) {
                copy_async_16_or_zero(to + tile_offset<D>(r, i), from + 8 * i, at < end);
            }
        }
        copy_async_commit();
    };
    fetch(room.keys, given.k_data, begin);
    fetch(room.values, given.v_data, begin);
    if (t < half) {
        turn_of(position, inputs.frequencies[t], inputs.magnitude, room.turns[t], room.turns[half + t]);
    }
#pragma unroll 1
    for (int i = own * (D / 8) + t; i < 16 * (D / 8); i += 256) {
        *(Word4*)(room.queries + tile_offset<D>(i / (D / 8), i % (D / 8))) = Word4{0, 0, 0, 0};
    }
    wait_for_previous_kernel();
    release_next_kernel();
    long long heads_before = (long long)row * given.heads + first_head;
    auto gate_of = [&](long long head) { return inputs.gated ? given.projected + (2 * head + 1) * D : nullptr; };
#pragma unroll 1
    for (int i = 4 * t; i < (own + 2 * news) * D; i += 1024) {
        int item = i / D, d = i % D;
        long long kv = ((long long)row * given.kv_heads + kv_head) * D + d;
        read_fresh_four(item < own ? given.projected + (heads_before + item) * D * (inputs.gated ? 2 : 1) + d : (item == own ? inputs.keys : inputs.values) + kv,
                        room.heads[0] + i);
    }
    __syncthreads();
#pragma unroll 1
    for (int item = warp; item < own + 2 * news; item += 8) {
        float* v = room.heads[item];
        if (item <= own) {
            turn_row_head<D>(v, item < own ? inputs.query_norm : inputs.key_norm, inputs.epsilon, room.turns, half);
        }
        float factor = item < own ? given.scale * 1.4426950408889634f : 1.0f;
#pragma unroll 1
        for (int d = 2 * lane; d < D; d += 64) {
            u32 pair = half2_in_range(v[d] * factor, v[d + 1] * factor);
            if (item < own) {
                *(u32*)(room.queries + tile_offset<D>(item, d >> 3) + 2 * (d & 7)) = pair;
            } else {
                *(u32*)(room.news[item - own] + d) = pair;
                *(u32*)((u16*)(item == own ? given.k_data : given.v_data) + table.vector_of(base, position, kv_head) * D + d) = pair;
            }
        }
    }
    auto take_newest = [&](u8* tile, int which, int start) {
        if (newest >= start && newest < start + ROW_POSITIONS && t < D / 8) {
            *(Word4*)(tile + tile_offset<D>(newest - start, t)) = *(const Word4*)(room.news[which] + 8 * t);
        }
    };
    const int TILES = D / 64;
    float out[TILES][4], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < TILES; i++) {
        out[i][0] = out[i][1] = out[i][2] = out[i][3] = 0.0f;
    }
    __syncthreads();
#pragma unroll 1
    for (int at = begin; at < end; at += ROW_POSITIONS) {
        copy_async_wait<1>();
        take_newest(room.keys, 0, at);
        __syncthreads();
        float scores[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 2
        for (int k = 0; k < D / 8; k += 4) {
            u32 left[2][4], right[4];
            load_matrices(right, room.keys + tile_offset<D>(8 * warp + (lane & 7), k + (lane >> 3)));
            load_matrices(left[0], room.queries + tile_offset<D>(lane & 15, k + (lane >> 4)));
            load_matrices(left[1], room.queries + tile_offset<D>(lane & 15, k + 2 + (lane >> 4)));
            multiply_f16(scores, left[0], right[0], right[1]);
            multiply_f16(scores, left[1], right[2], right[3]);
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int column = 8 * warp + 2 * (lane & 3) + (e & 1);
            room.scores[(lane >> 2) + 8 * (e >> 1)][column] = at + column < end ? scores[e] : -INFINITY;
        }
        __syncthreads();
        fetch(room.keys, given.k_data, at + ROW_POSITIONS);
        // Four scores of head t / 16.
        int head = t >> 4, column = 4 * (t & 15);
        Vec4 four = *(const Vec4*)(room.scores[head] + column);
        float most = fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
#pragma unroll
        for (int distance = 8; distance > 0; distance >>= 1) {
            most = fmaxf(most, exchange_xor(most, distance));
        }
        most = fmaxf(most, top);
        float shrink = power_of_two(top - most);
        top = most;
        four = Vec4{power_of_two(four.x - top), power_of_two(four.y - top), power_of_two(four.z - top), power_of_two(four.w - top)};
        float part = four.x + four.y + four.z + four.w;
#pragma unroll
        for (int distance = 8; distance > 0; distance >>= 1) {
            part += exchange_xor(part, distance);
        }
        sum = sum * shrink + part;
        *(Word2*)(room.weights + tile_offset<ROW_POSITIONS>(head, column >> 3) + 2 * (column & 7)) = Word2{half2_of(four.x, four.y), half2_of(four.z, four.w)};
        if (column == 0) {
            room.factors[head] = shrink;
        }
        copy_async_wait<1>();
        take_newest(room.values, 1, at);
        __syncthreads();
        float low = room.factors[lane >> 2], high = room.factors[(lane >> 2) + 8];
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            out[i][0] *= low;
            out[i][1] *= low;
            out[i][2] *= high;
            out[i][3] *= high;
        }
#pragma unroll 2
        for (int k = 0; k < ROW_POSITIONS / 16; k++) {
            u32 left[4], right[4];
            load_matrices(left, room.weights + tile_offset<ROW_POSITIONS>(lane & 15, 2 * k + (lane >> 4)));
#pragma unroll
            for (int i = 0; i < TILES; i += 2) {
                load_matrices_transposed(right, room.values + tile_offset<D>(16 * k + (lane & 15), warp * TILES + i + (lane >> 4)));
                multiply_f16(out[i], left, right[0], right[1]);
                multiply_f16(out[i + 1], left, right[2], right[3]);
            }
        }
        __syncthreads();
        fetch(room.values, given.v_data, at + ROW_POSITIONS);
    }
    copy_async_wait<0>();
    // The span's sums, [heads][splits][D], and the largest score and the sum of weights of each.
#pragma unroll
    for (int e = 0; e < 2; e++) {
        int r = (lane >> 2) + 8 * e;
        float* to = given.parts + ((heads_before + r) * splits + split) * D + 8 * warp * TILES + 2 * (lane & 3);
#pragma unroll
        for (int i = 0; i < TILES && r < own; i++) {
            to[8 * i] = out[i][2 * e];
            to[8 * i + 1] = out[i][2 * e + 1];
        }
    }
    int of = t >> 4;
    float* sums = given.part_sums + 2 * (heads_before + of) * splits;
    if ((t & 15) == 0 && of < own) {
        sums[2 * split] = top;
        sums[2 * split + 1] = sum;
    }
    __syncthreads();
    if (!last_of(inputs.arrivals + (long long)row * gridDim.y + bunch, live)) {
        return;
    }
    fold_spans<D, 256, MOST_LIVE>(given.parts, given.part_sums, splits, live, heads_before, own, [&](long long head, int d, float* value, float factor) {
        float gate[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (inputs.gated) {
            read_fresh_four(gate_of(head) + d, gate);
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            value[e] *= factor * (inputs.gated ? sigmoid(gate[e]) : 1.0f);
            given.out[head * D + d + e] = value[e];
        }
        if (given.integers != nullptr) {
            put_integers(integer_row(given.integers, given.heads * D), (int)head * D + d, value);
        }
    });
}

#define STRATA_ATTENTION_ROW(D)                                                                      \
    STRATA_RESIDENT_KERNEL(256, 2, attention_row_##D, const __grid_constant__ AttendInputs given) {  \
        STRATA_DYNAMIC_SHARED(shared);                                                               \
        attend_row<D>(*(RowShared<D>*)shared, given);                                                \
    }
STRATA_ATTENTION_ROW(256)
