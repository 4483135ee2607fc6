// Decode of few rows: the kernels of decode.cu for the shapes that models have, one for every type.
//
// What a step of few rows waits for is instructions: a kernel is gone through once, and code that is not in the caches of instructions runs at the pace of
// fetching it (docs/kernels.md). So these kernels have no choice of types, few branches and loops that are not unrolled far. Tiles, activations and the order
// of work are those of decode.cu.
//
// row_products: up to four matrices with one row of at most 4096 values (wide: 8192), normed on the way when asked. A block of eight (16) warps makes 16
//   outputs at a time, with the next 16 rows on their way.
// row_products_some: the same with up to eight rows, [rows][stride] in shared memory.
// row_route: norm, router product (float32) and choice. A block an expert; the one that comes last chooses.
// row_gate_up: silu(gate x) * (up x) for every expert that is chosen and for the shared one. A block makes 16 values.
// row_down: the weighted sum of the down products and of the shared expert's, in that order. A block makes 16 outputs, two warps take an expert.
#include "decode.cuh"

// Starts the copies of `count` stored rows of 16; `per_row` threads a row, of which this thread has number `at` of row `r`.
STRATA_INLINE void bring_tile(u8* to, int slot, const u8* from, u32 row_bytes, int count, int r, int at, int per_row) {
    if (r < count) {
        const u8* row = from + (u64)r * row_bytes;
        int skew = (int)((u64)row & 15), end = (int)row_bytes + skew;
        row -= skew;
        u8* target = to + r * slot;
#pragma unroll 1
        for (int i = 16 * at; i < end; i += 16 * per_row) {
            copy_async_some(target + i, row + i, min(16, end - i));
        }
    }
}

struct RowMatrix {
    const u8* weights;
    float* out;
    u32 row_bytes;
    int outputs, first_tile, mode;
    float scale;
    int unused;
};
// tile_at: where the two slots of stored rows lie in shared memory, sums_at: sums of the activations' groups (0: none).
struct RowProducts {
    RowMatrix of[4];
    int count, tiles;
    const float* x;
    const float* norm;
    float epsilon;
    int columns, slot, sums_at, tile_at;
    const float* factors;
    int streams, rows, stride, unused;
};

// Starts the copies of a tile's rows; `per_row` threads a row.
STRATA_INLINE void start_tile(const RowProducts& given, int tile, u8* to, int per_row) {
    if (tile < given.tiles) {
        const RowMatrix& m = matrix_of(given.of, given.count, tile);
        int first = (tile - m.first_tile) * 16;
        bring_tile(to, given.slot, m.weights + (u64)first * m.row_bytes, m.row_bytes, m.outputs - first, threadIdx.x / per_row,
                   threadIdx.x % per_row, per_row);
    }
    copy_async_commit();
}

template <class T, int WARPS>
STRATA_INLINE void products(const RowProducts& given, float (*partial)[16], float& inverse) {
    STRATA_DYNAMIC_SHARED(shared);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, columns = given.columns, slot = given.slot;
    u16* activations = (u16*)shared;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* stored = shared + given.tile_at;
    const int PER_ROW = 2 * WARPS;
    start_tile(given, blockIdx.x, stored, PER_ROW);
    Vec4 norm[KEPT];
    keep_norm<WARPS>(given.norm, columns, norm);
    wait_for_previous_kernel();
    release_next_kernel();
    bring_kept<WARPS>(given.x, norm, given.norm != nullptr, given.epsilon, columns, Exact<T>::value, activations, sums, &inverse, nullptr);
    int place = 0;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < given.tiles; tile += gridDim.x, place ^= 1) {
        const RowMatrix& m = matrix_of(given.of, given.count, tile);
        int first = (tile - m.first_tile) * 16;
        const u8* from = m.weights + (u64)first * m.row_bytes;
        start_tile(given, tile + gridDim.x, stored + (place ^ 1) * 16 * slot, PER_ROW);
        float* target = m.out + first + threadIdx.x;
        bool makes = threadIdx.x < 16 && (int)threadIdx.x < m.outputs - first;
        float before = makes && m.mode == ADD ? read_fresh(target) : 0.0f;
        copy_async_wait<1>();
        __syncthreads();
        float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const u8* tile_of = stored + place * 16 * slot;
        multiply_groups<T, true>(brought(tile_of, slot, from, m.row_bytes, lane >> 2),
                                 brought(tile_of, slot, from, m.row_bytes, (lane >> 2) + 8), (columns + 31) >> 5, columns,
                                 columns_of(activations, 0, sums, 0, 1), 0, warp, WARPS, result);
        if ((lane & 3) == 0) {
            partial[warp][lane >> 2] = result[0];
            partial[warp][(lane >> 2) + 8] = result[2];
        }
        __syncthreads();
        if (makes) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < WARPS; w++) {
                sum += partial[w][threadIdx.x];
            }
            finish_product(m, target, before, sum * inverse * m.scale, given.factors, given.streams, 0, first + threadIdx.x);
        }
    }
    copy_async_wait<0>();
}

struct SomeRoom {
    float partial[8][16][8], inverses[8];
};
// grid (blocks, batches of eight rows)
template <class T>
STRATA_INLINE void products_some(const RowProducts& given, SomeRoom& room) {
    STRATA_DYNAMIC_SHARED(shared);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, columns = given.columns, slot = given.slot, groups = (columns + 31) >> 5;
    u16* activations = (u16*)shared;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* stored = shared + given.tile_at;
    int row0 = blockIdx.y * 8, here = min(8, given.rows - row0), output = threadIdx.x >> 3, row = threadIdx.x & 7;
    const int PER_ROW = 16;
    start_tile(given, blockIdx.x, stored, PER_ROW);
    wait_for_previous_kernel();
    release_next_kernel();
    bring_activations<8>(given.x + (long long)row0 * columns, given.norm, given.epsilon, 1, here, columns, Exact<T>::value, activations,
                         given.stride, sums, room.inverses, nullptr);
    int place = 0;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < given.tiles; tile += gridDim.x, place ^= 1) {
        const RowMatrix& m = matrix_of(given.of, given.count, tile);
        int first = (tile - m.first_tile) * 16;
        const u8* from = m.weights + (u64)first * m.row_bytes;
        start_tile(given, tile + gridDim.x, stored + (place ^ 1) * 16 * slot, PER_ROW);
        float* target = m.out + (long long)(row0 + row) * m.outputs + first + output;
        bool makes = output < 16 && output < m.outputs - first && row < here;
        float before = makes && m.mode == ADD ? read_fresh(target) : 0.0f;
        copy_async_wait<1>();
        __syncthreads();
        float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const u8* tile_of = stored + place * 16 * slot;
        multiply_groups<T, false>(brought(tile_of, slot, from, m.row_bytes, lane >> 2),
                                  brought(tile_of, slot, from, m.row_bytes, (lane >> 2) + 8), groups, columns,
                                  columns_of(activations, given.stride, sums, groups, here), 0, warp, 8, result);
        put_partial(room.partial[warp], result);
        __syncthreads();
        if (makes) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < 8; w++) {
                sum += room.partial[w][output][row];
            }
            finish_product(m, target, before, sum * room.inverses[row] * m.scale, given.factors, given.streams, row0 + row,
                           first + output);
        }
    }
    copy_async_wait<0>();
}

// grid (experts, rows). Up to READ_EARLY * 2048 columns.
const int READ_EARLY = 2;
template <class T>
STRATA_INLINE void route(const RouteInputs& given, float (*partial)[2]) {
    int t = threadIdx.x, columns = given.columns, items = columns >> 3, row = blockIdx.y;
    const float* x = given.x + (long long)row * columns;
    float* logits = given.logits + (long long)row * given.experts;
    const u8* stored = given.router + (u64)blockIdx.x * given.row_bytes;
    Eight w[READ_EARLY];
    float norms[READ_EARLY][8], v[READ_EARLY][8], sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int j = 0; j < READ_EARLY; j++) {
        int item = t + 256 * j;
        if (item < items) {
            read_eight<T>(stored, item, columns, w[j]);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                *(Vec4*)(norms[j] + 4 * h) = given.norm != nullptr ? *(const Vec4*)(given.norm + (h == 0 ? w[j].first : w[j].second))
                                                                   : Vec4{1.0f, 1.0f, 1.0f, 1.0f};
            }
        }
    }
    wait_for_previous_kernel();
    release_next_kernel();
#pragma unroll
    for (int j = 0; j < READ_EARLY; j++) {
        if (t + 256 * j < items) {
            read_fresh_four(x + w[j].first, v[j]);
            read_fresh_four(x + w[j].second, v[j] + 4);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                squares += v[j][i] * v[j][i];
                v[j][i] *= norms[j][i];
                sum += v[j][i] * w[j].of[i];
            }
        }
    }
    sum_two(sum, squares, partial);
    float factor = given.norm == nullptr ? 1.0f : inverse_root(squares / columns + given.epsilon);
    int last = 0;
    if (t == 0) {
        logits[blockIdx.x] = sum * factor * given.router_scale;
        last = arrive(given.arrivals + row) == (int)gridDim.x - 1;
        if (last) {
            given.arrivals[row] = 0;
        }
    }
    if (t < 32 && broadcast(last, 0) != 0) {
        choose_any(logits, given.experts, given.used, given.renormalise, given.scale, given.ids + row * given.used,
                   given.weights + row * given.used);
    }
    if (blockIdx.x == 0 && given.norm != nullptr) {
#pragma unroll
        for (int j = 0; j < READ_EARLY; j++) {
            if (t + 256 * j < items) {
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    given.normed[(long long)row * columns + (i < 4 ? w[j].first : w[j].second) + (i & 3)] = v[j][i] * factor;
                }
            }
        }
    }
}

// grid (tiles of the wider of both, pairs of rows and experts and rows of the shared one). What the next kernel reads early was made by the kernel before this one: the next one is
// let in behind the wait.
struct GateUpRoom {
    u64 blobs[TABLE_KEPT];
    float partial[8][16], of_gate[8], inverse;
};
template <class T>
STRATA_INLINE void gate_up(const GateUpInputs& given, GateUpRoom& room) {
    STRATA_DYNAMIC_SHARED(shared);
    float(*partial)[16] = room.partial;
    float& inverse = room.inverse;
    u64* blobs = room.blobs;
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, columns = given.columns, r = t >> 3;
    bool common = (int)blockIdx.y >= given.pairs, up = r >= 16;
    const GateUp& m = common ? given.common : given.routed;
    int first = blockIdx.x * 16, own = m.intermediate - first, slot = m.gate_slot;
    int row = common ? blockIdx.y - given.pairs : blockIdx.y / given.used;
    const float* x = given.x + (long long)row * columns;
    u32 row_bytes = (u32)m.gate_bytes;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* tile = shared + given.tile_at + (up ? 16 * slot : 0);
    u64 from = (up ? m.up : m.gate) + (u64)first * row_bytes;
    if (!common) {
#pragma unroll 1
        for (int i = t; i < given.experts; i += 256) {
            blobs[i] = given.table[i];
        }
    } else if (own > 0) {
        bring_tile(tile, slot, (const u8*)from, row_bytes, own, r & 15, t & 7, 8);
    }
    __syncthreads();
    wait_for_previous_kernel();
    release_next_kernel();
    if (own <= 0) {
        return;
    }
    float gate_scale = m.gate_scale, up_scale = m.up_scale;
    if (!common) {
        u64 base = blobs[read_fresh(given.ids + blockIdx.y)];
        if (base == 0) {
            return;
        }
        from += base;
        bring_tile(tile, slot, (const u8*)from, row_bytes, own, r & 15, t & 7, 8);
        if (m.tail != 0) {
            gate_scale = ((const float*)(base + m.tail))[0];
            up_scale = ((const float*)(base + m.tail))[1];
        }
    }
    copy_async_commit();
    Vec4 ones[KEPT];
    keep_norm<8>(nullptr, columns, ones);
    bring_kept<8>(x, ones, false, 0.0f, columns, Exact<T>::value, (u16*)shared, sums, &inverse, nullptr);
    copy_async_wait<0>();
    __syncthreads();
    float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    multiply_groups<T, true>(brought(tile, slot, (const u8*)from, row_bytes, lane >> 2),
                             brought(tile, slot, (const u8*)from, row_bytes, (lane >> 2) + 8), (columns + 31) >> 5, columns,
                             columns_of((u16*)shared, 0, sums, 0, 1), 0, warp & 3, 4, result);
    if ((lane & 3) == 0) {
        partial[warp][lane >> 2] = result[0];
        partial[warp][(lane >> 2) + 8] = result[2];
    }
    __syncthreads();
    if (t < 16 && t < own) {
        float gate = partial[0][t] + partial[1][t] + partial[2][t] + partial[3][t];
        float upper = partial[4][t] + partial[5][t] + partial[6][t] + partial[7][t];
        gate *= inverse * gate_scale;
        float value = gate / (1.0f + power_of_two(-1.4426950408889634f * gate)) * (upper * inverse * up_scale);
        (common ? given.common_h + (long long)row * m.intermediate : given.h + (long long)blockIdx.y * m.intermediate)[first + t] = value;
    }
    if (common && blockIdx.x == 0) {
        shared_factor(given, x, row, room.of_gate);
    }
}

// grid (outputs / 16, rows), two warps for every expert and two for the shared one.
template <class T>
STRATA_INLINE void down(const DownInputs& given, float (*partial)[16], float* most_of) {
    STRATA_DYNAMIC_SHARED(shared);
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, which = warp >> 1, part = warp & 1, in_pair = t & 63;
    int first = blockIdx.x * 16, own = given.outputs - first, row = blockIdx.y, pair = row * given.used + which;
    bool common = which >= given.used;
    const Down& m = common ? given.common : given.routed;
    u8* tile = shared + which * given.expert_bytes;
    u16* activations = (u16*)(tile + given.x_at);
    float* sums = T::OFFSET ? (float*)(tile + given.sums_at) : nullptr;
    float* target = given.out + (long long)row * given.outputs + first + t;
    float factor = m.scale;
    u64 base = 0;
    if (!common) {
        base = given.table[read_fresh(given.ids + pair)];
    }
    bool there = common || base != 0;
    const u8* from = (const u8*)(base + m.offset) + (u64)first * m.row_bytes;
    if (there) {
        bring_tile(tile, m.slot, from, (u32)m.row_bytes, own, in_pair >> 2, in_pair & 3, 4);
    }
    copy_async_commit();
    if (!common && there) {
        factor *= read_fresh(given.weights + pair);
        if (m.tail != 0) {
            factor *= *(const float*)(base + m.tail);
        }
    }
    wait_for_previous_kernel();
    release_next_kernel();
    float before = given.mode == ADD && t < 16 && t < own ? read_fresh(target) : 0.0f;
    if (common) {
        factor *= read_fresh(given.factors + row);
    }
    float inverse;
    bring_activations_of_warps(there, common ? given.common_h + (long long)row * m.columns : given.h + (long long)pair * m.columns, m.columns, Exact<T>::value,
                               activations, sums, part, 2, most_of + 2 * which, inverse);
    copy_async_wait<0>();
    __syncthreads();
    float result[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (there) {
        multiply_groups<T, true>(brought(tile, m.slot, from, m.row_bytes, lane >> 2),
                                 brought(tile, m.slot, from, m.row_bytes, (lane >> 2) + 8), (m.columns + 31) >> 5, m.columns,
                                 columns_of(activations, 0, sums, 0, 1), 0, part, 2, result);
    }
    factor = there ? factor * inverse : 0.0f;
    if ((lane & 3) == 0) {
        partial[warp][lane >> 2] = there ? factor * result[0] : 0.0f;
        partial[warp][(lane >> 2) + 8] = there ? factor * result[2] : 0.0f;
    }
    __syncthreads();
    if (t < 16 && t < own) {
        float sum = 0.0f;
#pragma unroll 4
        for (int w = 0; w < 2 * (given.used + given.shares); w++) {
            sum += partial[w][t];
        }
        if (given.mode == INJECT) {
            inject(given.out, sum, given.strengths, given.streams, row, given.outputs, first + t);
        } else {
            *target = before + sum;
        }
    }
}

#define STRATA_ROW_KERNELS(name, T)                                                                                                   \
    STRATA_KERNEL(256, row_products_##name, const __grid_constant__ RowProducts given) {                                              \
        __shared__ float partial[8][16];                                                                                              \
        __shared__ float inverse;                                                                                                     \
        products<T, 8>(given, partial, inverse);                                                                                      \
    }                                                                                                                                 \
    STRATA_KERNEL(512, row_products_wide_##name, const __grid_constant__ RowProducts given) {                                         \
        __shared__ float partial[16][16];                                                                                             \
        __shared__ float inverse;                                                                                                     \
        products<T, 16>(given, partial, inverse);                                                                                     \
    }                                                                                                                                 \
    STRATA_RESIDENT_KERNEL(256, 3, row_products_some_##name, const __grid_constant__ RowProducts given) {                              \
        __shared__ SomeRoom room;                                                                                                     \
        products_some<T>(given, room);                                                                                                \
    }                                                                                                                                 \
    STRATA_RESIDENT_KERNEL(256, 4, row_gate_up_##name, const __grid_constant__ GateUpInputs given) {                                  \
        __shared__ GateUpRoom room;                                                                                                   \
        gate_up<T>(given, room);                                                                                                      \
    }                                                                                                                                 \
    STRATA_KERNEL(1024, row_down_##name, const __grid_constant__ DownInputs given) {                                                  \
        __shared__ float partial[32][16];                                                                                             \
        __shared__ float most_of[32];                                                                                                 \
        down<T>(given, partial, most_of);                                                                                             \
    }
EACH_STORED_TYPE(STRATA_ROW_KERNELS)

#define STRATA_ROW_ROUTER(name, T)                                                        \
    STRATA_KERNEL(256, row_route_##name, const __grid_constant__ RouteInputs given) {     \
        __shared__ float partial[8][2];                                                   \
        route<T>(given, partial);                                                         \
    }
STRATA_ROW_ROUTER(f32, TypeF32)
STRATA_ROW_ROUTER(f16, TypeF16)
STRATA_ROW_ROUTER(bf16, TypeBf16)
STRATA_ROW_ROUTER(q8_0, TypeQ8_0)
