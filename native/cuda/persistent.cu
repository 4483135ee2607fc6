// A decode step in one launch: the kernels of decode.cu and attention.cu as phases of blocks that stay.
//
// A block has a multiprocessor to itself. It goes through a program of phases in device memory, each with the kernel's grid and arguments as the
// host would have launched them, and takes every so-many-th of the kernel's blocks, here called items. A barrier of all blocks, one counter,
// lies between phases: a block says that it is done, starts the copies of the stored rows of its first items of the next phase,
// asks for its part of the lines that a later phase reads, and only then waits. Two descriptions beside the running one are in shared memory: the one
// before says how experts are chosen, which every block does for itself, and the next one is on its way.
// Stored rows come in units (an item's rows, or a piece of longer ones), up to four units on their way at a time.
// Bytes moved: as the kernels; activations of a phase once for every block, from the L2 cache.
//
// D: head size of the attention phases, FORMAT: of keys and values, WARPS: of a block. `stamps` gets four clocks of every block and phase
// when it is there: begin, begin of the wait, its end, end of the work; behind them the card's nanoseconds at begin and end.
#include "decode.cuh"
#include "attention_rows.cuh"

enum PhaseCode { PHASE_PRODUCTS = 1, PHASE_ROUTE = 2, PHASE_GATE_UP = 3, PHASE_DOWN = 4, PHASE_ATTEND = 5, PHASE_MERGE = 6 };

const int MOST_UNITS = 4, ROWS_AT_ONCE = 8, RANGES = 6, MOST_ARGUMENTS = 512;
const int MOST_PASS_ROWS = 16, MOST_USED = 32;

struct Range {
    const u8* at;
    u64 bytes;
};
struct alignas(16) Phase {
    int code, grid_x, grid_y, grid_z, shared_bytes, unused[3];
    Range ahead[RANGES];
    u8 arguments[MOST_ARGUMENTS];
};

// What stays in shared memory from phase to phase.
struct Resident {
    Phase phases[3];
    int ids[MOST_PASS_ROWS * MOST_USED];
    float weights[MOST_PASS_ROWS * MOST_USED];
};

// The barrier in front of a phase. Every phase waits once, whatever it has to do.
struct Turn {
    const int* counter;
    int goal;
    u64* stamps;  // of this block, or null
    // All threads of the block.
    STRATA_MEMBER void wait() const {
        if (threadIdx.x == 0) {
            look();
        }
        __syncthreads();
    }
    STRATA_MEMBER void look() const {
        if (stamps != nullptr) {
            stamps[1] = cycles();
        }
        while (arrived_at(counter) < goal) {
        }
        if (stamps != nullptr) {
            stamps[2] = cycles();
        }
    }
};

// Four warps of a block, which wait for the barrier once a phase.
struct PartTeam {
    static const bool REHEARSES = false;
    Turn turn;
    bool& waited;
    STRATA_MEMBER void sync() const { barrier_of_part(1, 128); }
    STRATA_MEMBER void wait() const {
        if (!waited) {
            if (threadIdx.x == 0) {
                turn.look();
            }
            sync();
            waited = true;
        }
    }
    STRATA_MEMBER void release() const {}
};

// Waits for all copies but those of the youngest `pending` groups.
STRATA_INLINE void copies_wait(int pending) {
    switch (pending) {
        case 0: copy_async_wait<0>(); break;
        case 1: copy_async_wait<1>(); break;
        case 2: copy_async_wait<2>(); break;
        default: copy_async_wait<3>();
    }
}

STRATA_INLINE int aligned_up(int bytes) { return (bytes + 127) & ~127; }
STRATA_INLINE int tiles_of(int outputs) { return (outputs + 15) >> 4; }

struct Sums {
    float of[4];
};
// The inner loops, once for all phases: what a warp makes of stored rows.
STRATA_SHARED_FUNCTION Sums multiply(int type, const u8* low, const u8* high, int groups, int columns, Columns c, int before, int first,
                                     int step, Sums sums) {
    multiply_stored(type, low, high, groups, columns, c, before, first, step, sums.of);
    return sums;
}
STRATA_SHARED_FUNCTION float score(int type, const u8* stored, const float* x, int columns, int part, int parts) {
    float sum = 0.0f;
    score_stored(type, stored, x, columns, sum, part, parts);
    return warp_sum(sum);
}
STRATA_SHARED_FUNCTION void choose(const RouteInputs& given, int row, int* ids, float* weights) {
    choose_any(given.logits + (long long)row * given.experts, given.experts, given.used, given.renormalise, given.scale, ids, weights);
}

// A piece of an item's stored rows.
struct Unit {
    int item, begin;
};

template <int WARPS>
STRATA_SHARED_FUNCTION void products_phase(const ProductsInputs& given, int tile_bytes, u8* shared, int room, Turn turn) {
    float(*partial)[16][8] = (float(*)[16][8])shared;
    float* inverses = (float*)(shared + WARPS * 512);
    u8* base = shared + WARPS * 512 + 128;
    u16* activations = (u16*)base;
    float* sums = given.sums_at == 0 ? nullptr : (float*)(base + given.sums_at);
    u8* slots = base + given.tile_at;
    int stages = min(MOST_UNITS, (room - (int)(slots - shared)) / tile_bytes);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int columns = given.columns, groups = (columns + 31) >> 5;
    const Matrix& last_one = given.list.of[given.count - 1];
    int tiles = last_one.first_block + tiles_of(last_one.outputs);
    int items = tiles * ((given.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE);
    auto start = [&](Unit& unit, int slot) {
        if (unit.item < items) {
            int tile = unit.item % tiles;
            const Matrix& m = matrix_of(given.list, given.count, tile);
            int first = (tile - m.first_block) * 16;
            u64 offset = (u64)(unit.begin / m.piece_columns) * m.piece_bytes;
            bring_rows(slots + slot * tile_bytes, m.slot, m.weights + first * m.row_bytes + offset, m.row_bytes,
                       min(16, m.outputs - first), (int)min((u64)m.piece_bytes, m.row_bytes - offset), warp, WARPS);
            unit.begin += m.piece_columns;
            if (unit.begin >= columns) {
                unit = Unit{unit.item + (int)gridDim.x, 0};
            }
        }
        copy_async_commit();
    };
    Unit next = {(int)blockIdx.x, 0};
    for (int slot = 0; slot < stages; slot++) {
        start(next, slot);
    }
    turn.wait();
    int here = 0, row0 = -1, slot = 0;
    float before = 0.0f;
    Sums result;
    int output = threadIdx.x >> 3, row = threadIdx.x & 7;
    for (Unit unit = {(int)blockIdx.x, 0}; unit.item < items;) {
        int tile = unit.item % tiles, batch = unit.item / tiles * ROWS_AT_ONCE;
        const Matrix& m = matrix_of(given.list, given.count, tile);
        int first = (tile - m.first_block) * 16, own = min(16, m.outputs - first);
        if (batch != row0) {
            row0 = batch;
            here = min(ROWS_AT_ONCE, given.rows - row0);
            bring_activations<WARPS, true>(
                given.x + (long long)row0 * columns, given.norm, given.epsilon, given.parts, here, columns, activations, given.stride,
                sums, inverses, given.norm_factors == nullptr || blockIdx.x > 0 ? nullptr : given.norm_factors + row0 * given.parts);
        }
        bool makes = output < own && row < here;
        float* target = m.out + (long long)(row0 + row) * m.outputs + first + output;
        if (unit.begin == 0) {
            before = makes && m.mode == ADD ? read_fresh(target) : 0.0f;
            result = Sums{};
        }
        copies_wait(stages - 1);
        __syncthreads();
        const u8* from = m.weights + first * m.row_bytes + (u64)(unit.begin / m.piece_columns) * m.piece_bytes;
        int length = min(m.piece_columns, columns - unit.begin);
        u8* stored = slots + slot * tile_bytes;
        result = multiply(m.type, brought(stored, m.slot, from, m.row_bytes, lane >> 2),
                          brought(stored, m.slot, from, m.row_bytes, (lane >> 2) + 8), (length + 31) >> 5, length,
                          columns_of(activations, given.stride, sums, groups, here), unit.begin >> 5, warp, WARPS, result);
        unit.begin += m.piece_columns;
        bool whole = unit.begin >= columns;
        if (whole) {
            put_partial(partial[warp], result.of);
        }
        __syncthreads();
        start(next, slot);
        slot = slot + 1 == stages ? 0 : slot + 1;
        if (whole) {
            if (makes) {
                float sum = 0.0f;
#pragma unroll
                for (int w = 0; w < WARPS; w++) {
                    sum += partial[w][output][row];
                }
                finish_product(m, target, before, sum * inverses[row] * m.scale, given.factors, given.streams, row0 + row,
                               first + output);
            }
            unit = Unit{unit.item + (int)gridDim.x, 0};
        }
    }
}

// Warps that share each of so many rows.
template <int WARPS>
STRATA_INLINE int warps_of_row(int rows) {
    return rows == 1 ? WARPS : rows == 2 ? WARPS / 2 : rows <= 4 ? WARPS / 4 : WARPS / 8;
}

// Logits of all rows. With `chooses` the block that comes last for a row chooses its experts, otherwise the next phase does.
template <int WARPS>
STRATA_SHARED_FUNCTION void route_phase(const RouteInputs& given, int rows, bool chooses, u8* shared, int room, Turn turn) {
    float* partial = (float*)shared;  // [units][WARPS][rows]
    float* squares_of = partial + MOST_UNITS * WARPS * ROWS_AT_ONCE;
    int columns = given.columns, padded = (columns + 31) & ~31;
    float* values = (float*)(shared + aligned_up(4 * (MOST_UNITS * ROWS_AT_ONCE + 1) * WARPS));  // normed but for the factor
    u8* tiles = (u8*)values + aligned_up(4 * min(rows, (int)ROWS_AT_ONCE) * padded);
    int stages = min(MOST_UNITS, (room - (int)(tiles - shared)) / given.slot);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    auto start = [&](int expert) {
        for (int i = 0; i < stages; i++, expert += gridDim.x) {
            const u8* from = given.router + (u64)expert * given.row_bytes;
            int skew = (int)((u64)from & 15), end = expert < given.experts ? (int)given.row_bytes + skew : 0;
            for (int at = 16 * threadIdx.x; at < end; at += 512 * WARPS) {
                copy_async_some(tiles + i * given.slot + at, from - skew + at, min(16, end - at));
            }
        }
        copy_async_commit();
    };
    start(blockIdx.x);
    turn.wait();
    for (int row0 = 0; row0 < rows; row0 += ROWS_AT_ONCE) {
        int here = min(ROWS_AT_ONCE, rows - row0), each = warps_of_row<WARPS>(here), row = warp / each;
        const float* x = given.x + (long long)row0 * columns;
        if (row < here) {
            float squares = 0.0f;
#pragma unroll 4
            for (int k = 4 * (warp % each * 32 + lane); k < padded; k += 128 * each) {
                float v[4], w[4] = {1.0f, 1.0f, 1.0f, 1.0f};
                four_fresh(x + row * columns, k, columns, v);
                if (given.norm != nullptr) {
                    four_of(given.norm, k, columns, w);
                }
                squares += v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3];
                *(Vec4*)(values + row * padded + k) = Vec4{v[0] * w[0], v[1] * w[1], v[2] * w[2], v[3] * w[3]};
            }
            squares = warp_sum(squares);
            if (lane == 0) {
                squares_of[warp] = squares;
            }
        }
        auto factor_of = [&](int of) {
            float squares = 0.0f;
            for (int i = of * each; i < (of + 1) * each; i++) {
                squares += squares_of[i];
            }
            return given.norm == nullptr ? 1.0f : 1.0f / sqrtf(squares / columns + given.epsilon);
        };
        bool goes_on = false;
        for (int expert = blockIdx.x; expert < given.experts; expert += stages * gridDim.x) {
            if (goes_on || row0 > 0) {
                start(expert);
            }
            goes_on = true;
            copy_async_wait<0>();
            __syncthreads();
            for (int i = 0; i < stages; i++) {
                int one = expert + i * gridDim.x;
                const u8* stored = tiles + i * given.slot + ((u64)(given.router + (u64)one * given.row_bytes) & 15);
                for (int r = 0; r < here && one < given.experts; r++) {
                    float sum = score(given.type, stored, values + r * padded, columns, warp, WARPS);
                    if (lane == 0) {
                        partial[(i * WARPS + warp) * ROWS_AT_ONCE + r] = sum;
                    }
                }
            }
            __syncthreads();
            int i = threadIdx.x / ROWS_AT_ONCE, r = threadIdx.x % ROWS_AT_ONCE, one = expert + i * gridDim.x;
            if (i < stages && r < here && one < given.experts) {
                float sum = 0.0f;
#pragma unroll
                for (int w = 0; w < WARPS; w++) {
                    sum += partial[(i * WARPS + w) * ROWS_AT_ONCE + r];
                }
                given.logits[(long long)(row0 + r) * given.experts + one] = sum * factor_of(r) * given.router_scale;
            }
        }
        __syncthreads();
        if (given.norm != nullptr) {
            int all = here * columns;
            for (int i = blockIdx.x * 32 * WARPS + threadIdx.x; i < all; i += gridDim.x * 32 * WARPS) {
                int r = i / columns;
                given.normed[(long long)row0 * columns + i] = values[r * padded + i - r * columns] * factor_of(r);
            }
        }
        if (chooses) {
            for (int r = row0; r < row0 + here; r++) {
                if (last_of(given.arrivals + r, gridDim.x) && warp == 0) {
                    choose(given, r, given.ids + (long long)r * given.used, given.weights + (long long)r * given.used);
                }
            }
        }
        __syncthreads();
    }
}

// Every block chooses the experts of all rows for itself; the first one tells the others' later phases.
template <int WARPS>
STRATA_INLINE void choose_experts(const RouteInputs& given, int rows, Resident& resident) {
    for (int r = threadIdx.x >> 5; r < rows; r += WARPS) {
        choose(given, r, resident.ids + r * given.used, resident.weights + r * given.used);
    }
    __syncthreads();
    if (blockIdx.x == 0) {
        for (int i = threadIdx.x; i < rows * given.used; i += 32 * WARPS) {
            given.ids[i] = resident.ids[i];
            given.weights[i] = resident.weights[i];
        }
    }
}

// `route`: how experts are chosen, or null when `ids` of memory are to be read; `shared_rows`: rows of the shared expert.
template <int WARPS>
STRATA_SHARED_FUNCTION void gate_up_phase(const GateUpInputs& given, const RouteInputs* route, int shared_rows, int tile_bytes, Resident& resident,
                                          u8* shared, int room, Turn turn) {
    const int HALF = WARPS / 2;
    float(*partial)[16] = (float(*)[16])shared;  // [WARPS]
    float* inverses = (float*)(shared + WARPS * 64);
    float* of_gate = inverses + ROWS_AT_ONCE;  // [WARPS]
    u16* activations = (u16*)(shared + aligned_up(WARPS * 68 + 4 * ROWS_AT_ONCE));
    int columns = given.columns, groups = (columns + 31) >> 5, stride = ((columns + 63) & ~63) + 16;
    int rows = given.pairs / given.used, most = min(rows, (int)ROWS_AT_ONCE);
    float* sums = given.sums_at == 0 ? nullptr : (float*)(activations + most * stride);
    u8* slots = shared + aligned_up((int)((u8*)(activations + most * stride) - shared) + (sums == nullptr ? 0 : 4 * most * groups));
    int stages = min(MOST_UNITS, (room - (int)(slots - shared)) / tile_bytes);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, part = warp % HALF;
    bool up = warp >= HALF;
    int routed_tiles = tiles_of(given.routed.intermediate), common_tiles = shared_rows == 0 ? 0 : tiles_of(given.common.intermediate);
    bool waited = false;
    for (int row0 = 0; row0 < rows; row0 += ROWS_AT_ONCE) {
        int here = min(ROWS_AT_ONCE, rows - row0), commons = here * common_tiles;
        int items = commons + here * given.used * routed_tiles;
        // The shared expert's items come first: they do not depend on the choice.
        auto expert_of = [&](int item) { return resident.ids[row0 * given.used + (item - commons) / routed_tiles]; };
        auto blob_of = [&](int item) -> u64 {
            int expert = expert_of(item);
            return expert < given.first_expert || expert >= given.first_expert + given.experts ? 0 : given.table[expert];
        };
        auto start = [&](int item, int slot) {
            if (item < items) {
                bool common = item < commons;
                const GateUp& m = common ? given.common : given.routed;
                int first = (common ? item % common_tiles : (item - commons) % routed_tiles) * 16;
                u64 base = common ? 0 : blob_of(item), row_bytes = up ? m.up_bytes : m.gate_bytes;
                if (common || base != 0) {
                    bring_rows(slots + slot * tile_bytes + (up ? 16 * m.gate_slot : 0), up ? m.up_slot : m.gate_slot,
                               (const u8*)(base + (up ? m.up : m.gate)) + first * row_bytes, row_bytes,
                               min(16, m.intermediate - first), (int)row_bytes, part, HALF);
                }
            }
            copy_async_commit();
        };
        int begun = 0;
        while (begun < stages && !waited && (int)blockIdx.x + begun * (int)gridDim.x < commons) {
            start(blockIdx.x + begun * gridDim.x, begun);
            begun++;
        }
        if (!waited) {
            turn.wait();
            waited = true;
            if (route != nullptr) {
                choose_experts<WARPS>(*route, rows, resident);
            } else {
                for (int i = threadIdx.x; i < given.pairs; i += 32 * WARPS) {
                    resident.ids[i] = given.ids[i];
                }
                __syncthreads();
            }
        }
        for (; begun < stages; begun++) {
            start(blockIdx.x + begun * gridDim.x, begun);
        }
        const float* x = given.x + (long long)row0 * columns;
        if ((int)blockIdx.x < items) {
            bring_activations<WARPS, true>(x, nullptr, 0.0f, 1, here, columns, activations, stride, sums, inverses, nullptr);
        }
        int slot = 0;
        for (int item = blockIdx.x; item < items; item += gridDim.x) {
            bool common = item < commons;
            const GateUp& m = common ? given.common : given.routed;
            int in_row = common ? item / common_tiles : (item - commons) / routed_tiles;  // of the rows, or of the pairs
            int tile = common ? item % common_tiles : (item - commons) % routed_tiles;
            int first = tile * 16, own = min(16, m.intermediate - first), row = common ? in_row : in_row / given.used;
            u64 base = common ? 0 : blob_of(item), row_bytes = up ? m.up_bytes : m.gate_bytes;
            bool there = common || base != 0;
            float gate_scale = m.gate_scale, up_scale = m.up_scale;
            if (there && m.tail != 0 && threadIdx.x < 16) {
                gate_scale = ((const float*)(base + m.tail))[0];
                up_scale = ((const float*)(base + m.tail))[1];
            }
            copies_wait(stages - 1);
            __syncthreads();
            if (there) {
                u8* stored = slots + slot * tile_bytes + (up ? 16 * m.gate_slot : 0);
                int place = up ? m.up_slot : m.gate_slot;
                const u8* from = (const u8*)(base + (up ? m.up : m.gate)) + first * row_bytes;
                Columns c = columns_of(activations + row * stride, 0, sums + row * groups, 0, 1);
                Sums result = multiply(up ? m.up_type : m.gate_type, brought(stored, place, from, row_bytes, lane >> 2),
                                       brought(stored, place, from, row_bytes, (lane >> 2) + 8), groups, columns, c, 0, part, HALF, Sums{});
                if ((lane & 3) == 0) {
                    partial[warp][lane >> 2] = result.of[0];
                    partial[warp][(lane >> 2) + 8] = result.of[2];
                }
            }
            bool gates = common && tile == 0;
            if (gates) {
                float sum = 0.0f;
                for (int k = threadIdx.x; given.scalar_gate != nullptr && k < columns; k += 32 * WARPS) {
                    sum += given.scalar_gate[k] * read_fresh(x + (long long)row * columns + k);
                }
                sum = warp_sum(sum);
                if (lane == 0) {
                    of_gate[warp] = sum;
                }
            }
            __syncthreads();
            start(item + stages * gridDim.x, slot);
            slot = slot + 1 == stages ? 0 : slot + 1;
            if (there && (int)threadIdx.x < own) {
                float gate = 0.0f, upper = 0.0f;
#pragma unroll
                for (int w = 0; w < HALF; w++) {
                    gate += partial[w][threadIdx.x];
                    upper += partial[HALF + w][threadIdx.x];
                }
                float value = silu(gate * inverses[row] * gate_scale) * (upper * inverses[row] * up_scale);
                float* to = common ? given.common_h + (long long)(row0 + row) * m.intermediate
                                   : given.h + ((long long)row0 * given.used + in_row) * m.intermediate;
                to[first + threadIdx.x] = value;
            }
            if (gates && threadIdx.x == 0) {
                float sum = 0.0f;
                for (int w = 0; w < WARPS; w++) {
                    sum += of_gate[w];
                }
                given.factors[row0 + row] = given.scalar_gate == nullptr ? 1.0f : sigmoid(sum);
            }
        }
        copy_async_wait<0>();
        __syncthreads();
    }
}

// `known`: the choice is in shared memory since the phase before.
template <int WARPS>
STRATA_SHARED_FUNCTION void down_phase(const DownInputs& given, int rows, bool known, Resident& resident, u8* shared, int room, Turn turn) {
    // Warps that share an expert's columns; with more experts than warps a warp takes several in turn.
    int used = given.used, experts = used + given.shares, each = max(1, WARPS / experts), takers = WARPS / each;
    float(*partial)[16] = (float(*)[16])shared;  // [experts * each]
    float* inverses = (float*)(shared + 64 * experts * each);
    float* factors = inverses + experts;
    int x_bytes = given.warp_bytes - given.x_at, sums_at = given.sums_at == 0 ? 0 : given.sums_at - given.x_at;
    u8* values = shared + aligned_up(64 * experts * each + 8 * experts);
    u8* slots = values + experts * x_bytes;
    int unit_bytes = experts * given.x_at, stages = min(MOST_UNITS, (room - (int)(slots - shared)) / unit_bytes);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, taker = warp / each, part = warp % each;
    int tiles = tiles_of(given.outputs), items = tiles * rows;
    auto blob_of = [&](int row, int expert) -> u64 {
        int pair = row * used + expert;
        return given.table[resident.ids[pair]];
    };
    auto start = [&](int item, int slot) {
        if (item < items) {
            int first = item % tiles * 16, own = min(16, given.outputs - first);
            for (int e = taker; e < experts && taker < takers; e += takers) {
                const Down& m = e < used ? given.routed : given.common;
                u64 base = e < used ? blob_of(item / tiles, e) : 0;
                if (e >= used || base != 0) {
                    bring_rows(slots + slot * unit_bytes + e * given.x_at, m.slot, (const u8*)(base + m.offset) + first * m.row_bytes,
                               m.row_bytes, own, (int)m.row_bytes, part, each);
                }
            }
        }
        copy_async_commit();
    };
    int begun = 0;
    if (known) {
        for (; begun < stages; begun++) {
            start(blockIdx.x + begun * gridDim.x, begun);
        }
    }
    turn.wait();
    if (!known) {
        for (int i = threadIdx.x; i < rows * used; i += 32 * WARPS) {
            resident.ids[i] = given.ids[i];
            resident.weights[i] = read_fresh(given.weights + i);
        }
        __syncthreads();
        for (; begun < stages; begun++) {
            start(blockIdx.x + begun * gridDim.x, begun);
        }
    }
    int slot = 0;
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        int row = item / tiles, first = item % tiles * 16, own = min(16, given.outputs - first);
        float* target = given.out + (long long)row * given.outputs + first + threadIdx.x;
        float before = given.mode == ADD && (int)threadIdx.x < own ? read_fresh(target) : 0.0f;
        for (int e = warp; e < experts; e += WARPS) {
            const Down& m = e < used ? given.routed : given.common;
            const float* h = e < used ? given.h + ((long long)row * used + e) * m.columns : given.common_h + (long long)row * m.columns;
            u64 base = e < used ? blob_of(row, e) : 0;
            float factor = m.scale, inverse = 0.0f;
            if (e >= used) {
                factor *= read_fresh(given.factors + row);
            } else if (base != 0) {
                factor *= resident.weights[row * used + e] * (m.tail == 0 ? 1.0f : *(const float*)(base + m.tail));
            }
            u8* to = values + e * x_bytes;
            if (e >= used || base != 0) {
                bring_activations_of_warp(h, m.columns, (u16*)to, sums_at == 0 ? nullptr : (float*)(to + sums_at), inverse);
            }
            if (lane == 0) {
                factors[e] = factor * inverse;
            }
        }
        copies_wait(stages - 1);
        __syncthreads();
        for (int e = taker; e < experts && taker < takers; e += takers) {
            const Down& m = e < used ? given.routed : given.common;
            u64 base = e < used ? blob_of(row, e) : 0;
            Sums result = {};
            bool there = e >= used || base != 0;
            if (there) {
                const u8* from = (const u8*)(base + m.offset) + first * m.row_bytes;
                const u8* stored = slots + slot * unit_bytes + e * given.x_at;
                const u8* own_values = values + e * x_bytes;
                Columns c = columns_of((const u16*)own_values, 0, (const float*)(own_values + sums_at), 0, 1);
                result = multiply(m.type, brought(stored, m.slot, from, m.row_bytes, lane >> 2),
                                  brought(stored, m.slot, from, m.row_bytes, (lane >> 2) + 8), (m.columns + 31) >> 5, m.columns, c, 0,
                                  part, each, result);
            }
            if ((lane & 3) == 0) {
                float factor = there ? factors[e] : 0.0f;
                partial[e * each + part][lane >> 2] = there ? factor * result.of[0] : 0.0f;
                partial[e * each + part][(lane >> 2) + 8] = there ? factor * result.of[2] : 0.0f;
            }
        }
        __syncthreads();
        start(item + stages * gridDim.x, slot);
        slot = slot + 1 == stages ? 0 : slot + 1;
        if ((int)threadIdx.x < own) {
            float sum = 0.0f;
            for (int i = 0; i < experts * each; i++) {
                sum += partial[i][threadIdx.x];
            }
            if (given.mode == INJECT) {
                inject(given.out, sum, given.strengths, given.streams, row, given.outputs, first + threadIdx.x);
            } else {
                *target = before + sum;
            }
        }
    }
}

template <int D, int FORMAT>
STRATA_INLINE void attend_phase(const AttendInputs& given, const Phase& phase, u8* shared, Turn turn) {
    if (threadIdx.x >= 128) {
        return;
    }
    bool waited = false;
    PartTeam team = {turn, waited};
    int items = phase.grid_x * phase.grid_y * phase.grid_z;
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        Place place = {item % phase.grid_x, phase.grid_x, item / phase.grid_x % phase.grid_y, phase.grid_y,
                       item / phase.grid_x / phase.grid_y};
        attend<D, FORMAT>(team, place, shared, given);
        copy_async_wait<0>();
        team.sync();
    }
    team.wait();
}

template <int WARPS>
STRATA_INLINE void merge_phase(const MergeInputs& given, int heads, Turn turn) {
    turn.wait();
    for (int head = blockIdx.x * (WARPS / 4) + threadIdx.x / 128; head < heads; head += gridDim.x * (WARPS / 4)) {
        merge_head(given, head, threadIdx.x % 128, 128);
    }
}

template <int D, int FORMAT, int WARPS>
STRATA_INLINE void persistent(const u8* program, int phases, int* counter, u64* stamps, int shared_bytes) {
    STRATA_DYNAMIC_SHARED(memory);
    Resident& resident = *(Resident*)memory;
    const int KEPT = (sizeof(Resident) + 127) / 128 * 128, PIECES = sizeof(Phase) / 16;
    u8* shared = memory + KEPT;
    int room = shared_bytes - KEPT;
    auto fetch = [&](int phase) {
        if (phase < phases && (int)threadIdx.x < PIECES) {
            copy_async_16((u8*)&resident.phases[phase % 3] + 16 * threadIdx.x, program + (u64)phase * sizeof(Phase) + 16 * threadIdx.x);
        }
        copy_async_commit();
    };
    u64* own_stamps = stamps == nullptr ? nullptr : stamps + (u64)blockIdx.x * 4;
    u64* ends = stamps + ((u64)phases * gridDim.x * 4 + blockIdx.x * 2);
    if (stamps != nullptr && threadIdx.x == 0) {
        ends[0] = nanoseconds();
    }
    fetch(0);
    copy_async_wait<0>();
    __syncthreads();
    const int* chosen = nullptr;  // whose ids are in shared memory
#pragma unroll 1
    for (int p = 0; p < phases; p++) {
        const Phase& phase = resident.phases[p % 3];
        const Phase& before = resident.phases[(p + 2) % 3];
        fetch(p + 1);
        Turn turn = {counter, p * (int)gridDim.x, own_stamps};
        if (own_stamps != nullptr && threadIdx.x == 0) {
            own_stamps[0] = cycles();
        }
#pragma unroll 1
        for (int i = 0; i < RANGES; i++) {
            u64 each = (phase.ahead[i].bytes / gridDim.x + 127) & ~127ull, from = each * blockIdx.x;
            if (from < phase.ahead[i].bytes) {
                prefetch_lines(phase.ahead[i].at + from, min(each, phase.ahead[i].bytes - from), threadIdx.x, 32 * WARPS);
            }
        }
        switch (phase.code) {
            case PHASE_PRODUCTS: {
                const ProductsInputs& given = *(const ProductsInputs*)phase.arguments;
                products_phase<WARPS>(given, phase.shared_bytes - given.tile_at, shared, room, turn);
                break;
            }
            case PHASE_ROUTE: {
                const RouteInputs& given = *(const RouteInputs*)phase.arguments;
                copy_async_wait<0>();
                __syncthreads();
                const Phase& next = resident.phases[(p + 1) % 3];
                bool later = p + 1 < phases && next.code == PHASE_GATE_UP && ((const GateUpInputs*)next.arguments)->ids == given.ids &&
                             given.used <= MOST_USED;
                chosen = nullptr;
                route_phase<WARPS>(given, phase.grid_y, !later, shared, room, turn);
                break;
            }
            case PHASE_GATE_UP: {
                const GateUpInputs& given = *(const GateUpInputs*)phase.arguments;
                const RouteInputs* route = p > 0 && before.code == PHASE_ROUTE ? (const RouteInputs*)before.arguments : nullptr;
                if (route != nullptr && route->ids != given.ids) {
                    route = nullptr;
                }
                gate_up_phase<WARPS>(given, route, phase.grid_y - given.pairs, phase.shared_bytes - given.tile_at, resident, shared,
                                     room, turn);
                chosen = route == nullptr ? nullptr : given.ids;
                break;
            }
            case PHASE_DOWN: {
                const DownInputs& given = *(const DownInputs*)phase.arguments;
                down_phase<WARPS>(given, phase.grid_y, chosen == given.ids, resident, shared, room, turn);
                chosen = nullptr;
                break;
            }
            case PHASE_ATTEND: attend_phase<D, FORMAT>(*(const AttendInputs*)phase.arguments, phase, shared, turn); break;
            case PHASE_MERGE: merge_phase<WARPS>(*(const MergeInputs*)phase.arguments, phase.grid_x, turn); break;
            default: turn.wait();
        }
        copy_async_wait<0>();
        __syncthreads();
        if (threadIdx.x == 0) {
            if (own_stamps != nullptr) {
                own_stamps[3] = cycles();
                own_stamps += gridDim.x * 4;
            }
            if (p + 1 < phases) {
                arrive_at(counter);
            }
        }
    }
    // The last block leaves the counter as it was.
    if (threadIdx.x == 0) {
        publish();
        if (atomicAdd(counter, 1) == phases * (int)gridDim.x - 1) {
            *counter = 0;
        }
        if (stamps != nullptr) {
            ends[1] = nanoseconds();
        }
    }
}

#define PERSISTENT(D, suffix, FORMAT, WARPS)                                                                                \
    STRATA_KERNEL_ALONE(32 * WARPS, decode_persistent_##D##_##suffix, const u8* program, int phases, int shared_bytes,      \
                        int* counter, u64* stamps) {                                                                        \
        wait_for_previous_kernel();                                                                                         \
        persistent<D, FORMAT, WARPS>(program, phases, counter, stamps, shared_bytes);                                       \
    }

PERSISTENT(128, f16, KV_F16, 16)
PERSISTENT(256, f16, KV_F16, 8)
#ifdef STRATA_EMULATED
// Heads of the small models of tests.
PERSISTENT(16, f16, KV_F16, 16)
PERSISTENT(32, f16, KV_F16, 8)
PERSISTENT(64, f16, KV_F16, 16)
PERSISTENT(64, int8, KV_INT8, 8)
#endif
