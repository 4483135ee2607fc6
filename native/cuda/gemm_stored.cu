// Products with the rows of short prompts, weights as stored: out[i][o] = w[o][k] x[i][k]^T, float16 operands, float32 sums.
//
// Where matrices have few rows to multiply, expanding them to float16 first moves seven times the bytes of stored ones, and that is then all the time.
// Layout: weights as stored (types.cuh), x float16 [rows][padded columns], zeros behind the columns; rows of experts' outputs are grouped by expert.
// Tiling: a warp makes 32 outputs (16 of gate and the same 16 of up where values are gated): of 8, 32 or 64 rows of one expert, warp by warp
// (stored_group), or of 32 rows of a dense matrix, whose columns eight warps share (stored_dense). Its stored rows come to shared memory
// in pieces of up to 256 columns through a ring of two or three by asynchronous copies of its own, with the alignment that they have in memory; slots are an
// odd number of 16 bytes apart, so that eight rows lie in different banks.
// A lane reads quarter q of rows r and r + 8 of a group of 32 elements and takes the activations in the same order (activations.cuh).
// Bytes moved: stored weights once for every 64 rows (32 of dense ones); activations once for every block, by way of the first cache.
// Sums: k ascending, those of eight warps one after the other.
// First: it tells strata.cuh how to read.
#include "activations.cuh"
#include "output.cuh"

enum { STORED_ROWS = 32, TILE_ROWS = 64, GROUP_STAGES = 3, DENSE_STAGES = 2, WARPS = 4 };

// a b + c
STRATA_INLINE u32 half2_scaled(u32 a, u32 b, u32 c) {
#ifdef STRATA_EMULATED
    return half2_of(from_half((u16)a) * from_half((u16)b) + from_half((u16)c),
                    from_half((u16)(a >> 16)) * from_half((u16)(b >> 16)) + from_half((u16)(c >> 16)));
#else
    u32 d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
#endif
}

// Weights of quantized types are multiplied by this, so that small scales keep their precision in float16.
template <class T>
struct Raised {
    static constexpr float by = T::BYTES ? 16.0f : 1.0f;
};

// The types that models keep most of their weights in; matrices of the others are expanded, as those of long prompts are.
#define EACH_PROMPT_TYPE(M)                                                                                    \
    M(bf16, TypeBf16) M(q8_0, TypeQ8_0) M(q4_0, TypeQ4_0) M(iq4_nl, TypeIq4Nl) M(mxfp4, TypeMxfp4)             \
    M(nvfp4, TypeNvfp4) M(q4_k, TypeQ4_K) M(q5_k, TypeQ5_K) M(q6_k, TypeQ6_K) M(iq4_xs, TypeIq4Xs)             \
    M(iq3_xxs, TypeIq3Xxs) M(iq3_s, TypeIq3S)

// Whether nibbles become float16 by a table of their own.
template <class T>
struct ByTable {
    static const bool value = false;
};
template <>
struct ByTable<TypeNvfp4> {
    static const bool value = true;
};

// Eight weights as pairs of float16, in order.
template <class T>
STRATA_INLINE void halves_of(const u8* row, int group, int quarter, int columns, u32* pairs) {
    if constexpr (ByTable<T>::value) {
        u32 word, low, high;
        float by = Raised<T>::by * T::nibbles(row, group, quarter, word).scale;
        u32 scale = half2_of(by, by);
        e2m1_halves(word, low, high);
        pairs[0] = half2_scaled(permute_bytes(low, 0, 0x1404u), scale, 0);
        pairs[1] = half2_scaled(permute_bytes(low, 0, 0x3424u), scale, 0);
        pairs[2] = half2_scaled(permute_bytes(high, 0, 0x1404u), scale, 0);
        pairs[3] = half2_scaled(permute_bytes(high, 0, 0x3424u), scale, 0);
    } else if constexpr (T::BYTES) {
        u32 low, high;
        Scale s = T::bytes(row, group, quarter, low, high);
        const u32 bias = 0x64006400u + 0x00010001u * (u32)T::BIAS;  // 1024 + BIAS: a byte in the mantissa of 1024
        float by = Raised<T>::by * s.scale, more = T::OFFSET ? Raised<T>::by * s.offset : 0.0f;
        u32 scale = half2_of(by, by), offset = half2_of(more, more);
        pairs[0] = half2_scaled(half2_subtract(permute_bytes(low, 0x64646464u, 0x4140u), bias), scale, offset);
        pairs[1] = half2_scaled(half2_subtract(permute_bytes(low, 0x64646464u, 0x4342u), bias), scale, offset);
        pairs[2] = half2_scaled(half2_subtract(permute_bytes(high, 0x64646464u, 0x4140u), bias), scale, offset);
        pairs[3] = half2_scaled(half2_subtract(permute_bytes(high, 0x64646464u, 0x4342u), bias), scale, offset);
    } else {
        float v[8];
        Scale s = T::read(row, group, quarter, columns, v);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            pairs[i] = half2_in_range(s.scale * v[2 * i], s.scale * v[2 * i + 1]);
        }
    }
}

// 32 rows of stored matrices: 16 from row `first[0]` of the matrix at `matrix[0]` on, and the same of the second one. Rows behind the last are read as the last.
struct StoredRows {
    const u8* matrix[2];
    int first[2];
    int outputs, columns, slot, piece_columns, piece_bytes;
    u32 row_bytes;
    STRATA_MEMBER const u8* row(int r) const {
        bool second = r >= 16;
        int at = min((second ? first[1] : first[0]) + (r & 15), outputs - 1);
        return (second ? matrix[1] : matrix[0]) + (u64)at * row_bytes;
    }
};

// Which 16 bytes of which rows a lane copies: the `at`-th of every `rows`-th row from `row` on.
struct Share {
    int row, rows, at;
};
STRATA_INLINE Share share_of(const StoredRows& stored) {
    int copies = (stored.piece_bytes + 30) >> 4;  // of a row whose first byte is the last of 16
    int lane = threadIdx.x & 31, rows = 32 / copies, row = lane / copies;
    return Share{row < rows ? row : (int)STORED_ROWS, rows, 16 * (lane - row * copies)};
}

// Starts the copy of piece `piece` of all rows, by one warp.
STRATA_INLINE void bring_piece(const StoredRows& stored, const Share& own, int piece, u8* to) {
    u32 before = (u32)(piece * stored.piece_bytes);
    int bytes = (int)min((u32)stored.piece_bytes, stored.row_bytes - before) - own.at;
    to += own.row * stored.slot + own.at;
#pragma unroll 1
    for (int row = own.row; row < STORED_ROWS; row += own.rows, to += own.rows * stored.slot) {
        const u8* from = stored.row(row) + before;
        int skew = (int)((u64)from & 15), left = bytes + skew;
        if (left > 0) {
            copy_async_some(to, from - skew + own.at, min(16, left));
        }
    }
}

// sums[m][n] += 16 stored rows of part m . 8 rows of activations from 8 n on, of pieces worker, worker + workers, ... x: of every n this lane's row of
// activations. WAITS: whether the kernel before is waited for here, with weights on their way.
template <class T, int N, int STAGES, bool WAITS>
STRATA_INLINE void multiply_stored_rows(const StoredRows& stored, const u16* const* x, u8* ring, int worker, int workers, float (*sums)[N][4]) {
    int lane = threadIdx.x & 31, quarter = lane & 3;
    int pieces = (stored.columns + stored.piece_columns - 1) / stored.piece_columns;
    int stage_bytes = STORED_ROWS * stored.slot;
    Share own = share_of(stored);
    u32 skews[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        skews[i] = (u32)(u64)stored.row(8 * i + (lane >> 2));
    }
    auto bring = [&](int turn) {
        int piece = worker + turn * workers;
        if (piece < pieces) {
            bring_piece(stored, own, piece, ring + turn % STAGES * stage_bytes);
        }
        copy_async_commit();
    };
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
        bring(i);
    }
    if (WAITS) {
        wait_for_previous_kernel();
        release_next_kernel();
    }
    for (int turn = 0, piece = worker; piece < pieces; turn++, piece += workers) {
        copy_async_wait<STAGES - 2>();
        warp_barrier();
        bring(turn + STAGES - 1);
        const u8* from = ring + turn % STAGES * stage_bytes + (lane >> 2) * stored.slot;
        const u8* rows[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            rows[i] = from + 8 * i * stored.slot + ((skews[i] + (u32)(piece * stored.piece_bytes)) & 15);
        }
        int begin = piece * stored.piece_columns, columns = min(stored.piece_columns, stored.columns - begin);
        int groups = (columns + 31) >> 5;
#pragma unroll 2
        for (int g = 0; g < groups; g++) {
            u32 left[2][4], right[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++) {
                u32 low[4], high[4];
                halves_of<T>(rows[2 * m], g, quarter, columns, low);
                halves_of<T>(rows[2 * m + 1], g, quarter, columns, high);
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    left[m][2 * i] = low[i];
                    left[m][2 * i + 1] = high[i];
                    right[m][2 * i] = low[2 + i];
                    right[m][2 * i + 1] = high[2 + i];
                }
            }
#pragma unroll
            for (int n = 0; n < N; n++) {
                const u16* values = x[n] + begin + 32 * g;
                Word2 x0, x1;
                if (T::first(1) == 8) {  // in order: neighbours
                    Word4 both = *(const Word4*)(values + 8 * quarter);
                    x0 = Word2{both.x, both.y};
                    x1 = Word2{both.z, both.w};
                } else {
                    x0 = *(const Word2*)(values + T::first(quarter));
                    x1 = *(const Word2*)(values + T::second(quarter));
                }
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply_f16(sums[m][n], left[m], x0.x, x0.y);
                    multiply_f16(sums[m][n], right[m], x1.x, x1.y);
                }
            }
        }
    }
}

// Where the results of an expert's rows go: as float16, outputs of two stored rows side by side.
struct GroupOutput {
    u16* values;
    int columns, used;
};

// Puts a 16 x 8 tile of sums, stored rows from `output` on, rows of the group from `row` on.
STRATA_INLINE void put_group(const GroupOutput& out, int output, int row, int rows, const float* sums) {
    int lane = threadIdx.x & 31;
    bool even = (lane >> 2 & 1) == 0;
    row += 2 * (lane & 3) + !even;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float first = sums[2 * half], second = sums[2 * half + 1];
        turn(even, first, second);
        int at = output + 8 * half + (lane >> 2 & ~1);
        if (row < rows && at < out.used) {
            *(u32*)(out.values + (long long)row * out.columns + at) = half2_in_range(first, at + 1 < out.used ? second : 0.0f);
        }
    }
}

// What a launch is given: matrices `offset` (of gate) and `second` (of up, 0: none) bytes into the blobs of the table, their factors `tail` bytes into it
// (0: none). Row i of the group reads row sources[i] of x (row i without sources).
struct GroupInputs {
    const u64* table;
    const int* starts;
    const int* tile_starts;
    const int* tiles;
    const int* sources;
    u64 offset, second, tail, row_bytes;
    int first_expert, experts, outputs, columns, slot, piece_columns, piece_bytes;
    const u16* x;
    int padded, out_columns;
    u16* out;
};

template <class T, int N>
STRATA_INLINE void multiply_group_rows(const GroupInputs& given, const StoredRows& stored, float gate_factor, float up_factor, int start,
                                       int row, int rows, u8* ring) {
    int lane = threadIdx.x & 31;
    const u16* x[N];
    float sums[2][N][4];
#pragma unroll
    for (int n = 0; n < N; n++) {
        int own = start + min(row + 8 * n + (lane >> 2), rows - 1);
        x[n] = given.x + (long long)(given.sources != nullptr ? given.sources[own] : own) * given.padded;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sums[i >> 2][n][i & 3] = 0.0f;
        }
    }
    multiply_stored_rows<T, N, GROUP_STAGES, false>(stored, x, ring, 0, 1, sums);
    GroupOutput out = {given.out + (long long)start * given.out_columns, given.out_columns, given.outputs};
#pragma unroll
    for (int n = 0; n < N; n++) {
        float values[2][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float gate = gate_factor * sums[0][n][i], up = up_factor * sums[1][n][i];
            values[0][i] = given.second != 0 ? GATED_PART * silu(gate) * up : gate;
            values[1][i] = up;
        }
        put_group(out, stored.first[0], row + 8 * n, rows, values[0]);
        if (given.second == 0) {
            put_group(out, stored.first[1], row + 8 * n, rows, values[1]);
        }
    }
}

// grid (outputs of four warps, at least as many tiles of rows as there are).
template <class T>
STRATA_INLINE void multiply_group(const GroupInputs& given, u8* shared) {
    wait_for_previous_kernel();
    release_next_kernel();
    int tile = given.tile_starts[given.first_expert] + blockIdx.y;
    if (tile >= given.tile_starts[given.first_expert + given.experts]) {
        return;
    }
    int expert = given.tiles[tile] & 0xffff, row = (given.tiles[tile] >> 16) * TILE_ROWS;
    int start = given.starts[expert], rows = given.starts[expert + 1] - start;
    u64 blob = given.table[expert];
    bool gated = given.second != 0;
    int first = (blockIdx.x * WARPS + (threadIdx.x >> 5)) * (gated ? 16 : 32);
    if (blob == 0 || first >= given.outputs) {
        return;
    }
    const u8* matrix = (const u8*)(blob + given.offset);
    StoredRows stored = {{matrix, gated ? (const u8*)(blob + given.second) : matrix}, {first, gated ? first : first + 16}, given.outputs,
                         given.columns, given.slot, given.piece_columns, given.piece_bytes, (u32)given.row_bytes};
    float gate_factor = 1.0f / Raised<T>::by, up_factor = gate_factor;
    if (given.tail != 0) {
        const float* factors = (const float*)(blob + given.tail);
        gate_factor *= factors[0];
        up_factor *= factors[gated ? 1 : 0];
    }
    u8* ring = shared + (threadIdx.x >> 5) * GROUP_STAGES * STORED_ROWS * given.slot;
    int here = rows - row;
    if (here <= 8) {
        multiply_group_rows<T, 1>(given, stored, gate_factor, up_factor, start, row, rows, ring);
    } else if (here <= 32) {
        multiply_group_rows<T, 4>(given, stored, gate_factor, up_factor, start, row, rows, ring);
    } else {
        multiply_group_rows<T, 8>(given, stored, gate_factor, up_factor, start, row, rows, ring);
    }
}

#define STORED_GROUP(name, T)                                                                           \
    STRATA_RESIDENT_KERNEL(128, 3, stored_group_##name, const __grid_constant__ GroupInputs given) {    \
        STRATA_DYNAMIC_SHARED(shared);                                                                  \
        multiply_group<T>(given, shared);                                                               \
    }
EACH_PROMPT_TYPE(STORED_GROUP)

// out = mode(scale * W x), or (up: gate's partner) float16 GATED_PART * silu(scale * gate x) * (up_scale * up x) in rows of out_columns.
struct DenseMatrix {
    const u8* weights;
    const u8* up;
    void* out;
    int outputs, out_columns, first_block;
    float scale, up_scale;
};
// Matrices of one type that have the same input.
struct DenseInputs {
    DenseMatrix of[6];
    u64 row_bytes;
    int count, columns, slot, piece_columns, piece_bytes;
    const u16* x;
    int rows, padded, mode;
    const float* factors;
};

// grid (outputs of a block of all matrices, tiles of 32 rows).
template <class T>
STRATA_INLINE void multiply_dense(const DenseInputs& given, u8* shared) {
    enum { DENSE_WARPS = 8, N = 4, WIDTH = 8 * N, PITCH = 33 };
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = blockIdx.y * WIDTH;
    int which = 0;
#pragma unroll 1
    while (which + 1 < given.count && (int)blockIdx.x >= given.of[which + 1].first_block) {
        which++;
    }
    const DenseMatrix& m = given.of[which];
    bool gated = m.up != nullptr;
    int first = ((int)blockIdx.x - m.first_block) * (gated ? 16 : 32);
    StoredRows stored = {{m.weights, gated ? m.up : m.weights}, {first, gated ? first : first + 16}, m.outputs, given.columns,
                         given.slot, given.piece_columns, given.piece_bytes, (u32)given.row_bytes};
    const u16* x[N];
    float sums[2][N][4];
#pragma unroll
    for (int n = 0; n < N; n++) {
        x[n] = given.x + (long long)min(row + 8 * n + (lane >> 2), given.rows - 1) * given.padded;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sums[i >> 2][n][i & 3] = 0.0f;
        }
    }
    multiply_stored_rows<T, N, DENSE_STAGES, true>(stored, x, shared + warp * DENSE_STAGES * STORED_ROWS * given.slot, warp, DENSE_WARPS, sums);
    copy_async_wait<0>();
    __syncthreads();
    float* partial = (float*)shared;
#pragma unroll
    for (int n = 0; n < N; n++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int token = 8 * n + 2 * (lane & 3) + (i & 1), output = 16 * (i >> 2) + 8 * (i >> 1 & 1) + (lane >> 2);
            partial[(warp * WIDTH + token) * PITCH + output] = sums[i >> 2][n][i & 3];
        }
    }
    __syncthreads();
    float scale = m.scale / Raised<T>::by, up_scale = m.up_scale / Raised<T>::by;
    for (int token = warp; token < WIDTH && row + token < given.rows; token += DENSE_WARPS) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < DENSE_WARPS; w++) {
            sum += partial[(w * WIDTH + token) * PITCH + lane];
        }
        long long to = (long long)(row + token) * m.out_columns;
        if (gated) {
            float up = exchange_xor(up_scale * sum, 16), value = GATED_PART * silu(scale * sum) * up;
            if (lane < 16 && first + lane < m.outputs) {
                ((u16*)m.out)[to + first + lane] = (u16)half2_in_range(value, 0.0f);
            }
        } else if (first + lane < m.outputs) {
            finish((float*)m.out + to + first + lane, scale * sum, given.mode, given.factors, row + token);
        }
    }
}

#define STORED_DENSE(name, T)                                                                          \
    STRATA_RESIDENT_KERNEL(256, 2, stored_dense_##name, const __grid_constant__ DenseInputs given) {   \
        STRATA_DYNAMIC_SHARED(shared);                                                                 \
        multiply_dense<T>(given, shared);                                                              \
    }
EACH_PROMPT_TYPE(STORED_DENSE)
