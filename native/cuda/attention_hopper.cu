// Prompt attention with wgmma for sm_90a over paged keys and values in float16.
//
// Tiling: a block takes 64 (token, query head of one kv head) rows for each of its two or three warp groups and walks over the pages of 64
// positions. One thread has the tensor unit copy pages of keys and values in turn into a ring of slots; its warp group gives its registers
// to the others. The scores of the next page are made while the values of this one are gathered, and groups drift apart, so that one's
// softmax runs beside the others' products. Sums are float32, weights float16.
// Bytes moved: every key and value once for 64 x groups rows, from the L2 cache.
#include "hopper.cuh"
#include "kv.cuh"

template <int D>
struct Shape {
    static const int GROUPS = D >= 256 ? 2 : 3;
    static const int QUERY_BYTES = GROUPS * 128 * D, SLOT_BYTES = 128 * D;
    static const int SLOTS = D >= 256 ? 5 : D >= 128 ? 10 : 12;
    static const int REGISTERS = D >= 256 ? 240 : 160;
    static const int SPARED = D >= 256 ? 24 : 32;
};

// scores[64 rows][64 positions] of a page, issued; queries and keys are boxes of 64 columns.
template <int D>
STRATA_INLINE void issue_scores(float (&scores)[32], const u8* queries, const u8* keys) {
#pragma unroll
    for (int kk = 0; kk < D / 16; kk++) {
        Group<64>::multiply(scores, rows_of_box(queries + kk / 4 * BOX_BYTES) + 2 * (kk % 4),
                            rows_of_box(keys + kk / 4 * BOX_BYTES) + 2 * (kk % 4), kk > 0);
    }
    group_commit();
}

// out[64 rows][D] += weights x values of a page, issued.
template <int D>
STRATA_INLINE void issue_values(float (&out)[D / 2], const u32 (&weights)[4][4], const u8* values) {
    u64 b = columns_of_boxes(values);
#pragma unroll
    for (int kk = 0; kk < 4; kk++) {
        Group<D>::gather(out, weights[kk], b + kk * (2048 >> 4), 1);
    }
    group_commit();
}

template <int D>
STRATA_INLINE void prompt(const Map* key_map, const Map* value_map, const float* queries, int heads, int kv_heads,
                          float scale, const int* first_rows, const int* segment_rows, const int* pasts,
                          const int* segment_bases, const int* pages, const float* gates, float* result) {
    typedef Shape<D> S;
    STRATA_DYNAMIC_SHARED(memory);
    wait_for_previous_kernel();
    int segment = blockIdx.z, kv_head = blockIdx.y, group_size = heads / kv_heads;
    int tile = gridDim.x - 1 - blockIdx.x;  // long rows first
    const int ROWS = 64 * S::GROUPS;
    int all = segment_rows[segment] * group_size;
    if (tile * ROWS >= all) {
        return;
    }
    u8* shared = memory + ((1024 - (shared_address(memory) & 1023)) & 1023);
    u8* slots = shared + S::QUERY_BYTES;
    u64* full = (u64*)(slots + S::SLOTS * S::SLOT_BYTES);
    u64* empty = full + S::SLOTS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < S::SLOTS; i++) {
            barrier_start(full + i, 1);
            barrier_start(empty + i, 4 * S::GROUPS);
        }
        barriers_started();
    }
    __syncthreads();
    int past = pasts[segment], first_row = first_rows[segment], base = segment_bases[segment];
    int last_page = (past + min(tile * ROWS + ROWS - 1, all - 1) / group_size) >> 6;
    if (threadIdx.x < 128) {
        leave_registers<S::SPARED>();
        if (threadIdx.x == 0) {
            int slot = 0, parity = 1;
            for (int page = 0; page <= last_page; page++) {
                int row = (pages[base + page] * kv_heads + kv_head) * 64;
                for (int kind = 0; kind < 2; kind++) {
                    barrier_wait(empty + slot, parity);
                    barrier_expect(full + slot, S::SLOT_BYTES);
                    for (int i = 0; i < D / 64; i++) {
                        fetch_box(slots + slot * S::SLOT_BYTES + i * BOX_BYTES, kind == 0 ? key_map : value_map, 64 * i, row,
                                  full + slot);
                    }
                    if (++slot == S::SLOTS) {
                        slot = 0;
                        parity ^= 1;
                    }
                }
            }
        }
        return;
    }
    take_registers<S::REGISTERS>();
    int group = (threadIdx.x >> 7) - 1, thread = threadIdx.x & 127, lane = threadIdx.x & 31, warp = thread >> 5;
    int flat = tile * ROWS + 64 * group;
    u8* own = shared + group * 128 * D;
    float factor = scale * 1.4426950408889634f;
    for (int i = thread; i < 64 * (D / 8); i += 128) {
        int row = i / (D / 8), chunk = i % (D / 8);
        Word4 halves = {0, 0, 0, 0};
        if (flat + row < all) {
            long long head = (long long)(first_row + (flat + row) / group_size) * heads + kv_head * group_size +
                             (flat + row) % group_size;
            const Vec4* q = (const Vec4*)(queries + head * D + 8 * chunk);
            Vec4 low = q[0], high = q[1];
            halves.x = half2_in_range(low.x * factor, low.y * factor);
            halves.y = half2_in_range(low.z * factor, low.w * factor);
            halves.z = half2_in_range(high.x * factor, high.y * factor);
            halves.w = half2_in_range(high.z * factor, high.w * factor);
        }
        *(Word4*)(own + chunk / 8 * BOX_BYTES + box_offset(row, chunk % 8)) = halves;
    }
    publish_shared();
    named_barrier(1 + group, 128);

    int flat0 = flat + 16 * warp + (lane >> 2);
    int position0 = past + min(flat0, all - 1) / group_size, position1 = past + min(flat0 + 8, all - 1) / group_size;
    int lowest = past + min(flat, all - 1) / group_size;
    float out[D / 2], scores[32], best0 = -INFINITY, best1 = -INFINITY, sum0 = 0.0f, sum1 = 0.0f;
    u32 weights[4][4];
#pragma unroll
    for (int i = 0; i < D / 2; i++) {
        out[i] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < 32; i++) {
        scores[i] = 0.0f;
    }
    int slot = 0, parity = 0;
    auto advance = [&]() {
        if (++slot == S::SLOTS) {
            slot = 0;
            parity ^= 1;
        }
    };
    auto release = [&](int which) {
        if (lane == 0) {
            barrier_arrive(empty + which);
        }
    };
    float shrink0 = 1.0f, shrink1 = 1.0f;
    // Turns scores into weights that sum up with what there is; says how much what there is shrinks.
    auto weigh = [&](int page) {
        if (page * 64 + 63 > lowest) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    int position = page * 64 + 8 * i + 2 * (lane & 3) + (e & 1);
                    if (position > (e < 2 ? position0 : position1)) {
                        scores[4 * i + e] = -INFINITY;
                    }
                }
            }
        }
        float top0 = best0, top1 = best1;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            top0 = fmaxf(top0, fmaxf(scores[4 * i], scores[4 * i + 1]));
            top1 = fmaxf(top1, fmaxf(scores[4 * i + 2], scores[4 * i + 3]));
        }
        // Position 0 is seen by every row, so that the first page makes both finite.
        top0 = quad_max(top0);
        top1 = quad_max(top1);
        shrink0 = power_of_two(best0 - top0);
        shrink1 = power_of_two(best1 - top1);
        best0 = top0;
        best1 = top1;
        float total0 = 0.0f, total1 = 0.0f;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            scores[4 * i] = power_of_two(scores[4 * i] - top0);
            scores[4 * i + 1] = power_of_two(scores[4 * i + 1] - top0);
            scores[4 * i + 2] = power_of_two(scores[4 * i + 2] - top1);
            scores[4 * i + 3] = power_of_two(scores[4 * i + 3] - top1);
            total0 += scores[4 * i] + scores[4 * i + 1];
            total1 += scores[4 * i + 2] + scores[4 * i + 3];
        }
        sum0 = sum0 * shrink0 + total0;
        sum1 = sum1 * shrink1 + total1;
    };
    auto take_weights = [&]() {
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                weights[kk][e] = half2_of(scores[8 * kk + 2 * e], scores[8 * kk + 2 * e + 1]);
            }
        }
    };

    barrier_wait(full + slot, parity);
    group_begin();
    issue_scores<D>(scores, own, slots + slot * S::SLOT_BYTES);
    group_wait<0>();
    group_fence(scores);
    release(slot);
    advance();
    weigh(0);
    take_weights();
    for (int page = 1; page <= last_page; page++) {
        int value_slot = slot, value_parity = parity;
        advance();
        barrier_wait(full + slot, parity);
        group_fence(scores);
        group_begin();
        issue_scores<D>(scores, own, slots + slot * S::SLOT_BYTES);
        barrier_wait(full + value_slot, value_parity);
        group_fence(out);
        group_begin();
        issue_values<D>(out, weights, slots + value_slot * S::SLOT_BYTES);
        group_wait<1>();
        group_fence(scores);
        release(slot);
        advance();
        weigh(page);
        group_wait<0>();
        group_fence(out);
        release(value_slot);
        take_weights();
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
            out[4 * i] *= shrink0;
            out[4 * i + 1] *= shrink0;
            out[4 * i + 2] *= shrink1;
            out[4 * i + 3] *= shrink1;
        }
    }
    barrier_wait(full + slot, parity);
    group_fence(out);
    group_begin();
    issue_values<D>(out, weights, slots + slot * S::SLOT_BYTES);
    group_wait<0>();
    group_fence(out);

#pragma unroll
    for (int half = 0; half < 2; half++) {
        float divisor = 1.0f / quad_sum(half == 0 ? sum0 : sum1);
        int r = flat0 + 8 * half;
        if (r >= all) {
            continue;
        }
        long long head = (long long)(first_row + r / group_size) * heads + kv_head * group_size + r % group_size;
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
            long long at = head * D + 8 * i + 2 * (lane & 3);
            float first = out[4 * i + 2 * half] * divisor, second = out[4 * i + 2 * half + 1] * divisor;
            if (gates != nullptr) {
                first *= sigmoid(gates[at]);
                second *= sigmoid(gates[at + 1]);
            }
            result[at] = first;
            result[at + 1] = second;
        }
    }
}

#define PROMPT(D, threads)                                                                                              \
    STRATA_KERNEL_ALONE(threads, attention_hopper_##D, STRATA_MAP keys, STRATA_MAP values, const float* queries, int heads,   \
                  int kv_heads, float scale, const int* first_rows, const int* segment_rows, const int* pasts,          \
                  const int* segment_bases, const int* pages, const float* gates, float* out) {                        \
        prompt<D>(&keys, &values, queries, heads, kv_heads, scale, first_rows, segment_rows, pasts, segment_bases,      \
                  pages, gates, out);                                                                                   \
    }
PROMPT(64, 512)
PROMPT(128, 512)
PROMPT(256, 384)
