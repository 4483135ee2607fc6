// Attention over paged keys and values.
//
// attention_inputs: splits off gates, norms and rotates query and key heads, appends keys and values. A warp a head.
// attention_plain: float32 throughout, any head size up to 256 and any format; a block a (row, head). For checking.
// attention_prompt: tiles of 64 (token, query head of one kv head) against pages of 64 positions, both products with mma.sync in float16,
//   softmax online in float32. Shared memory: queries, one page of keys and one of values (96 KiB at head size 256); keys of the next
//   page arrive while the values of this one are used. Every key is read once for 64 / group tokens.
// attention_rows: a block a (row, kv head, span of positions): its up to 16 query heads are one tile of 16 rows, four warps take chunks of
//   positions in turn and are merged at the end. Positions may be chosen blocks. Bytes moved: every visible key and value once.
// attention_decode: the same with the work of attention_inputs, for windows of up to 8 rows a sequence: every block norms and rotates its
//   queries, and first appends those keys and values of the window that lie in its span and its row sees (blocks of later rows write the
//   same bytes once more). Keys and values of earlier positions are on their way before the kernel waits for the projections. The block
//   that comes last for a (row, kv head) sums the spans.
// attention_merge: sums the spans of attention_rows. Spans have a fixed length, so a row's result does not depend on others.
#include "attention_rows.cuh"

// One head by one warp: v = from, normed when there are weights, rotated when `width` is not zero.
// `turns`: width / 2 sines and as many cosines, where they are known already.
STRATA_INLINE void prepare_head(float* v, const float* from, const float* norm, int head_size, float epsilon, int position,
                                const double* frequencies, int width, float magnitude, const float* turns) {
    int lane = threadIdx.x & 31;
    float squares = 0.0f;
    for (int d = lane; d < head_size; d += 32) {
        v[d] = from[d];
        squares += v[d] * v[d];
    }
    squares = warp_sum(squares);
    if (norm != nullptr) {
        float factor = 1.0f / sqrtf(squares / head_size + epsilon);
        for (int d = lane; d < head_size; d += 32) {
            v[d] *= factor * norm[d];
        }
    }
    warp_barrier();
    for (int i = lane; i < width / 2; i += 32) {
        float sine, cosine;
        if (turns != nullptr) {
            sine = turns[i];
            cosine = turns[width / 2 + i];
        } else {
            turn_of(position, frequencies[i], magnitude, sine, cosine);
        }
        float low = v[i], high = v[i + width / 2];
        v[i] = low * cosine - high * sine;
        v[i + width / 2] = high * cosine + low * sine;
    }
    warp_barrier();
}

STRATA_KERNEL(128, attention_inputs, const float* projected, const float* keys, const float* values,
              const float* query_norm, const float* key_norm, int rows, int heads, int kv_heads, int head_size, int gated,
              float epsilon, const double* frequencies, int width, float magnitude, const int* positions,
              const int* page_bases, const int* pages, int format, void* k_data, void* v_data, u16* k_scales,
              u16* v_scales, float* queries, float* gates) {
    __shared__ float head_values[4][256];
    __shared__ float turns[256];
    wait_for_previous_kernel();
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int per_row = heads + 2 * kv_heads;
    int item = blockIdx.x * 4 + warp;
    bool live = item < rows * per_row;
    int row = live ? item / per_row : 0, head = live ? item % per_row : 0;
    float* v = head_values[warp];
    const float* from;
    const float* norm;
    if (head < heads) {
        from = projected + ((long long)row * heads + head) * head_size * (gated ? 2 : 1);
        norm = query_norm;
    } else if (head < heads + kv_heads) {
        from = keys + ((long long)row * kv_heads + head - heads) * head_size;
        norm = key_norm;
    } else {
        from = values + ((long long)row * kv_heads + head - heads - kv_heads) * head_size;
        norm = nullptr;
    }
    int position = positions[row];
    // Heads of one row turn by the same angles: a block within one row makes them once.
    int first_row = blockIdx.x * 4 / per_row;
    bool together = first_row == min((int)blockIdx.x * 4 + 3, rows * per_row - 1) / per_row;
    if (together) {
        for (int i = threadIdx.x; i < width / 2; i += 128) {
            turn_of(positions[first_row], frequencies[i], magnitude, turns[i], turns[width / 2 + i]);
        }
        __syncthreads();
    }
    prepare_head(v, from, norm, head_size, epsilon, position, frequencies, head < heads + kv_heads ? width : 0, magnitude,
                 together ? turns : nullptr);
    if (format == KV_Q4 && head >= heads) {
        turn_head(v, head_size);
    }
    if (!live) {
        return;
    }
    if (head < heads) {
        long long at = ((long long)row * heads + head) * head_size;
        for (int d = lane; d < head_size; d += 32) {
            queries[at + d] = v[d];
            if (gated) {
                gates[at + d] = from[head_size + d];
            }
        }
        return;
    }
    bool is_key = head < heads + kv_heads;
    int kv_head = head - heads - (is_key ? 0 : kv_heads);
    Pages table = {pages, kv_heads, head_size};
    append_head(v, is_key ? k_data : v_data, is_key ? k_scales : v_scales, format,
                table.vector_of(page_bases[row], position, kv_head), head_size);
}

STRATA_KERNEL(128, attention_plain, const float* queries, int heads, int kv_heads, int head_size, float scale,
              const int* positions, const int* page_bases, const int* pages, int format, const void* k_data,
              const void* v_data, const u16* k_scales, const u16* v_scales, const int* counts, const int* blocks,
              int budget, int block, const float* gates, float* out) {
    __shared__ float query[256];
    __shared__ float partial[4][258];
    wait_for_previous_kernel();
    release_next_kernel();
    int row = blockIdx.x, head = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int kv_head = head / (heads / kv_heads);
    long long at = ((long long)row * heads + head) * head_size;
    for (int d = threadIdx.x; d < head_size; d += 128) {
        query[d] = queries[at + d];
    }
    __syncthreads();
    Pages table = {pages, kv_heads, head_size};
    Visible seen = visible(counts, blocks, budget, block, row, positions[row]);
    int base = page_bases[row];
    float best = -INFINITY, sum = 0.0f, values[8];
    for (int i = 0; i < 8; i++) {
        values[i] = 0.0f;
    }
    for (int i = warp; i < seen.length; i += 4) {
        long long vector = table.vector_of(base, seen.position(i), kv_head);
        float score = 0.0f;
        for (int d = lane; d < head_size; d += 32) {
            score += query[d] * kv_value(k_data, k_scales, format, vector, head_size, d);
        }
        score = warp_sum(score) * scale;
        float top = fmaxf(best, score);
        float shrink = expf(best - top), weight = expf(score - top);
        best = top;
        sum = sum * shrink + weight;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int d = lane + 32 * j;
            if (d < head_size) {
                values[j] = values[j] * shrink + weight * kv_value(v_data, v_scales, format, vector, head_size, d);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
        int d = lane + 32 * j;
        if (d < head_size) {
            partial[warp][d] = values[j];
        }
    }
    if (lane == 0) {
        partial[warp][256] = best;
        partial[warp][257] = sum;
    }
    __syncthreads();
    float top = fmaxf(fmaxf(partial[0][256], partial[1][256]), fmaxf(partial[2][256], partial[3][256]));
    float total = 0.0f;
    for (int w = 0; w < 4; w++) {
        total += expf(partial[w][256] - top) * partial[w][257];
    }
    for (int d = threadIdx.x; d < head_size; d += 128) {
        float value = 0.0f;
        for (int w = 0; w < 4; w++) {
            value += expf(partial[w][256] - top) * partial[w][d];
        }
        value /= total;
        out[at + d] = gates != nullptr ? value * sigmoid(gates[at + d]) : value;
    }
}

template <int D, int FORMAT>
STRATA_INLINE void prompt(const float* queries, int heads, int kv_heads, float scale, const int* first_rows,
                          const int* segment_rows, const int* pasts, const int* segment_bases, const int* pages,
                          const void* k_data, const void* v_data, const u16* k_scales, const u16* v_scales,
                          const float* gates, float* out) {
    STRATA_DYNAMIC_SHARED(shared);
    wait_for_previous_kernel();
    release_next_kernel();
    int segment = blockIdx.z, kv_head = blockIdx.y, group = heads / kv_heads;
    int tile = gridDim.x - 1 - blockIdx.x;  // long rows first
    int all = segment_rows[segment] * group;
    if (tile * 64 >= all) {
        return;
    }
    int past = pasts[segment], first_row = first_rows[segment];
    int base = segment_bases[segment];
    u8* query_tile = shared;
    u8* key_tile = shared + 128 * D;
    u8* value_tile = shared + 256 * D;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    auto head_of = [&](int r) -> long long {
        int flat = tile * 64 + r;
        return flat < all ? ((long long)(first_row + flat / group) * heads + kv_head * group + flat % group) : -1;
    };
    bring_queries<D>(query_tile, queries, 64, scale * 1.4426950408889634f, head_of);

    int lowest = past + tile * 64 / group;
    int highest = past + min(tile * 64 + 63, all - 1) / group;
    int last_page = highest >> 6;
    auto fetch = [&](u8* to, const void* data, const u16* scales, int page) {
        if (page <= last_page) {
            long long vector = ((long long)pages[base + page] * kv_heads + kv_head) * 64;
            for (int i = threadIdx.x; i < 64 * (D / 8); i += 128) {
                int row = i / (D / 8), chunk = i % (D / 8);
                bring<FORMAT>(to + tile_offset<D>(row, chunk), data, scales, vector + row, D, chunk, page * 64 + row <= highest);
            }
        }
        copy_async_commit();
    };
    int flat0 = tile * 64 + warp * 16 + (lane >> 2);
    int position0 = past + min(flat0, all - 1) / group, position1 = past + min(flat0 + 8, all - 1) / group;
    Tile<D, 64> work;
    work.start();
    fetch(key_tile, k_data, k_scales, 0);
    for (int page = 0; page <= last_page; page++) {
        fetch(value_tile, v_data, v_scales, page);
        copy_async_wait<1>();
        __syncthreads();
        float scores[8][4];
        work.score(scores, query_tile, warp * 16, key_tile);
        __syncthreads();
        fetch(key_tile, k_data, k_scales, page + 1);
        if (page * 64 + 63 > lowest) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    int position = page * 64 + 8 * i + 2 * (lane & 3) + (e & 1);
                    if (position > (e < 2 ? position0 : position1)) {
                        scores[i][e] = -INFINITY;
                    }
                }
            }
        }
        work.weigh(scores);
        copy_async_wait<1>();
        __syncthreads();
        work.gather(scores, value_tile);
        __syncthreads();
    }
    copy_async_wait<0>();
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float factor = 1.0f / quad_sum(work.sum[half]);
        long long head = head_of(warp * 16 + (lane >> 2) + 8 * half);
        if (head < 0) {
            continue;
        }
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
            long long at = head * D + 8 * i + 2 * (lane & 3);
            float first = work.out[i][2 * half] * factor, second = work.out[i][2 * half + 1] * factor;
            if (gates != nullptr) {
                first *= sigmoid(gates[at]);
                second *= sigmoid(gates[at + 1]);
            }
            out[at] = first;
            out[at + 1] = second;
        }
    }
}

// One block a (row, head).
STRATA_KERNEL(128, attention_merge, const float* parts, const float* part_sums, int splits, int head_size,
              const float* gates, int gate_stride, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    merge_head(MergeInputs{parts, part_sums, splits, head_size, gates, gate_stride, out}, blockIdx.x);
}

// Turns query heads to the basis of 4-bit keys, or the sums over 4-bit values back, with their gates. A warp a head.
STRATA_KERNEL(128, attention_turn, int heads, int head_size, const float* from, const float* gates, float* out) {
    __shared__ float head_values[4][256];
    wait_for_previous_kernel();
    release_next_kernel();
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int head = blockIdx.x * 4 + warp;
    bool live = head < heads;
    float* v = head_values[warp];
    for (int d = lane; d < head_size; d += 32) {
        v[d] = live ? from[(long long)head * head_size + d] : 0.0f;
    }
    turn_head(v, head_size);
    for (int d = lane; d < head_size; d += 32) {
        if (live) {
            long long at = (long long)head * head_size + d;
            out[at] = gates != nullptr ? v[d] * sigmoid(gates[at]) : v[d];
        }
    }
}

#define ATTENTION(D, suffix, FORMAT)                                                                                     \
    STRATA_KERNEL(128, attention_prompt_##D##_##suffix, const float* queries, int heads, int kv_heads, float scale,      \
                  const int* first_rows, const int* segment_rows, const int* pasts, const int* segment_bases,            \
                  const int* pages, const void* k_data, const void* v_data, const u16* k_scales, const u16* v_scales,    \
                  const float* gates, float* out) {                                                                      \
        prompt<D, FORMAT>(queries, heads, kv_heads, scale, first_rows, segment_rows, pasts, segment_bases, pages,        \
                          k_data, v_data, k_scales, v_scales, gates, out);                                               \
    }                                                                                                                    \
    STRATA_KERNEL(128, attention_rows_##D##_##suffix, const float* queries, int heads, int kv_heads, float scale,       \
                  const int* positions, const int* page_bases, const int* pages, const void* k_data,                    \
                  const void* v_data, const u16* k_scales, const u16* v_scales, const int* counts, const int* blocks,   \
                  int budget, int block, int span, const float* gates, float* out, float* parts, float* part_sums) {    \
        STRATA_DYNAMIC_SHARED(shared);                                                                                  \
        rows_of<D, FORMAT, false>(shared, Inputs{}, queries, heads, kv_heads, scale,     \
                                  positions, page_bases, pages, k_data, v_data, k_scales, v_scales, counts, blocks,     \
                                  budget, block, span, gates, out, parts, part_sums);                                   \
    }

#define ATTENTION_OF_WINDOWS(D, suffix, FORMAT)                                                                         \
    STRATA_KERNEL(128, attention_decode_##D##_##suffix, const __grid_constant__ AttendInputs given) {                   \
        STRATA_DYNAMIC_SHARED(shared);                                                                                  \
        attend<D, FORMAT>(shared, given);                                                \
    }

#define ALL_ATTENTION(D, suffix, FORMAT) \
    ATTENTION(D, suffix, FORMAT)         \
    ATTENTION_OF_WINDOWS(D, suffix, FORMAT)

ALL_ATTENTION(16, f16, KV_F16)
ALL_ATTENTION(32, f16, KV_F16)
ALL_ATTENTION(64, f16, KV_F16)
ALL_ATTENTION(128, f16, KV_F16)
ALL_ATTENTION(256, f16, KV_F16)
ALL_ATTENTION(16, int8, KV_INT8)
ALL_ATTENTION(32, int8, KV_INT8)
ALL_ATTENTION(64, int8, KV_INT8)
ALL_ATTENTION(128, int8, KV_INT8)
ALL_ATTENTION(256, int8, KV_INT8)
ATTENTION(64, q4, KV_Q4)
ATTENTION(128, q4, KV_Q4)
ATTENTION(256, q4, KV_Q4)
