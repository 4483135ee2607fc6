// Paged keys and values.
//
// Layout: [page][kv head][64 positions][head size], in float32, float16 or int8; int8 has one float16 scale for every 64 values (or per head
// where heads are smaller): [page][kv head][64 positions][scales]. pages[base + position / 64] is the page of a position.
#pragma once

#include "strata.cuh"

enum KvFormat { KV_F32 = 0, KV_F16 = 1, KV_INT8 = 2 };

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
        default:
            return (float)((const i8*)data)[vector * head_size + d] *
                   from_half(scales[vector * scales_of(head_size) + (d >> 6)]);
    }
}
