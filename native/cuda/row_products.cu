// row_products: up to four matrices with one row of at most 4096 values (wide: 8192), normed on the way when asked. A block of eight (16) warps makes 16
//   outputs at a time, with the next 16 rows on their way.
// row_product_eights: a matrix of many columns and not so many outputs, whose tiles of 16 rows would not go round evenly. A block makes eight outputs, a warp takes
//   four groups of each at a time.
// row_products_some: the same as the first with up to eight rows, [rows][stride] in shared memory.
#include "row.cuh"

// tile_at: where the two slots of stored rows lie in shared memory, sums_at: sums of the activations' groups (0: none). integers: the row as the kernel before left it
// (row_product_eights; 0: not).
struct RowProducts {
    RowMatrix of[4];
    int count, tiles;
    const float* x;
    const float* norm;
    float epsilon;
    int columns, slot, sums_at, tile_at;
    const float* factors;
    int streams, rows, stride, unused;
    const u8* integers;
};

// Starts the copies of a tile's rows; `per_row` threads a row.
STRATA_INLINE void start_tile(const RowProducts& given, int tile, u8* to, int per_row) {
    if (tile < given.tiles) {
        const RowMatrix& m = matrix_of(given.of, given.count, tile);
        int first = (tile - m.first_tile) * 16;
        bring_tile(to, given.slot, m.weights + (u64)first * m.row_bytes, m.row_bytes, m.row_bytes, m.outputs - first,
                   threadIdx.x / per_row, threadIdx.x % per_row, per_row);
    }
    copy_async_commit();
}

template <class T, int WARPS>
STRATA_INLINE void products(const RowProducts& given, float (*partial)[16], float& inverse) {
    STRATA_DYNAMIC_SHARED(shared);
    int warp = threadIdx.x >> 5, columns = given.columns, slot = given.slot;
    u16* activations = (u16*)shared;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* stored = shared + given.tile_at;
    const int PER_ROW = 2 * WARPS;
    start_tile(given, blockIdx.x, stored, PER_ROW);
    Vec4 norm[KEPT];
    keep_norm<WARPS>(given.norm, columns, norm);
    wait_for_previous_kernel();
    release_next_kernel();
    bring_kept<WARPS>(given.x, norm, given.norm != nullptr, given.epsilon, columns, form_of<T>(), activations, sums, &inverse, nullptr);
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
        const u8* tile_of = stored + place * 16 * slot;
        tile_sums<T>([&](int r) { return brought(tile_of, slot, from, m.row_bytes, r); }, columns, activations, sums, warp, WARPS, 1.0f, partial[warp]);
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

// grid (outputs / 8). For types whose groups share a scale.
template <class T>
STRATA_INLINE void product_of_eights(const RowProducts& given, float (*partial)[8], float* scales, float& inverse) {
    const int WARPS = 16;
    STRATA_DYNAMIC_SHARED(shared);
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, columns = given.columns, slot = given.slot, groups = columns >> 5;
    u16* activations = (u16*)shared;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* tile = shared + given.tile_at;
    const RowMatrix& m = given.of[0];
    int first = blockIdx.x * 8, own = m.outputs - first;
    const u8* from = m.weights + (u64)first * m.row_bytes;
    bring_tile(tile, slot, from, m.row_bytes, m.row_bytes, min(8, own), t >> 6, t & 63, 64);
    copy_async_commit();
    Vec4 norm[KEPT];
    keep_norm<WARPS>(given.norm, columns, norm);
    wait_for_previous_kernel();
    release_next_kernel();
    // A thread for every output and, where there are several, residual stream.
    int output = t & 7, stream = t >> 3, streams = m.mode == INJECT ? given.streams : 1;
    bool makes = stream < streams && output < own;
    float* target = m.out + (long long)stream * m.outputs + first + output;
    float before = makes && (m.mode == ADD || m.mode == INJECT) ? read_fresh(target) : 0.0f;
    float strength = makes && m.mode == INJECT ? read_fresh(given.factors + stream) : 1.0f;
    if (given.integers != nullptr) {
        bring_integers(given.integers, columns, activations, scales, sums, t, 32 * WARPS);
        if (t == 0) {
            inverse = 1.0f;
        }
    } else {
        bring_kept<WARPS>(given.x, norm, given.norm != nullptr, given.epsilon, columns, form_of<T>(), activations, sums, &inverse, nullptr);
        for (int i = t; i < groups; i += 32 * WARPS) {
            scales[i] = 1.0f;
        }
    }
    copy_async_wait<0>();
    __syncthreads();
    float value = dot_rows<T, 8>(brought(tile, slot, from, m.row_bytes, lane & 7), groups, activations, sums, scales, warp, WARPS);
    if (lane < 8) {
        partial[warp][lane] = value;
    }
    __syncthreads();
    if (makes) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            sum += partial[w][output];
        }
        sum *= inverse * m.scale;
        if (m.mode == INJECT) {
            *target = before + strength * sum;
        } else {
            finish_product(m, target, before, sum, given.factors, 1, 0, first + output);
        }
    }
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
    bring_activations<8>(given.x + (long long)row0 * columns, given.norm, given.epsilon, here, columns, Exact<T>::value, activations,
                         given.stride, sums, room.inverses);
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

#define STRATA_ROW_PRODUCTS(name, T)                                                                      \
    STRATA_RESIDENT_KERNEL(256, 4, row_products_##name, const __grid_constant__ RowProducts given) {      \
        __shared__ float partial[8][16];                                                                  \
        __shared__ float inverse;                                                                         \
        products<T, 8>(given, partial, inverse);                                                          \
    }                                                                                                     \
    STRATA_RESIDENT_KERNEL(512, 2, row_products_wide_##name, const __grid_constant__ RowProducts given) { \
        __shared__ float partial[16][16];                                                                 \
        __shared__ float inverse;                                                                         \
        products<T, 16>(given, partial, inverse);                                                         \
    }                                                                                                     \
    STRATA_RESIDENT_KERNEL(256, 3, row_products_some_##name, const __grid_constant__ RowProducts given) { \
        __shared__ SomeRoom room;                                                                         \
        products_some<T>(given, room);                                                                    \
    }
EACH_STORED_TYPE(STRATA_ROW_PRODUCTS)

#define STRATA_ROW_EIGHTS(name, T)                                                                             \
    STRATA_RESIDENT_KERNEL(512, 3, row_product_eights_##name, const __grid_constant__ RowProducts given) {     \
        __shared__ float partial[16][8];                                                                       \
        __shared__ float inverse;                                                                              \
        __shared__ float scales[256];                                                                          \
        product_of_eights<T>(given, partial, scales, inverse);                                                 \
    }
STRATA_ROW_EIGHTS(q8_0, TypeQ8_0)
STRATA_ROW_EIGHTS(q4_0, TypeQ4_0)
STRATA_ROW_EIGHTS(q4_1, TypeQ4_1)
STRATA_ROW_EIGHTS(q5_0, TypeQ5_0)
STRATA_ROW_EIGHTS(q5_1, TypeQ5_1)
STRATA_ROW_EIGHTS(iq4_nl, TypeIq4Nl)
STRATA_ROW_EIGHTS(mxfp4, TypeMxfp4)
STRATA_ROW_EIGHTS(q4_k, TypeQ4_K)
STRATA_ROW_EIGHTS(q5_k, TypeQ5_K)
STRATA_ROW_EIGHTS(iq4_xs, TypeIq4Xs)
