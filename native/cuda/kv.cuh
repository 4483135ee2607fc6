// Paged keys and values.
//
// Layout: [page][kv head][64 positions][head size], in float32, float16, int8 or 4 bits; the last two have one float16 scale for every
// 64 values (or per head where heads are smaller): [page][kv head][64 positions][scales]. 4 bits: values 2i and 2i + 1 are the low and high half
// of byte i, 0 to 15 stand for -8 to 7 scales, and each group of values that shares a scale was turned by a Hadamard matrix. pages[base + position / 64] is the page of a position.
#pragma once

#include "strata.cuh"

enum KvFormat { KV_F32 = 0, KV_F16 = 1, KV_INT8 = 2, KV_Q4 = 3 };

struct Pages {
    const int* pages;
    int kv_heads, head_size;
    STRATA_MEMBER long long vector_of(int base, int position, int kv_head) const {
        return ((long long)pages[base + (position >> 6)] * kv_heads + kv_head) * 64 + (position & 63);
    }
};

STRATA_INLINE int scales_of(int head_size) { return head_size <= 64 ? 1 : (head_size + 63) >> 6; }

// Which positions a row sees: all up to its own, or chosen blocks in ascending order and the incomplete tail.
struct Visible {
    const int* blocks;  // null: all
    int chosen, block, tail, length;
    STRATA_MEMBER int position(int i) const {
        if (blocks == nullptr) {
            return i;
        }
        int inside = chosen * block;
        return i < inside ? blocks[i / block] * block + i % block : tail + (i - inside);
    }
};

// `counts` holds the number of chosen blocks of every row, -1 for all.
STRATA_INLINE Visible visible(const int* counts, const int* blocks, int budget, int block, int row, int position) {
    Visible v = {nullptr, 0, 1, 0, position + 1};
    if (counts != nullptr && counts[row] >= 0) {
        v.blocks = blocks + (long long)row * budget;
        v.chosen = counts[row];
        v.block = block;
        v.tail = (position + 1) / block * block;
        v.length = v.chosen * block + (position + 1 - v.tail);
    }
    return v;
}

STRATA_INLINE float kv_value(const void* data, const u16* scales, int format, long long vector, int head_size, int d) {
    switch (format) {
        case KV_F32: return ((const float*)data)[vector * head_size + d];
        case KV_F16: return from_half(((const u16*)data)[vector * head_size + d]);
        case KV_INT8:
            return (float)((const i8*)data)[vector * head_size + d] *
                   from_half(scales[vector * scales_of(head_size) + (d >> 6)]);
        default: {
            int pair = ((const u8*)data)[(vector * head_size + d) >> 1];
            return (float)((pair >> (4 * (d & 1)) & 15) - 8) * from_half(scales[vector * scales_of(head_size) + (d >> 6)]);
        }
    }
}

// Products of a head's groups with an orthonormal Hadamard matrix in Sylvester's order, by one warp, in shared memory. Its own inverse.
STRATA_INLINE void turn_head(float* v, int head_size) {
    int lane = threadIdx.x & 31, group = min(64, head_size);
    for (int stride = 1; stride < group; stride *= 2) {
        warp_barrier();
        for (int i = lane; i < head_size / 2; i += 32) {
            int at = i / stride * 2 * stride + i % stride;
            float low = v[at], high = v[at + stride];
            v[at] = low + high;
            v[at + stride] = low - high;
        }
    }
    warp_barrier();
    float factor = 1.0f / sqrtf((float)group);
    for (int d = lane; d < head_size; d += 32) {
        v[d] *= factor;
    }
    warp_barrier();
}
