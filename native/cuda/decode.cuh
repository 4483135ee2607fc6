// What the kernels of decode.cu and row_*.cu share: their inputs, the ends of products, the choice of experts.
#pragma once

// First: it tells strata.cuh how to read.
#include "multiply.cuh"
#include "modes.cuh"

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
    int outputs, first_tile, type, mode;
    float scale;
    int piece_bytes, piece_columns, slot;
};
struct Matrices {
    Matrix of[6];
};

// Which of `count` matrices a tile of all their outputs belongs to.
template <class M>
STRATA_INLINE const M& matrix_of(const M* of, int count, int tile) {
    int which = 0;
#pragma unroll 1
    while (which + 1 < count && tile >= of[which + 1].first_tile) {
        which++;
    }
    return of[which];
}

// Products of several matrices with the same rows, normed on the way when there are weights for it.
struct ProductsInputs {
    Matrices list;
    int count;
    const float* x;
    const float* norm;
    float epsilon;
    int rows, columns, stride, sums_at, tile_at;
    const float* factors;
    int streams, unused;
};

// What becomes of one output. `before`: what was there, where something is added to it.
template <class M>
STRATA_INLINE void finish_product(const M& m, float* target, float before, float value, const float* factors, int streams,
                                  int row, int column) {
    if (m.mode == INJECT) {
        inject(m.out, value, factors, streams, row, m.outputs, column);
    } else if (m.mode == ADD) {
        *target = before + value;
    } else {
        finish(target, value, m.mode, factors, row);
    }
}

// A warp's 16 x 8 sums to shared memory.
STRATA_INLINE void put_partial(float (*partial)[8], const float* result) {
    int lane = threadIdx.x & 31;
    float* to = &partial[lane >> 2][2 * (lane & 3)];
    to[0] = result[0];
    to[1] = result[1];
    to[64] = result[2];
    to[65] = result[3];
}

// Two sums over a block of eight warps; every thread gets them.
STRATA_INLINE void sum_two(float& a, float& b, float (*partial)[2]) {
    a = warp_sum(a);
    b = warp_sum(b);
    if ((threadIdx.x & 31) == 0) {
        partial[threadIdx.x >> 5][0] = a;
        partial[threadIdx.x >> 5][1] = b;
    }
    __syncthreads();
    a = b = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        a += partial[i][0];
        b += partial[i][1];
    }
}

// What a choice of experts keeps in shared memory: the largest of every group of experts, the candidates, and the chosen ones in their order.
const int MOST_CHOICES = 512;
struct ChoiceRoom {
    u32 largest[32], chosen[32];
    u32 keys[MOST_CHOICES];
    int ids[MOST_CHOICES];
    int count;
};

// The best `used` (at most 32) of up to 512 logits by a block of 256 threads, the lower index first among equals: softmax over all, or over those that are chosen. The experts
// are taken in up to 32 groups: none below the used-th largest of the groups' largest is among the best, and few are not below it, which are ranked by comparing each with all.
// The code is kept short: it runs once, and then fetching it takes longer than doing it.
STRATA_INLINE void choose(const float* logits, int experts, int used, int renormalise, float scale, ChoiceRoom& room, int* ids, float* weights) {
    int t = threadIdx.x, lane = t & 31, span = experts > 128 ? 8 : experts > 64 ? 4 : experts > 32 ? 2 : 1;
    u32 key[2], mine = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        // Ordered as the logits are; zero is nobody's.
        int expert = t + 256 * i;
        u32 bits = bits_of(expert < experts ? read_fresh(logits + expert) + 0.0f : 0.0f);
        key[i] = expert >= experts ? 0 : bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
        mine = max(mine, key[i]);
    }
#pragma unroll 1
    for (int distance = 1; distance < span; distance <<= 1) {
        mine = max(mine, (u32)exchange_xor((int)mine, distance));
    }
    if (t < 32 * span && (t & (span - 1)) == 0) {
        room.largest[t / span] = mine;
    }
    if (t == 0) {
        room.count = 0;
    }
    __syncthreads();
    u32 own = room.largest[lane];
    int above = 0;
#pragma unroll 8
    for (int o = 0; o < 32; o++) {
        u32 other = room.largest[o];
        above += other > own || (other == own && o < lane) ? 1 : 0;
    }
    u32 least = max((u32)broadcast((int)own, lowest_bit(votes(above == used - 1))), 1u);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (key[i] >= least) {
            int place = atomicAdd(&room.count, 1);
            room.keys[place] = key[i];
            room.ids[place] = t + 256 * i;
        }
    }
    __syncthreads();
    if (t >= 32) {
        return;
    }
    int count = room.count;
#pragma unroll 1
    for (int c = lane; c < count; c += 32) {
        u32 key_of = room.keys[c];
        int id = room.ids[c], rank = 0;
#pragma unroll 4
        for (int o = 0; o < count; o++) {
            u32 other = room.keys[o];
            rank += other > key_of || (other == key_of && room.ids[o] < id) ? 1 : 0;
        }
        if (rank < used) {
            room.chosen[rank] = key_of;
            ids[rank] = id;
        }
    }
    warp_barrier();
    auto logit_of = [](u32 k) { return float_of(k >> 31 != 0 ? k & 0x7fffffffu : ~k); };
    float best = logit_of(room.chosen[0]);
    auto score_of = [&](float logit) { return power_of_two((logit - best) * 1.4426950408889634f); };
    float score = lane < used ? score_of(logit_of(room.chosen[lane])) : 0.0f, sum = score;
    if (!renormalise) {
        sum = 0.0f;
#pragma unroll 1
        for (int i = lane; i < experts; i += 32) {
            sum += score_of(read_fresh(logits + i));
        }
    }
    sum = warp_sum(sum);
    if (lane < used) {
        weights[lane] = score * (scale / sum);
    }
}

// Eight weights of a stored row, those of quarter `item` & 3 of group `item` >> 2: the four from column first on, the four from column second on.
struct Eight {
    float of[8];
    int first, second;
};
template <class T>
STRATA_INLINE void read_eight(const u8* row, int item, int columns, Eight& w) {
    int group = item >> 2, quarter = item & 3;
    float v[8];
    Scale s = T::read(row, group, quarter, columns, v);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        w.of[i] = s.scale * v[i] + s.offset;
    }
    w.first = 32 * group + T::first(quarter);
    w.second = 32 * group + T::second(quarter);
}
// The same by the row's type. Warp-uniform.
STRATA_INLINE void read_eight_of(int type, const u8* row, int item, int columns, Eight& w) {
    switch (type) {
#define STRATA_EIGHT(name, T) \
    case CODE_##name: read_eight<T>(row, item, columns, w); break;
        EACH_STORED_TYPE(STRATA_EIGHT)
    }
}

// `normed` gets the normed rows when there is a norm.
struct RouteInputs {
    const u8* router;
    u64 row_bytes;
    int type;
    float router_scale;
    const float* x;
    const float* norm;
    float epsilon;
    int columns, experts, used, renormalise;
    float scale;
    int* arrivals;
    float* logits;
    float* normed;
    int* ids;
    float* weights;
};

// The two matrices of a gated product. In a blob `gate` and `up` are offsets and the factors lie `tail` bytes into it (0: none).
struct GateUp {
    u64 gate, up, tail, gate_bytes, up_bytes;
    float gate_scale, up_scale;
    int gate_type, up_type, gate_slot, up_slot, intermediate;
};

// `factors` gets the shared expert's factor of every row.
struct GateUpInputs {
    const u64* table;
    const int* ids;
    int pairs, used, first_expert, experts;
    GateUp routed, common;
    const float* x;
    int columns, sums_at, tile_at;
    float* h;
    float* common_h;
    const float* scalar_gate;
    float* factors;
};

// Experts whose entries of the table a block of gate and up products keeps.
const int TABLE_KEPT = 512;

// How strongly the shared expert counts for a row, by a block of 256 threads.
STRATA_INLINE void shared_factor(const GateUpInputs& given, const float* x, int row, float* of_gate) {
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = t; given.scalar_gate != nullptr && k < given.columns; k += 256) {
        sum += given.scalar_gate[k] * read_fresh(x + k);
    }
    sum = warp_sum(sum);
    if ((t & 31) == 0) {
        of_gate[t >> 5] = sum;
    }
    __syncthreads();
    if (t == 0) {
        sum = 0.0f;
        for (int w = 0; w < 8; w++) {
            sum += of_gate[w];
        }
        given.factors[row] = given.scalar_gate == nullptr ? 1.0f : sigmoid(sum);
    }
}

// A matrix of a blob, or (offset: its address) of the shared expert.
struct Down {
    u64 offset, tail, row_bytes;
    float scale;
    int type, slot, columns;
};

// `shares`: whether there is a shared expert. each: warps of an expert. early: ids and weights were made before the kernel that makes the values began.
// expert_bytes: shared memory of a routed expert, its stored rows first, then from x_at on its activations and from sums_at on their sums (0: none); the shared
// expert's lies behind them and has its own offsets.
struct DownInputs {
    const u64* table;
    const int* ids;
    const float* weights;
    int used, shares, each, early;
    Down routed, common;
    const float* h;
    const float* common_h;
    const float* factors;
    int outputs, mode;
    const float* strengths;
    int streams, expert_bytes, x_at, sums_at, common_x_at, common_sums_at;
    float* out;
};
