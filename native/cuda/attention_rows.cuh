// Attention of few query rows on tensor cores: tiles of 16 rows, one span of positions after the other, and the merging of spans.
#pragma once

#include "kv.cuh"

// Stores a key or value vector by one warp.
STRATA_INLINE void append_head(const float* v, void* data, u16* scales, int format, long long vector, int head_size) {
    int lane = threadIdx.x & 31;
    if (format == KV_INT8) {
        for (int base = 0; base < head_size; base += 64) {
            float largest = 0.0f;
            for (int d = base + lane; d < min(base + 64, head_size); d += 32) {
                largest = fmaxf(largest, fabsf(v[d]));
            }
            largest = warp_max(largest);
            u16 scale_bits = to_half(largest / 127.0f);
            float scale = from_half(scale_bits);
            float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
            if (lane == 0) {
                scales[vector * scales_of(head_size) + (base >> 6)] = scale_bits;
            }
            for (int d = base + lane; d < min(base + 64, head_size); d += 32) {
                float q = rintf(v[d] * inverse);
                ((i8*)data)[vector * head_size + d] = (i8)(int)fminf(fmaxf(q, -127.0f), 127.0f);
            }
        }
    } else if (format == KV_Q4) {
        int group = min(64, head_size);
        for (int base = 0; base < head_size; base += group) {
            float lowest = 0.0f, highest = 0.0f;
            for (int d = base + lane; d < base + group; d += 32) {
                lowest = fminf(lowest, v[d]);
                highest = fmaxf(highest, v[d]);
            }
            lowest = -warp_max(-lowest);
            highest = warp_max(highest);
            u16 scale_bits = to_half((highest >= -lowest ? highest : lowest) / -8.0f);
            float scale = from_half(scale_bits);
            float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
            if (lane == 0) {
                scales[vector * scales_of(head_size) + (base >> 6)] = scale_bits;
            }
            for (int i = lane; i < group / 2; i += 32) {
                int low = (int)fminf(fmaxf(rintf(v[base + 2 * i] * inverse) + 8.0f, 0.0f), 15.0f);
                int high = (int)fminf(fmaxf(rintf(v[base + 2 * i + 1] * inverse) + 8.0f, 0.0f), 15.0f);
                ((u8*)data)[((vector * head_size + base) >> 1) + i] = (u8)(low | high << 4);
            }
        }
    } else {
        for (int d = lane; d < head_size; d += 32) {
            if (format == KV_F16) {
                ((u16*)data)[vector * head_size + d] = to_half(in_half_range(v[d]));
            } else {
                ((float*)data)[vector * head_size + d] = v[d];
            }
        }
    }
}

// Byte offset of 16-byte chunk `chunk` of row `row` in a tile with rows of D float16 values.
template <int D>
STRATA_INLINE int tile_offset(int row, int chunk) {
    const int MASK = D >= 64 ? 7 : D / 8 - 1;
    return row * (2 * D) + ((chunk ^ (row & MASK)) << 4);
}

// Eight values of a key or value vector to shared memory as float16.
template <int FORMAT>
STRATA_INLINE void bring(u8* to, const void* data, const u16* scales, long long vector, int head_size, int chunk,
                         bool present) {
    if (FORMAT == KV_F16) {
        copy_async_16_or_zero(to, (const u16*)data + (present ? vector * head_size + 8 * chunk : 0), present);
    } else if (FORMAT == KV_Q4) {
        Word4 halves = {0, 0, 0, 0};
        if (present) {
            u32 q = ((const u32*)data)[(vector * head_size >> 3) + chunk];
            float scale = from_half(scales[vector * scales_of(head_size) + (chunk >> 3)]);
            float v[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                v[i] = scale * (float)((int)(q >> (4 * i) & 15) - 8);
            }
            halves.x = half2_of(v[0], v[1]);
            halves.y = half2_of(v[2], v[3]);
            halves.z = half2_of(v[4], v[5]);
            halves.w = half2_of(v[6], v[7]);
        }
        *(Word4*)to = halves;
    } else {
        Word4 halves = {0, 0, 0, 0};
        if (present) {
            Word2 q = *(const Word2*)((const i8*)data + vector * head_size + 8 * chunk);
            float scale = from_half(scales[vector * scales_of(head_size) + (chunk >> 3)]);
            float v[8];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[i] = scale * (float)(i8)(q.x >> (8 * i));
                v[4 + i] = scale * (float)(i8)(q.y >> (8 * i));
            }
            halves.x = half2_of(v[0], v[1]);
            halves.y = half2_of(v[2], v[3]);
            halves.z = half2_of(v[4], v[5]);
            halves.w = half2_of(v[6], v[7]);
        }
        *(Word4*)to = halves;
    }
}

// Sixteen query rows of one warp: scores against N positions, the online softmax, and the sum of values.
template <int D, int N>
struct Tile {
    float out[D / 8][4];
    float best[2], sum[2];

    STRATA_MEMBER void start() {
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                out[i][e] = 0.0f;
            }
        }
        best[0] = best[1] = -INFINITY;
        sum[0] = sum[1] = 0.0f;
    }

    // scores = queries (16 rows from row0 on) x keys (N rows)
    STRATA_MEMBER void score(float (&scores)[N / 8][4], const u8* queries, int row0, const u8* keys) {
        int lane = threadIdx.x & 31;
#pragma unroll
        for (int i = 0; i < N / 8; i++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                scores[i][e] = 0.0f;
            }
        }
#pragma unroll
        for (int kk = 0; kk < D / 16; kk++) {
            u32 left[4];
            load_matrices(left, queries + tile_offset<D>(row0 + (lane & 15), 2 * kk + (lane >> 4)));
#pragma unroll
            for (int n = 0; n < N / 16; n++) {
                u32 right[4];
                load_matrices(right, keys + tile_offset<D>(16 * n + ((lane >> 4) << 3) + (lane & 7), 2 * kk + ((lane >> 3) & 1)));
                multiply_f16(scores[2 * n], left, right[0], right[1]);
                multiply_f16(scores[2 * n + 1], left, right[2], right[3]);
            }
        }
    }

    // Turns scores (in units of log 2, -inf where masked) into weights and rescales what is there.
    STRATA_MEMBER void weigh(float (&scores)[N / 8][4]) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float top = best[half];
#pragma unroll
            for (int i = 0; i < N / 8; i++) {
                top = fmaxf(top, fmaxf(scores[i][2 * half], scores[i][2 * half + 1]));
            }
            top = quad_max(top);
            float safe = top == -INFINITY ? 0.0f : top;
            float shrink = power_of_two(best[half] - safe);
            best[half] = top;
            float total = 0.0f;
#pragma unroll
            for (int i = 0; i < N / 8; i++) {
                scores[i][2 * half] = power_of_two(scores[i][2 * half] - safe);
                scores[i][2 * half + 1] = power_of_two(scores[i][2 * half + 1] - safe);
                total += scores[i][2 * half] + scores[i][2 * half + 1];
            }
            sum[half] = sum[half] * shrink + total;
#pragma unroll
            for (int i = 0; i < D / 8; i++) {
                out[i][2 * half] *= shrink;
                out[i][2 * half + 1] *= shrink;
            }
        }
    }

    // out += weights x values (N rows)
    STRATA_MEMBER void gather(const float (&weights)[N / 8][4], const u8* values) {
        int lane = threadIdx.x & 31;
#pragma unroll
        for (int kk = 0; kk < N / 16; kk++) {
            u32 left[4] = {half2_of(weights[2 * kk][0], weights[2 * kk][1]), half2_of(weights[2 * kk][2], weights[2 * kk][3]),
                           half2_of(weights[2 * kk + 1][0], weights[2 * kk + 1][1]),
                           half2_of(weights[2 * kk + 1][2], weights[2 * kk + 1][3])};
#pragma unroll
            for (int n = 0; n < D / 16; n++) {
                u32 right[4];
                load_matrices_transposed(right, values + tile_offset<D>(16 * kk + (lane & 15), 2 * n + (lane >> 4)));
                multiply_f16(out[2 * n], left, right[0], right[1]);
                multiply_f16(out[2 * n + 1], left, right[2], right[3]);
            }
        }
    }
};

// Queries as float16 in shared memory, scaled so that softmax can use powers of two. Row r of the tile is row `source(r)` of the
// queries (in heads), or zeros.
template <int D, class Source>
STRATA_INLINE void bring_queries(u8* shared, const float* queries, int rows, float scale, Source source) {
    for (int i = threadIdx.x; i < rows * (D / 8); i += 128) {
        int row = i / (D / 8), chunk = i % (D / 8);
        long long from = source(row);
        Word4 halves = {0, 0, 0, 0};
        if (from >= 0) {
            const float* q = queries + from * D + 8 * chunk;
            halves.x = half2_of(q[0] * scale, q[1] * scale);
            halves.y = half2_of(q[2] * scale, q[3] * scale);
            halves.z = half2_of(q[4] * scale, q[5] * scale);
            halves.w = half2_of(q[6] * scale, q[7] * scale);
        }
        *(Word4*)(shared + tile_offset<D>(row, chunk)) = halves;
    }
}

// What attention_inputs reads, for a kernel that does its work. Without chosen blocks a sequence may have up to `window` rows. `heads_at`: where
// heads lie in shared memory, then norms and rotations. `arrivals` counts the blocks of every (row, bunch of heads), null when
// another kernel sums the spans.
struct Inputs {
    const float* keys;
    const float* values;
    const float* query_norm;
    const float* key_norm;
    const double* frequencies;
    int* arrivals;
    const int* segment_firsts;
    int gated, width, window, heads_at;
    float epsilon, magnitude;
};

// Sums `own` heads from `first` on over their `live` spans (at most MOST): `parts` [heads][splits][D], part_sums [heads][splits] the largest score and the sum of weights of each.
// put(head, d, values, factor) gets four values times what `factor` undoes. All THREADS of a block; a head is D / 4 neighbouring lanes', or whole warps'.
template <int D, int THREADS, int MOST, class P>
STRATA_INLINE void fold_spans(const float* parts, const float* part_sums, int splits, int live, long long first, int own, P put) {
    const int LANES = D < 128 ? D / 4 : 32, EACH = (MOST + LANES - 1) / LANES, AT_ONCE = 8;
    int lane = threadIdx.x & 31, in_head = lane & (LANES - 1);
#pragma unroll 1
    for (int i = 4 * threadIdx.x; i - 4 * lane < own * D; i += 4 * THREADS) {
        bool inside = i < own * D;
        int d = i % D;
        long long head = first + (inside ? i / D : 0);
        const float* from = parts + head * splits * D + d;
        const float* sums = part_sums + 2 * head * splits;
        float part[AT_ONCE][4], most[EACH], weight[EACH], top = -INFINITY, sum = 0.0f, value[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        // Values are asked for before what they will be multiplied by is known.
        auto bring = [&](int s) {
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                if (s + j < live) {
                    read_fresh_four(from + (long long)(s + j) * D, part[j]);
                }
            }
        };
        bring(0);
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            int s = in_head + LANES * j;
            most[j] = s < live ? read_fresh(sums + 2 * s) : -INFINITY;
            weight[j] = s < live ? read_fresh(sums + 2 * s + 1) : 0.0f;
            top = fmaxf(top, most[j]);
        }
#pragma unroll
        for (int distance = LANES / 2; distance > 0; distance >>= 1) {
            top = fmaxf(top, exchange_xor(top, distance));
        }
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            most[j] = power_of_two(most[j] - top);
            sum += most[j] * weight[j];
        }
#pragma unroll
        for (int distance = LANES / 2; distance > 0; distance >>= 1) {
            sum += exchange_xor(sum, distance);
        }
#pragma unroll 1
        for (int s = 0; s < live; s += AT_ONCE) {
            if (s > 0) {
                bring(s);
            }
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                float factor = most[0];
#pragma unroll
                for (int k = 1; k < EACH; k++) {
                    factor = s + j >= LANES * k ? most[k] : factor;
                }
                factor = broadcast(factor, (lane & ~(LANES - 1)) + ((s + j) & (LANES - 1)));
                if (s + j < live) {
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        value[e] += factor * part[j][e];
                    }
                }
            }
        }
        if (inside) {
            put(head, d, value, 1.0f / sum);
        }
    }
}

// With OWN the queries are what was projected, and `inputs` says what is done to them; without it `inputs` is not read.
// grid (spans, bunches of heads, rows), four warps.
template <int D, int FORMAT, bool OWN>
STRATA_INLINE void rows_of(u8* shared, const Inputs& inputs, const float* queries, int heads, int kv_heads, float scale,
                           const int* positions, const int* page_bases, const int* pages, const void* k_data,
                           const void* v_data, const u16* k_scales, const u16* v_scales, const int* counts, const int* blocks, int budget,
                           int block, int span, const float* gates, float* out, float* parts, float* part_sums) {
    const int CHUNK = D >= 256 ? 16 : 32;
    if (!OWN) {
        wait_for_previous_kernel();
        release_next_kernel();
    }
    int row = blockIdx.z, split = blockIdx.x, splits = gridDim.x, bunch = blockIdx.y;
    int group = heads / kv_heads, bunches = (group + 15) / 16;
    int kv_head = bunch / bunches, first_head = kv_head * group + bunch % bunches * 16;
    int own = min(16, (kv_head + 1) * group - first_head);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Visible seen = visible(counts, blocks, budget, block, row, positions[row]);
    int begin = split * span, end = min(seen.length, begin + span);
    long long heads_before = (long long)row * heads + first_head;
    if (begin >= end) {
        if (OWN && inputs.arrivals != nullptr) {
            return;
        }
        wait_for_previous_kernel();
        for (int r = threadIdx.x; r < own; r += 128) {
            long long at = (heads_before + r) * splits + split;
            part_sums[2 * at] = -INFINITY;
            part_sums[2 * at + 1] = 0.0f;
        }
        return;
    }
    u8* query_tile = shared;
    u8* key_tile = shared + 32 * D + warp * (4 * CHUNK * D);
    u8* value_tile = key_tile + 2 * CHUNK * D;
    Pages table = {pages, kv_heads, D};
    int base = page_bases[row];
    auto fetch = [&](u8* to, const void* data, const u16* scales, int start) {
        if (start < end) {
            // Every lane finds one position; divisions and look-ups for each 16 bytes would take longer than the products.
            int found = lane < CHUNK && start + lane < end ? (int)table.vector_of(base, seen.position(start + lane), kv_head) : 0;
#pragma unroll 4
            for (int i = lane; i < CHUNK * (D / 8); i += 32) {
                int r = i / (D / 8), chunk = i % (D / 8);
                bool present = start + r < end;
                long long vector = broadcast(found, r);
                bring<FORMAT>(to + tile_offset<D>(r, chunk), data, scales, vector, D, chunk, present);
            }
        }
        copy_async_commit();
    };
    int start = begin + warp * CHUNK;
    // Entries from `fresh` on belong to the window.
    int position = positions[row], fresh = end;
    if (OWN) {
        fresh = seen.blocks == nullptr ? max(begin, positions[inputs.segment_firsts[row]])
                                       : (end == seen.length ? end - 1 : end);
        fresh = min(fresh, end);
    }
    // Float16 entries of the window are put into the tiles as they are made; others are read back.
    bool early = OWN && (FORMAT == KV_F16 || start + CHUNK <= fresh);
    if (early) {
        fetch(key_tile, k_data, k_scales, start);
        fetch(value_tile, v_data, v_scales, start);
    }
    // Of OWN: queries, new keys and new values, norms, sines and cosines of the row and of the new keys.
    int half = OWN ? inputs.width / 2 : 0, news = end - fresh;
    float* heads_of = (float*)(shared + (OWN ? inputs.heads_at : 0));
    float* norms = heads_of + (16 + 2 * (OWN ? inputs.window : 0)) * D;
    float* turns = norms + 2 * D;
    auto position_of = [&](int item) {
        return item < own || seen.blocks != nullptr ? position : fresh + (item - own) % news;
    };
    if constexpr (OWN) {
        // Norms and rotations do not depend on the kernel before.
        for (int i = threadIdx.x; i < (1 + news) * half; i += 128) {
            int which = i / half, j = i % half;
            turn_of(which == 0 ? position : position_of(own + which - 1), inputs.frequencies[j], inputs.magnitude,
                    turns[which * D + j], turns[which * D + D / 2 + j]);
        }
        for (int d = threadIdx.x; d < D; d += 128) {
            norms[d] = inputs.query_norm == nullptr ? 1.0f : inputs.query_norm[d];
            norms[D + d] = inputs.key_norm == nullptr ? 1.0f : inputs.key_norm[d];
        }
    }
    Tile<D, CHUNK> work;
    int items = own + 2 * news;
    if (OWN) {
        wait_for_previous_kernel();
        release_next_kernel();
    }
    if constexpr (OWN) {
#pragma unroll 4
        for (int i = 4 * threadIdx.x; i < items * D; i += 512) {
            int item = i / D, d = i % D;
            long long kv = ((long long)(row - position + position_of(item)) * kv_heads + kv_head) * D + d;
            read_fresh_four(item < own ? queries + (heads_before + item) * D * (inputs.gated ? 2 : 1) + d
                                       : (item < own + news ? inputs.keys : inputs.values) + kv,
                            heads_of + i);
        }
        __syncthreads();
        for (int item = warp; item < items; item += 4) {
            float* v = heads_of + item * D;
            bool is_key = item >= own && item < own + news;
            const float* norm = item < own ? inputs.query_norm : is_key ? inputs.key_norm : nullptr;
            const float* weights = item < own ? norms : norms + D;
            const float* sines = turns + (is_key ? 1 + item - own : 0) * D;
            const float* cosines = sines + D / 2;
            float squares = 0.0f, turned[(D + 31) / 32];
            for (int d = lane; d < D; d += 32) {
                squares += v[d] * v[d];
            }
            squares = warp_sum(squares);
            float factor = norm == nullptr ? 1.0f : inverse_root(squares / D + inputs.epsilon);
            auto normed = [&](int d) { return norm == nullptr ? v[d] : v[d] * (factor * weights[d]); };
#pragma unroll
            for (int j = 0; j < (D + 31) / 32; j++) {
                int d = lane + 32 * j;
                if (d >= D || item >= own + news || d >= 2 * half) {
                    turned[j] = d < D ? normed(d) : 0.0f;
                } else if (d < half) {
                    turned[j] = normed(d) * cosines[d] - normed(d + half) * sines[d];
                } else {
                    turned[j] = normed(d) * cosines[d - half] + normed(d - half) * sines[d - half];
                }
            }
            warp_barrier();
#pragma unroll
            for (int j = 0; j < (D + 31) / 32; j++) {
                if (lane + 32 * j < D) {
                    v[lane + 32 * j] = turned[j];
                }
            }
            warp_barrier();
            if (item < own) {
                for (int d = 2 * lane; d < D; d += 64) {
                    *(u32*)(query_tile + tile_offset<D>(item, d >> 3) + 2 * (d & 7)) =
                        half2_of(v[d] * (scale * 1.4426950408889634f), v[d + 1] * (scale * 1.4426950408889634f));
                }
            } else {
                append_head(v, (void*)(is_key ? k_data : v_data), (u16*)(is_key ? k_scales : v_scales), FORMAT,
                            table.vector_of(base, position_of(item), kv_head), D);
            }
        }
        for (int i = own * (D / 8) + threadIdx.x; i < 16 * (D / 8); i += 128) {
            Word4 zeros = {0, 0, 0, 0};
            *(Word4*)(query_tile + tile_offset<D>(i / (D / 8), i % (D / 8))) = zeros;
        }
    } else {
        bring_queries<D>(query_tile, queries, 16, scale * 1.4426950408889634f,
                         [&](int r) -> long long { return r < own ? heads_before + r : -1; });
    }
    __syncthreads();
    if (OWN && FORMAT == KV_F16 && start < end && start + CHUNK > fresh) {
        copy_async_wait<0>();
        warp_barrier();
        for (int at = max(start, fresh); at < min(end, start + CHUNK); at++) {
            const float* key = heads_of + (own + at - fresh) * D;
            const float* value = key + news * D;
            for (int d = 2 * lane; d < D; d += 64) {
                int to = tile_offset<D>(at - start, d >> 3) + 2 * (d & 7);
                *(u32*)(key_tile + to) = half2_of(key[d], key[d + 1]);
                *(u32*)(value_tile + to) = half2_of(value[d], value[d + 1]);
            }
        }
        warp_barrier();
    }
    if (!early) {
        fetch(key_tile, k_data, k_scales, start);
        fetch(value_tile, v_data, v_scales, start);
    }
    work.start();
    for (int at = start; at < end; at += 4 * CHUNK) {
        copy_async_wait<1>();
        warp_barrier();
        float scores[CHUNK / 8][4];
        work.score(scores, query_tile, 0, key_tile);
        warp_barrier();
        fetch(key_tile, k_data, k_scales, at + 4 * CHUNK);
        if (at + CHUNK > end) {
#pragma unroll
            for (int i = 0; i < CHUNK / 8; i++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    if (at + 8 * i + 2 * (lane & 3) + (e & 1) >= end) {
                        scores[i][e] = -INFINITY;
                    }
                }
            }
        }
        work.weigh(scores);
        copy_async_wait<1>();
        warp_barrier();
        work.gather(scores, value_tile);
        warp_barrier();
        fetch(value_tile, v_data, v_scales, at + 4 * CHUNK);
    }
    copy_async_wait<0>();
    __syncthreads();
    auto gate_of = [&](long long head, int d) -> const float* {
        if (OWN) {
            return inputs.gated ? queries + (2 * head + 1) * D + d : nullptr;
        }
        return gates != nullptr ? gates + head * D + d : nullptr;
    };
    auto put_four = [&](long long head, int d, const float* value, float factor) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float* gate = gate_of(head, d + e);
            out[head * D + d + e] = gate != nullptr ? value[e] * factor * sigmoid(read_fresh(gate)) : value[e] * factor;
        }
    };
    // The four warps' results in the place of keys and values: [warp][16][D], then their maxima and sums.
    float* results = (float*)(shared + 32 * D);
    float* tops = results + 4 * 16 * D;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int r = (lane >> 2) + 8 * half;
        float sum = quad_sum(work.sum[half]);
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
            float* to = results + (warp * 16 + r) * D + 8 * i + 2 * (lane & 3);
            to[0] = work.out[i][2 * half];
            to[1] = work.out[i][2 * half + 1];
        }
        if ((lane & 3) == 0) {
            tops[(warp * 16 + r) * 2] = work.best[half];
            tops[(warp * 16 + r) * 2 + 1] = sum;
        }
    }
    __syncthreads();
    for (int i = 4 * threadIdx.x; i < own * D; i += 512) {
        int r = i / D, d = i % D;
        float top = -INFINITY, sum = 0.0f, value[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int w = 0; w < 4; w++) {
            top = fmaxf(top, tops[(w * 16 + r) * 2]);
        }
#pragma unroll
        for (int w = 0; w < 4; w++) {
            float factor = power_of_two(tops[(w * 16 + r) * 2] - top);
            Vec4 part = *(const Vec4*)(results + (w * 16 + r) * D + d);
            value[0] += factor * part.x;
            value[1] += factor * part.y;
            value[2] += factor * part.z;
            value[3] += factor * part.w;
            sum += factor * tops[(w * 16 + r) * 2 + 1];
        }
        long long head = heads_before + r;
        if (splits == 1) {
            put_four(head, d, value, 1.0f / sum);
        } else {
            *(Vec4*)(parts + (head * splits + split) * D + d) = Vec4{value[0], value[1], value[2], value[3]};
            if (d == 0) {
                part_sums[2 * (head * splits + split)] = top;
                part_sums[2 * (head * splits + split) + 1] = sum;
            }
        }
    }
    if constexpr (OWN) {
        if (splits == 1 || inputs.arrivals == nullptr) {
            return;
        }
        int live = (seen.length + span - 1) / span;
        __syncthreads();
        if (!last_of(inputs.arrivals + (long long)row * gridDim.y + bunch, live)) {
            return;
        }
        fold_spans<D, 128, 16>(parts, part_sums, splits, live, heads_before, own, put_four);
    }
}

// What attention_decode is given.
struct AttendInputs {
    Inputs inputs;
    const float* projected;
    int heads, kv_heads;
    float scale;
    const int* positions;
    const int* page_bases;
    const int* pages;
    const void* k_data;
    const void* v_data;
    const u16* k_scales;
    const u16* v_scales;
    const int* counts;
    const int* blocks;
    int budget, block, span;
    float* out;
    float* parts;
    float* part_sums;
    u8* integers;
};

template <int D, int FORMAT>
STRATA_INLINE void attend(u8* shared, const AttendInputs& given) {
    rows_of<D, FORMAT, true>(shared, given.inputs, given.projected, given.heads, given.kv_heads, given.scale, given.positions,
                             given.page_bases, given.pages, given.k_data, given.v_data, given.k_scales, given.v_scales, given.counts,
                             given.blocks, given.budget, given.block, given.span, nullptr, given.out, given.parts, given.part_sums);
}

struct MergeInputs {
    const float* parts;
    const float* part_sums;
    int splits, head_size;
    const float* gates;
    int gate_stride;
    float* out;
};

// The sum of a head's spans by a block of 128 threads: groups of them share the spans, a thread takes four values.
STRATA_INLINE void merge_head(const MergeInputs& given, long long head) {
    const int MOST = 256;
    __shared__ float factors[MOST];
    __shared__ float partial[32];
    __shared__ float values[128][4];
    const float* sums = given.part_sums + 2 * head * given.splits;
    int t = threadIdx.x, splits = min(given.splits, (int)MOST), size = given.head_size, fours = size / 4;
    float most[2], sum[2], top = -INFINITY, total = 0.0f;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        int s = t + 128 * j;
        most[j] = s < splits ? read_fresh(sums + 2 * s) : -INFINITY;
        sum[j] = s < splits ? read_fresh(sums + 2 * s + 1) : 0.0f;
        top = fmaxf(top, most[j]);
    }
    top = warp_max(top);
    if ((t & 31) == 0) {
        partial[t >> 5] = top;
    }
    __syncthreads();
    top = fmaxf(fmaxf(partial[0], partial[1]), fmaxf(partial[2], partial[3]));
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 2; j++) {
        float factor = power_of_two(most[j] - top);
        factors[t + 128 * j] = factor;
        total += factor * sum[j];
    }
    total = block_sum(total, partial);
    __syncthreads();
    int groups = max(1, 128 / fours), group = t / fours, d = 4 * (t % fours);
    float value[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (group < groups) {
#pragma unroll 8
        for (int s = group; s < splits; s += groups) {
            float part[4];
            read_fresh_four(given.parts + (head * given.splits + s) * size + d, part);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                // Spans without positions have no values.
                value[e] += factors[s] > 0.0f ? factors[s] * part[e] : 0.0f;
            }
        }
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        values[t][e] = value[e];
    }
    __syncthreads();
    for (int i = t; i < size; i += 128) {
        float whole = 0.0f;
        for (int g = 0; g < groups; g++) {
            whole += values[g * fours + i / 4][i % 4];
        }
        whole /= total;
        given.out[head * size + i] =
            given.gates != nullptr ? whole * sigmoid(read_fresh(given.gates + head * given.gate_stride + i)) : whole;
    }
}
