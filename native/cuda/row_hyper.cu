// A gated residual module in two kernels: the streams are normed, each by itself, and read through low-rank gates.
//
// row_streams: products of every stream's part of the residual with its part of the low-rank matrix (and of the one that tells how strongly each stream takes
//   the block's output), so that as many blocks as there are streams share the columns.
// row_hyper: sums over the streams, low-rank values, gates and the mean of the gated streams.
#include "row.cuh"

// stream_bytes: of a stored row, what belongs to one stream. outputs: of all matrices together, `of` those of one row and stream [rows][streams][outputs].
struct StreamProducts {
    RowMatrix of[2];
    int count;
    const float* x;
    const float* norm;
    float epsilon;
    int columns, slot, sums_at, tile_at;
    u32 stream_bytes;
    int outputs;
    float* factors;
};

// grid (tiles, rows, streams). A stream's normed columns with what belongs to them of 16 stored rows.
template <class T>
STRATA_INLINE void products_of_streams(const StreamProducts& given, float (*partial)[16], float& inverse) {
    const int WARPS = 16;
    STRATA_DYNAMIC_SHARED(shared);
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, columns = given.columns, slot = given.slot, stream = blockIdx.z;
    int place = blockIdx.y * gridDim.z + stream;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* tile = shared + given.tile_at;
    const RowMatrix& m = matrix_of(given.of, given.count, blockIdx.x);
    int first = ((int)blockIdx.x - m.first_tile) * 16, own = m.outputs - first;
    const u8* from = m.weights + (u64)first * m.row_bytes + (u64)stream * given.stream_bytes;
    bring_tile(tile, slot, from, m.row_bytes, given.stream_bytes, own, warp, lane, 32);
    copy_async_commit();
    Vec4 norm[KEPT];
    keep_norm<WARPS>(given.norm + (long long)stream * columns, columns, norm);
    wait_for_previous_kernel();
    release_next_kernel();
    bring_kept<WARPS>(given.x + (long long)place * columns, norm, true, given.epsilon, columns, form_of<T>(), (u16*)shared, sums, &inverse,
                      blockIdx.x == 0 ? given.factors + place : nullptr);
    copy_async_wait<0>();
    __syncthreads();
    tile_sums<T>([&](int r) { return brought(tile, slot, from, m.row_bytes, r); }, columns, (u16*)shared, sums, warp, WARPS, 1.0f, partial[warp]);
    __syncthreads();
    if (t < 16 && t < own) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            sum += partial[w][t];
        }
        m.out[(long long)place * given.outputs + first + t] = sum * inverse * m.scale;
    }
}

// What the kernel before made of every stream: `low` [rows][streams][outputs], the first `rank` of which become the low-rank values and the ones from `strengths_at`
// on how strongly each stream takes the block's output (given `injections`); `factors` [rows][streams].
struct HyperInputs {
    const u8* up;
    u32 row_bytes;
    float scale;
    int slot, rank, outputs, strengths_at, sums_at, tile_at;
    const float* low;
    const float* factors;
    const float* residual;
    const float* norm;
    int streams, hidden;
    float* out;
    float* injections;
};

const int MOST_STREAMS = 4;
// values[0..3] = values k to k + 3 of a row, summed over its streams.
STRATA_INLINE void sum_streams(const HyperInputs& given, int row, int k, float* values) {
    float of[MOST_STREAMS][4];
#pragma unroll
    for (int s = 0; s < MOST_STREAMS; s++) {
        if (s < given.streams) {
            read_fresh_four(given.low + ((long long)row * given.streams + s) * given.outputs + k, of[s]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        values[i] = of[0][i];
#pragma unroll
        for (int s = 1; s < MOST_STREAMS; s++) {
            values[i] += s < given.streams ? of[s][i] : 0.0f;
        }
    }
}

struct HyperRoom {
    float partial[8][16], most[8];
};
// grid (hidden / 16, rows). out[c] = mean over streams s of sigmoid(up[s * hidden + c] . low) * normed[s][c]: 8 / streams warps make 16 gates of one stream.
template <class T>
STRATA_INLINE void hyper(const HyperInputs& given, HyperRoom& room) {
    STRATA_DYNAMIC_SHARED(shared);
    float(*partial)[16] = room.partial;
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, streams = given.streams, each = 8 / streams, hidden = given.hidden, rank = given.rank;
    int row = blockIdx.y, first = blockIdx.x * 16, own = hidden - first, slot = given.slot, stream = warp / each;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    u8* tile = shared + given.tile_at + stream * 16 * slot;
    const u8* from = given.up + (u64)(stream * hidden + first) * given.row_bytes;
    int in_stream = t - 32 * each * stream;
    bring_tile(tile, slot, from, given.row_bytes, given.row_bytes, own, in_stream / (2 * each), in_stream % (2 * each), 2 * each);
    copy_async_commit();
    // The gate that a thread finishes: those of one output beside each other.
    int output = t / streams, gated = t % streams, column = gated * hidden + first + output, place = row * streams + gated;
    bool finishes = t < 16 * streams && output < own;
    float norm = finishes ? given.norm[column] : 0.0f;
    wait_for_previous_kernel();
    release_next_kernel();
    float low[4] = {0.0f, 0.0f, 0.0f, 0.0f}, factor, inverse, most = 0.0f, value = 0.0f;
    if (4 * t < rank) {
        sum_streams(given, row, 4 * t, low);
    }
    if (finishes) {
        value = read_fresh(given.residual + (long long)row * streams * hidden + column) * read_fresh(given.factors + place) * norm;
    }
    if (given.injections != nullptr && blockIdx.x == 0 && t == 255) {
        float strengths[4];
        sum_streams(given, row, given.strengths_at, strengths);
#pragma unroll
        for (int s = 0; s < MOST_STREAMS; s++) {
            if (s < streams) {
                given.injections[row * streams + s] = 2.0f * sigmoid(strengths[s]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        low[i] = silu(low[i]);
        most = fmaxf(most, fabsf(low[i]));
    }
    most = float_of(warp_most(bits_of(most)));
    if (lane == 0) {
        room.most[warp] = most;
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < 8; w++) {
        most = fmaxf(most, room.most[w]);
    }
    fitting(most, form_of<T>(), factor, inverse);
    if (128 * warp < rank) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            low[i] *= factor;
        }
        put_four(form_of<T>(), low, (u16*)shared + 4 * t, 4 * t < rank, sums, t >> 3);
    }
    copy_async_wait<0>();
    __syncthreads();
    tile_sums<T>([&](int r) { return brought(tile, slot, from, given.row_bytes, r); }, rank, (u16*)shared, sums, warp % each, each, 1.0f, partial[warp]);
    __syncthreads();
    if (t < 16 * streams) {
        float gate = 0.0f;
#pragma unroll 1
        for (int w = gated * each; w < (gated + 1) * each; w++) {
            gate += partial[w][output];
        }
        value *= sigmoid(gate * inverse * given.scale);
    }
#pragma unroll 1
    for (int distance = streams >> 1; distance > 0; distance >>= 1) {
        value += exchange_xor(value, distance);
    }
    if (finishes && gated == 0) {
        given.out[(long long)row * hidden + first + output] = value / streams;
    }
}

#define STRATA_ROW_HYPER(name, T)                                                          \
    STRATA_RESIDENT_KERNEL(512, 2, row_streams_##name, const __grid_constant__ StreamProducts given) { \
        __shared__ float partial[16][16];                                                  \
        __shared__ float inverse;                                                          \
        products_of_streams<T>(given, partial, inverse);                                   \
    }                                                                                      \
    STRATA_RESIDENT_KERNEL(256, 4, row_hyper_##name, const __grid_constant__ HyperInputs given) {      \
        __shared__ HyperRoom room;                                                         \
        hyper<T>(given, room);                                                             \
    }
EACH_STORED_TYPE(STRATA_ROW_HYPER)
