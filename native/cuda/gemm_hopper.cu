// Matrix products with wgmma for sm_90a: out[t][o] = w[o][k] x[t][k]^T, float16 operands, float32 sums.
//
// Layout: w and x row-major with k innermost, k a multiple of 64. The weights are the left operand, so that the number of tokens of a tile
// can be 64, 128, 192 or 256: groups of few rows waste less than with square tiles.
// Tiling: 128 outputs x up to 256 tokens a block, two warp groups of 64 outputs each, k in steps of 64 through a ring of four stages
// (192 KiB). One thread has the tensor unit copy boxes ahead; its warp group gives its registers to the others. Blocks stay and walk
// over the tiles, so that the next tile's operands arrive during the last steps of the one before.
// Bytes moved: weights once for every 256 tokens, tokens once for every 128 outputs, most of it from the L2 cache.
// Sums: k ascending, in steps of 16; the same for any number of tokens. Outputs are even in number.
#include "hopper.cuh"
#include "output.cuh"

enum { OUTPUTS = 128, STAGES = 4, STAGE_BYTES = 6 * BOX_BYTES, MOST_GROUPS = 512 };

struct Shared {
    u8* stages;
    u64* full;
    u64* empty;
    int* ends;
};

// Where a tile lies: first rows of its operands, how much of it exists, and its place in the output.
struct Piece {
    int weight_row, token_row, outputs, tokens, boxes, output;
};

STRATA_INLINE Shared prepare(u8* memory) {
    u8* aligned = memory + ((1024 - (shared_address(memory) & 1023)) & 1023);
    Shared shared = {aligned, (u64*)(aligned + STAGES * STAGE_BYTES), (u64*)(aligned + STAGES * STAGE_BYTES) + STAGES,
                     (int*)(aligned + STAGES * STAGE_BYTES + 16 * STAGES)};
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_start(shared.full + i, 1);
            barrier_start(shared.empty + i, 8);
        }
        barriers_started();
    }
    return shared;
}

template <class Tiles>
STRATA_INLINE void produce(const Shared& shared, const Tiles& tiles, const Map* weights, const Map* tokens, int steps) {
    int stage = 0, parity = 1;
    for (int tile = blockIdx.x; tile < tiles.total; tile += gridDim.x) {
        Piece piece = tiles.piece(tile);
        for (int step = 0; step < steps; step++) {
            barrier_wait(shared.empty + stage, parity);
            u64* full = shared.full + stage;
            u8* to = shared.stages + stage * STAGE_BYTES;
            barrier_expect(full, (2 + piece.boxes) * BOX_BYTES);
            for (int i = 0; i < 2; i++) {
                fetch_box(to + i * BOX_BYTES, weights, step * BOX, piece.weight_row + i * BOX, full);
            }
            for (int i = 0; i < piece.boxes; i++) {
                fetch_box(to + (2 + i) * BOX_BYTES, tokens, step * BOX, piece.token_row + i * BOX, full);
            }
            if (++stage == STAGES) {
                stage = 0;
                parity ^= 1;
            }
        }
    }
}

template <int N>
STRATA_INLINE void consume(const Shared& shared, int group, const Piece& piece, int steps, int& stage, int& parity,
                           const Output& out) {
    float sums[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
        sums[i] = 0.0f;
    }
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5 & 3;
    u64* before = nullptr;
    for (int step = 0; step < steps; step++) {
        barrier_wait(shared.full + stage, parity);
        const u8* from = shared.stages + stage * STAGE_BYTES;
        u64 a = rows_of_box(from + group * BOX_BYTES), b = rows_of_box(from + 2 * BOX_BYTES);
        group_fence(sums);
        group_begin();
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            Group<N>::multiply(sums, a + 2 * kk, b + 2 * kk, 1);
        }
        group_commit();
        group_fence(sums);
        group_wait<1>();
        if (before != nullptr && lane == 0) {
            barrier_arrive(before);
        }
        before = shared.empty + stage;
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    group_wait<0>();
    group_fence(sums);
    if (lane == 0) {
        barrier_arrive(before);
    }
    bool even = (lane >> 2 & 1) == 0;
    int row = 64 * group + 16 * warp + (lane >> 2);
    if (out.mode == SWIGLU_F16) {
        int hidden = (piece.output + 64 * group + 16 * warp) / 2 + (lane >> 2 & ~1);
#pragma unroll
        for (int i = 0; i < N / 8; i++) {
            float first = GATED_PART * silu(sums[4 * i]) * sums[4 * i + 2];
            float second = GATED_PART * silu(sums[4 * i + 1]) * sums[4 * i + 3];
            turn(even, first, second);
            int token = 8 * i + 2 * (lane & 3) + !even;
            if (token < piece.tokens && hidden < out.used) {
                *(u32*)((u16*)out.values + (long long)(piece.token_row + token) * out.columns + hidden) =
                    half2_in_range(first, hidden + 1 < out.used ? second : 0.0f);
            }
        }
        return;
    }
    bool adds = out.mode == ADD || out.mode == ADD_SCALED, halves = out.mode == STORE_F16;
#pragma unroll
    for (int i = 0; i < N / 8; i++) {
        int token = 8 * i + 2 * (lane & 3) + !even;
        long long place = (long long)(piece.token_row + token) * out.columns + piece.output;
        float factor = out.mode == ADD_SCALED && token < piece.tokens ? out.factors[piece.token_row + token] : 1.0f;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float first = out.scale * sums[4 * i + 2 * half], second = out.scale * sums[4 * i + 2 * half + 1];
            turn(even, first, second);
            int output = (row & ~1) + 8 * half;
            if (token < piece.tokens && output < piece.outputs) {
                if (halves) {
                    *(u32*)((u16*)out.values + place + output) = half2_in_range(first, second);
                } else {
                    Vec2* to = (Vec2*)((float*)out.values + place + output);
                    Vec2 before = adds ? *to : Vec2{0.0f, 0.0f};
                    *to = Vec2{before.x + factor * first, before.y + factor * second};
                }
            }
        }
    }
}

template <class Tiles>
STRATA_INLINE void multiply(const Shared& shared, const Tiles& tiles, const Map* weights, const Map* tokens, int k,
                            const Output& out) {
    int steps = k / BOX;
    if (threadIdx.x < 128) {
        leave_registers<40>();
        if (threadIdx.x == 0) {
            produce(shared, tiles, weights, tokens, steps);
        }
    } else {
        take_registers<232>();
        int group = (threadIdx.x >> 7) - 1, stage = 0, parity = 0;
        for (int tile = blockIdx.x; tile < tiles.total; tile += gridDim.x) {
            Piece piece = tiles.piece(tile);
            switch (piece.boxes) {
                case 1: consume<64>(shared, group, piece, steps, stage, parity, out); break;
                case 2: consume<128>(shared, group, piece, steps, stage, parity, out); break;
                case 3: consume<192>(shared, group, piece, steps, stage, parity, out); break;
                default: consume<256>(shared, group, piece, steps, stage, parity, out);
            }
        }
    }
}

struct DenseTiles {
    int total, tokens, outputs, wide;
    STRATA_MEMBER Piece piece(int tile) const {
        int token_tile, output_tile;
        place(tile, (tokens + wide - 1) / wide, (outputs + OUTPUTS - 1) / OUTPUTS, token_tile, output_tile);
        int token = token_tile * wide, output = output_tile * OUTPUTS;
        return Piece{output, token, min((int)OUTPUTS, outputs - output), min(wide, tokens - token), wide / BOX, output};
    }
};

// What products do with their sums beside adding, where it is done afterwards.
STRATA_KERNEL(256, activate_values, float* values, int twice_sigmoid, long long count) {
    wait_for_previous_kernel();
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        float v = values[i];
        values[i] = twice_sigmoid ? 2.0f * sigmoid(v) : silu(v);
    }
}

// `wide`: tokens of a tile, a multiple of 64 up to 256.
STRATA_KERNEL_ALONE(384, gemm_hopper_dense, STRATA_MAP weights, STRATA_MAP activations, int tokens, int outputs, int k, int wide,
              void* values, int columns, int used, int mode, float scale, const float* factors) {
    STRATA_DYNAMIC_SHARED(memory);
    wait_for_previous_kernel();
    Shared shared = prepare(memory);
    __syncthreads();
    Output out = {values, columns, used, mode, scale, factors};
    DenseTiles tiles = {(tokens + wide - 1) / wide * ((outputs + OUTPUTS - 1) / OUTPUTS), tokens, outputs, wide};
    multiply(shared, tiles, &weights, &activations, k, out);
}

// The tiles of one group's rows: as few as 256 tokens allow, all of one width.
STRATA_INLINE int width_of(int rows) {
    int tiles = (rows + 255) / 256;
    return ((rows + tiles - 1) / tiles + BOX - 1) / BOX * BOX;
}

struct GroupedTiles {
    int total, first, count, outputs;
    const int* starts;
    const int* ends;
    STRATA_MEMBER Piece piece(int tile) const {
        int low = 0, high = count - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            if (ends[middle] > tile) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        int inside = tile - (low > 0 ? ends[low - 1] : 0);
        int start = starts[first + low], rows = starts[first + low + 1] - start, wide = width_of(rows);
        int token_tile, output_tile;
        place(inside, (rows + wide - 1) / wide, (outputs + OUTPUTS - 1) / OUTPUTS, token_tile, output_tile);
        int token = token_tile * wide, output = output_tile * OUTPUTS;
        return Piece{low * outputs + output, start + token, min((int)OUTPUTS, outputs - output), min(wide, rows - token),
                     wide / BOX, output};
    }
};

// The products of experts first .. first + count - 1, at most 512. Rows of both sides are grouped by expert: those of expert e are
// starts[e] .. starts[e + 1] - 1; the matrices of the experts lie one behind the other, `outputs` rows each.
STRATA_KERNEL_ALONE(384, gemm_hopper_grouped, STRATA_MAP weights, STRATA_MAP activations, const int* starts, int first, int count,
              int outputs, int k, void* values, int columns, int used, int mode) {
    STRATA_DYNAMIC_SHARED(memory);
    wait_for_previous_kernel();
    Shared shared = prepare(memory);
    int* ends = shared.ends;
    int output_tiles = (outputs + OUTPUTS - 1) / OUTPUTS;
    for (int e = threadIdx.x; e < MOST_GROUPS; e += 384) {
        int rows = e < count ? starts[first + e + 1] - starts[first + e] : 0;
        int wide = rows > 0 ? width_of(rows) : 1;
        ends[e] = (rows + wide - 1) / wide * output_tiles;
    }
    __syncthreads();
    for (int distance = 1; distance < MOST_GROUPS; distance *= 2) {
        int e0 = threadIdx.x, e1 = threadIdx.x + 384;
        int add0 = e0 >= distance ? ends[e0 - distance] : 0;
        int add1 = e1 < MOST_GROUPS ? ends[e1 - distance] : 0;
        __syncthreads();
        ends[e0] += add0;
        if (e1 < MOST_GROUPS) {
            ends[e1] += add1;
        }
        __syncthreads();
    }
    Output out = {values, columns, used, mode, 1.0f, nullptr};
    GroupedTiles tiles = {ends[MOST_GROUPS - 1], first, count, outputs, starts, ends};
    multiply(shared, tiles, &weights, &activations, k, out);
}
