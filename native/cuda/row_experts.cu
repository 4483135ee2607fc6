// row_route: norm, router product (float32) and choice. A block an expert; the one that comes last chooses.
// row_gate_up: silu(gate x) * (up x) for every expert that is chosen and for the shared one. A block makes 16 values.
// row_down: the weighted sum of the down products and of the shared expert's, in that order. A block makes 16 outputs, two warps take an expert.
#include "row.cuh"

template <class T, class S>
struct Same {
    static const bool value = false;
};
template <class T>
struct Same<T, T> {
    static const bool value = true;
};

// grid (experts, rows). Up to READ_EARLY * 2048 columns. So few registers that the blocks of 512 experts are all on the card at once.
const int READ_EARLY = 2;
template <class T>
STRATA_INLINE void route(const RouteInputs& given, float (*partial)[2], ChoiceRoom& choice) {
    int t = threadIdx.x, columns = given.columns, items = columns >> 3, row = blockIdx.y;
    const float* x = given.x + (long long)row * columns;
    float* logits = given.logits + (long long)row * given.experts;
    const u8* stored = given.router + (u64)blockIdx.x * given.row_bytes;
    // Four weights of a half of an item, and the column of the first.
    auto column_of = [](int item, int half) { return 32 * (item >> 2) + (half == 0 ? T::first(item & 3) : T::second(item & 3)); };
    auto norm_of = [&](int item, int half) {
        return given.norm != nullptr ? *(const Vec4*)(given.norm + column_of(item, half)) : Vec4{1.0f, 1.0f, 1.0f, 1.0f};
    };
    float weights[READ_EARLY][8], sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int j = 0; j < READ_EARLY; j++) {
        int item = t + 256 * j;
        if (item < items) {
            Eight stored_ones;
            read_eight<T>(stored, item, columns, stored_ones);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                Vec4 norm = norm_of(item, h);
                const float* from = stored_ones.of + 4 * h;
                float* to = weights[j] + 4 * h;
                to[0] = from[0] * norm.x;
                to[1] = from[1] * norm.y;
                to[2] = from[2] * norm.z;
                to[3] = from[3] * norm.w;
            }
        }
    }
    wait_for_previous_kernel();
    release_next_kernel();
#pragma unroll
    for (int j = 0; j < READ_EARLY; j++) {
        int item = t + 256 * j;
        if (item < items) {
            float v[8];
            read_fresh_four(x + column_of(item, 0), v);
            read_fresh_four(x + column_of(item, 1), v + 4);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                squares += v[i] * v[i];
                sum += v[i] * weights[j][i];
            }
        }
    }
    sum_two(sum, squares, partial);
    float factor = given.norm == nullptr ? 1.0f : inverse_root(squares / columns + given.epsilon);
    if (t == 0) {
        logits[blockIdx.x] = sum * factor * given.router_scale;
    }
    if (last_of(given.arrivals + row, gridDim.x)) {
        choose(logits, given.experts, given.used, given.renormalise, given.scale, choice, given.ids + row * given.used, given.weights + row * given.used);
    }
    if (blockIdx.x == 0 && given.norm != nullptr) {
#pragma unroll 1
        for (int item = t; item < items; item += 256) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int column = column_of(item, h);
                float v[4];
                Vec4 norm = norm_of(item, h);
                read_fresh_four(x + column, v);
                *(Vec4*)(given.normed + (long long)row * columns + column) =
                    Vec4{v[0] * norm.x * factor, v[1] * norm.y * factor, v[2] * norm.z * factor, v[3] * norm.w * factor};
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
// Values of an expert whose rows from `from` on are on their way to `tile`: 16, gate's rows by the first half of the block and up's by the other, or, TOGETHER, eight
// by all of it, of a tile in which up's rows (from `up` on) lie behind gate's.
template <class T, bool TOGETHER>
STRATA_INLINE void gated(const GateUpInputs& given, GateUpRoom& room, float (*x)[4], const u8* tile, int slot, const u8* from, const u8* up, u32 row_bytes,
                         float gate_scale, float up_scale, int own, float* to) {
    STRATA_DYNAMIC_SHARED(shared);
    float(*partial)[16] = room.partial;
    int t = threadIdx.x, warp = t >> 5, columns = given.columns;
    const int SHARE = TOGETHER ? 8 : 4, VALUES = TOGETHER ? 8 : 16;
    float* sums = T::OFFSET ? (float*)(shared + given.sums_at) : nullptr;
    Vec4 ones[KEPT];
    keep_norm<8>(nullptr, columns, ones);
    keep<8>(x, ones, false, 0.0f, columns, form_of<T>(), (u16*)shared, sums, &room.inverse, nullptr);
    copy_async_wait<0>();
    __syncthreads();
    auto row_of = [&](int r) {
        return TOGETHER && r >= 8 ? brought(tile + 8 * slot, slot, up, row_bytes, r - 8) : brought(tile, slot, from, row_bytes, r);
    };
    tile_sums<T>(row_of, columns, (u16*)shared, sums, warp & (SHARE - 1), SHARE, 1.0f, partial[warp]);
    __syncthreads();
    if (t < VALUES && t < own) {
        float gate = 0.0f, upper = 0.0f;
#pragma unroll
        for (int w = 0; w < SHARE; w++) {
            gate += partial[w][t];
            upper += TOGETHER ? partial[w][t + 8] : partial[w + 4][t];
        }
        gate *= room.inverse * gate_scale;
        to[t] = gate / (1.0f + power_of_two(-1.4426950408889634f * gate)) * (upper * room.inverse * up_scale);
    }
}
// T: type of the routed experts, S: of the shared one. Rows of another type may be longer, and all blocks get as much memory as the largest: with a type of its own the
// shared expert is taken by twice as many blocks of eight values each.
template <class T, class S>
STRATA_INLINE void gate_up(const GateUpInputs& given, GateUpRoom& room) {
    STRATA_DYNAMIC_SHARED(shared);
    const bool ALIKE = Same<T, S>::value;
    u64* blobs = room.blobs;
    int t = threadIdx.x, r = t >> 3, beyond = (int)blockIdx.y - given.pairs;
    bool common = beyond >= 0, together = !ALIKE && common;
    const GateUp& m = common ? given.common : given.routed;
    int row = !common ? blockIdx.y / given.used : ALIKE ? beyond : beyond >> 1;
    int first = together ? 16 * blockIdx.x + 8 * (beyond & 1) : 16 * blockIdx.x, rows_of_each = together ? 8 : 16;
    int own = min(rows_of_each, m.intermediate - first), slot = m.gate_slot;
    const float* x = given.x + (long long)row * given.columns;
    u32 row_bytes = (u32)m.gate_bytes;
    // Half of the threads bring gate's rows, half bring up's.
    bool up = r >= 16;
    u8* tile = shared + given.tile_at + (up ? rows_of_each * slot : 0);
    u64 from = (up ? m.up : m.gate) + (u64)first * row_bytes;
    if (!common) {
#pragma unroll 1
        for (int i = t; i < given.experts; i += 256) {
            blobs[i] = given.table[i];
        }
    } else if (own > 0) {
        int in_half = t & 127;
        bring_tile(tile, slot, (const u8*)from, row_bytes, row_bytes, own, ALIKE ? in_half >> 3 : in_half >> 4, ALIKE ? t & 7 : t & 15, ALIKE ? 8 : 16);
    }
    __syncthreads();
    wait_for_previous_kernel();
    release_next_kernel();
    if (own <= 0) {
        return;
    }
    float gate_scale = m.gate_scale, up_scale = m.up_scale;
    // Asked for before the stored rows, behind which it would wait.
    float kept[KEPT][4];
    int expert = common ? 0 : read_fresh(given.ids + blockIdx.y);
    read_kept<8>(x, given.columns, kept);
    if (!common) {
        u64 base = blobs[expert];
        if (base == 0) {
            return;
        }
        from += base;
        bring_tile(tile, slot, (const u8*)from, row_bytes, row_bytes, own, r & 15, t & 7, 8);
        if (m.tail != 0) {
            gate_scale = ((const float*)(base + m.tail))[0];
            up_scale = ((const float*)(base + m.tail))[1];
        }
    }
    copy_async_commit();
    float* to = (common ? given.common_h + (long long)row * m.intermediate : given.h + (long long)blockIdx.y * m.intermediate) + first;
    if (together) {
        gated<S, true>(given, room, kept, shared + given.tile_at, slot, (const u8*)m.gate + (u64)first * row_bytes, (const u8*)m.up + (u64)first * row_bytes,
                       row_bytes, gate_scale, up_scale, own, to);
    } else {
        gated<T, false>(given, room, kept, tile, slot, (const u8*)from, nullptr, row_bytes, gate_scale, up_scale, own, to);
    }
    if (common && blockIdx.x == 0 && (ALIKE || (beyond & 1) == 0)) {
        shared_factor(given, x, row, room.of_gate);
    }
}

// grid (outputs / 16, rows), WARPS warps for every expert and for the shared one. T: type of the routed experts, S: of the shared one.
template <class T, class S, int WARPS>
STRATA_INLINE void down(const DownInputs& given, float (*partial)[16], float* most_of) {
    STRATA_DYNAMIC_SHARED(shared);
    int t = threadIdx.x, warp = t >> 5, which = warp / WARPS, part = warp % WARPS, of_expert = t % (32 * WARPS);
    int first = blockIdx.x * 16, own = given.outputs - first, row = blockIdx.y, pair = row * given.used + which;
    bool common = which >= given.used;
    const Down& m = common ? given.common : given.routed;
    u8* tile = shared + which * given.expert_bytes;
    // A thread for every output and, where there are several, residual stream.
    int output = t & 15, stream = t >> 4, streams = given.mode == INJECT ? given.streams : 1;
    bool makes = stream < streams && output < own;
    float* target = given.out + ((long long)row * streams + stream) * given.outputs + first + output;
    float factor = m.scale;
    u64 base = 0;
    if (!common) {
        base = given.table[read_fresh(given.ids + pair)];
    }
    bool there = common || base != 0;
    const u8* from = (const u8*)(base + m.offset) + (u64)first * m.row_bytes;
    if (there) {
        bring_tile(tile, m.slot, from, (u32)m.row_bytes, (u32)m.row_bytes, own, of_expert / (2 * WARPS), of_expert % (2 * WARPS), 2 * WARPS);
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
    float before = makes && given.mode != STORE ? read_fresh(target) : 0.0f;
    float strength = makes && given.mode == INJECT ? read_fresh(given.strengths + row * streams + stream) : 1.0f;
    if (common) {
        factor *= read_fresh(given.factors + row);
    }
    const float* x = common ? given.common_h + (long long)row * m.columns : given.h + (long long)pair * m.columns;
    u16* activations = (u16*)(tile + (common ? given.common_x_at : given.x_at));
    float* sums = (common ? S::OFFSET : T::OFFSET) ? (float*)(tile + (common ? given.common_sums_at : given.sums_at)) : nullptr;
    float inverse;
    bring_activations_of_warps<8 / WARPS>(there, x, m.columns, common ? form_of<S>() : form_of<T>(), activations, sums, part, WARPS, most_of + WARPS * which,
                               inverse);
    copy_async_wait<0>();
    __syncthreads();
    auto row_of = [&](int r) { return brought(tile, m.slot, from, m.row_bytes, r); };
    factor *= inverse;
    if (!Same<T, S>::value && common) {
        tile_sums<S>(row_of, m.columns, activations, sums, part, WARPS, factor, partial[warp]);
    } else if (there) {
        tile_sums<T>(row_of, m.columns, activations, sums, part, WARPS, factor, partial[warp]);
    } else if ((t & 31) < 16) {
        partial[warp][t & 15] = 0.0f;
    }
    __syncthreads();
    if (makes) {
        float sum = 0.0f;
#pragma unroll 4
        for (int w = 0; w < WARPS * (given.used + given.shares); w++) {
            sum += partial[w][output];
        }
        *target = before + strength * sum;
    }
}

// T: type of the routed experts, S: of the shared one. Beside a shared expert of another type a warp makes an expert's down products, so that two blocks fit a
// multiprocessor; otherwise two do, and a block has a multiprocessor to itself.
#define STRATA_ROW_EXPERTS(name, T, S)                                                               \
    STRATA_RESIDENT_KERNEL(256, 4, row_gate_up_##name, const __grid_constant__ GateUpInputs given) { \
        __shared__ GateUpRoom room;                                                                  \
        gate_up<T, S>(given, room);                                                                  \
    }                                                                                                \
    STRATA_RESIDENT_KERNEL((Same<T, S>::value ? 768 : 384), (Same<T, S>::value ? 1 : 2), row_down_##name, \
                           const __grid_constant__ DownInputs given) {                               \
        __shared__ float partial[24][16];                                                            \
        __shared__ float most_of[24];                                                                \
        down<T, S, (Same<T, S>::value ? 2 : 1)>(given, partial, most_of);                            \
    }
#define STRATA_ROW_ONE_TYPE(name, T) STRATA_ROW_EXPERTS(name, T, T)
EACH_STORED_TYPE(STRATA_ROW_ONE_TYPE)
// Files keep the shared expert, which every token goes through, in more bits.
#define STRATA_ROW_BESIDE_Q8_0(name, T) STRATA_ROW_EXPERTS(name##_q8_0, T, TypeQ8_0)
STRATA_ROW_BESIDE_Q8_0(q4_0, TypeQ4_0)
STRATA_ROW_BESIDE_Q8_0(q4_1, TypeQ4_1)
STRATA_ROW_BESIDE_Q8_0(q5_0, TypeQ5_0)
STRATA_ROW_BESIDE_Q8_0(q5_1, TypeQ5_1)
STRATA_ROW_BESIDE_Q8_0(iq4_nl, TypeIq4Nl)
STRATA_ROW_BESIDE_Q8_0(mxfp4, TypeMxfp4)
STRATA_ROW_BESIDE_Q8_0(nvfp4, TypeNvfp4)
STRATA_ROW_BESIDE_Q8_0(q4_k, TypeQ4_K)
STRATA_ROW_BESIDE_Q8_0(q5_k, TypeQ5_K)
STRATA_ROW_BESIDE_Q8_0(q6_k, TypeQ6_K)
STRATA_ROW_BESIDE_Q8_0(iq4_xs, TypeIq4Xs)
STRATA_ROW_BESIDE_Q8_0(q2_0, TypeQ2_0)
STRATA_ROW_BESIDE_Q8_0(iq2_xs, TypeIq2Xs)
STRATA_ROW_BESIDE_Q8_0(iq3_xxs, TypeIq3Xxs)
STRATA_ROW_BESIDE_Q8_0(iq3_s, TypeIq3S)
STRATA_ROW_EXPERTS(mxfp4_bf16, TypeMxfp4, TypeBf16)
STRATA_ROW_EXPERTS(nvfp4_bf16, TypeNvfp4, TypeBf16)

#define STRATA_ROW_ROUTER(name, T)                                                                \
    STRATA_RESIDENT_KERNEL(256, 4, row_route_##name, const __grid_constant__ RouteInputs given) { \
        __shared__ float partial[8][2];                                                           \
        __shared__ ChoiceRoom choice;                                                             \
        route<T>(given, partial, choice);                                                         \
    }
STRATA_ROW_ROUTER(f32, TypeF32)
STRATA_ROW_ROUTER(f16, TypeF16)
STRATA_ROW_ROUTER(bf16, TypeBf16)
STRATA_ROW_ROUTER(q8_0, TypeQ8_0)
