// Sampling: what is left of a row of logits when it leaves the card. See device.Picks for settings and results.
//
// sample_scan: a block takes 2048 logits: their largest, the sum of their weights, and the largest of every warp's 256. The block that comes
//   last for a row puts them together and sets the least logit a candidate may have: as many warps hold one of at least that as candidates
//   are wanted, so no candidate is missed.
// sample_pick: a block gathers the candidates of its 2048; the last one sorts them and draws a token of all.
// Bytes moved: every logit twice, the second time from the L2 cache. grid (blocks of 2048, rows) for both.
#include "strata.cuh"

enum { PIECE = 2048, HEADER = 6, SETTINGS = 3, MOST_GATHERED = 2048 };

// Results of one piece.
struct Piece {
    float best, sum;
    int at, bad;
};

// What the two kernels keep for a row; counters are zero between passes.
struct Row {
    float least;
    int gathered, arrived, arrived_again;
};

// Without settings: the likeliest token and its probability go to `tokens` and `probabilities`, and no candidates are looked for.
STRATA_KERNEL(256, sample_scan, const float* logits, int vocabulary, const float* settings, Piece* pieces, float* warp_best,
              Row* rows, int wanted, float* out, int out_columns, int* tokens, float* probabilities) {
    STRATA_DYNAMIC_SHARED(shared);
    __shared__ float values[8], sums[8];
    __shared__ int places[8], bads[8];
    wait_for_previous_kernel();
    release_next_kernel();
    int row = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31, count = gridDim.x;
    logits += (long long)row * vocabulary;
    out += (long long)row * out_columns;
    pieces += (long long)row * count;
    warp_best += (long long)row * count * 8;
    float v[8], best = -INFINITY, scale = settings ? settings[SETTINGS * row] : 1.0f;
    int bad = 0, at = 0x7fffffff;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int token = blockIdx.x * PIECE + warp * 256 + 32 * i + lane;
        v[i] = token < vocabulary ? logits[token] : -INFINITY;
        bad += token < vocabulary && !(fabsf(v[i]) <= 3.402823466e38f);
        if (v[i] > best) {
            best = v[i];
            at = token;
        }
    }
    float top = warp_max(best);
    at = best == top ? at : 0x7fffffff;
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) {
        at = min(at, exchange_xor(at, distance));
        bad += exchange_xor(bad, distance);
    }
    if (lane == 0) {
        values[warp] = top;
        places[warp] = at;
        bads[warp] = bad;
        warp_best[blockIdx.x * 8 + warp] = top;
    }
    __syncthreads();
    float piece_best = values[0];
    for (int w = 1; w < 8; w++) {
        piece_best = fmaxf(piece_best, values[w]);
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sum += v[i] > -INFINITY ? expf((v[i] - piece_best) * scale) : 0.0f;
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        sums[warp] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        Piece piece = {piece_best, 0.0f, 0x7fffffff, 0};
        for (int w = 0; w < 8; w++) {
            piece.sum += sums[w];
            piece.bad += bads[w];
            piece.at = values[w] == piece_best ? min(piece.at, places[w]) : piece.at;
        }
        pieces[blockIdx.x] = piece;
    }
    __syncthreads();
    if (!last_of(&rows[row].arrived, gridDim.x)) {
        return;
    }
    // The whole row.
    float* all = (float*)shared;
    for (int i = threadIdx.x; i < 8 * count; i += 256) {
        all[i] = read_fresh(warp_best + i);
    }
    // At most 256 pieces, one a thread.
    bool piece_there = (int)threadIdx.x < count;
    float piece_sum = 0.0f;
    piece_best = -INFINITY;
    at = 0x7fffffff;
    bad = 0;
    if (piece_there) {
        const Piece* piece = pieces + threadIdx.x;
        piece_best = read_fresh(&piece->best);
        piece_sum = read_fresh(&piece->sum);
        at = read_fresh(&piece->at);
        bad = read_fresh(&piece->bad);
    }
    top = warp_max(piece_best);
    if (lane == 0) {
        values[warp] = top;
    }
    __syncthreads();
    float row_best = values[0];
    for (int w = 1; w < 8; w++) {
        row_best = fmaxf(row_best, values[w]);
    }
    at = piece_best == row_best ? at : 0x7fffffff;
    piece_sum = warp_sum(piece_there && piece_best > -INFINITY ? piece_sum * expf((piece_best - row_best) * scale) : 0.0f);
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) {
        at = min(at, exchange_xor(at, distance));
        bad += exchange_xor(bad, distance);
    }
    if (lane == 0) {
        sums[warp] = piece_sum;
        places[warp] = at;
        bads[warp] = bad;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float row_sum = 0.0f;
        int row_at = 0x7fffffff, row_bad = 0;
        for (int w = 0; w < 8; w++) {
            row_sum += sums[w];
            row_at = min(row_at, places[w]);
            row_bad += bads[w];
        }
        if (!settings) {
            tokens[row] = row_at < vocabulary ? row_at : 0;
            probabilities[row] = row_bad > 0 ? float_of(0x7fc00000u) : 1.0f / row_sum;
            return;
        }
        out[0] = float_of((u32)(row_at < vocabulary ? row_at : 0));
        out[1] = row_best;
        out[2] = row_sum;
        out[3] = float_of((u32)row_bad);
        rows[row].least = -INFINITY;
        rows[row].gathered = 0;
    }
    if (!settings || settings[SETTINGS * row + 2] == 0.0f) {
        return;
    }
    __syncthreads();
    int n = 8 * count;
    for (int i = threadIdx.x; i < n && n > wanted; i += 256) {
        float own = all[i];
        int above = 0;
        for (int k = 0; k < n; k++) {
            above += all[k] > own || (all[k] == own && k < i);
        }
        if (above == wanted - 1) {
            rows[row].least = own;
        }
    }
}

// Larger logits have smaller keys, and lower tokens among equals.
STRATA_INLINE u64 key_of(float logit, int token) {
    u32 bits = bits_of(logit);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (u64)~bits << 32 | (u32)token;
}
STRATA_INLINE float logit_of(u64 key) {
    u32 bits = ~(u32)(key >> 32);
    return float_of(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

STRATA_KERNEL(256, sample_pick, const float* logits, int vocabulary, const float* settings, const Piece* pieces, Row* rows,
              u64* lists, int wanted, float* out, int out_columns, int* tokens) {
    __shared__ u64 keys[MOST_GATHERED];
    __shared__ float weights[256];
    __shared__ int chosen_piece, kept;
    __shared__ float left;
    wait_for_previous_kernel();
    release_next_kernel();
    int row = blockIdx.y;
    logits += (long long)row * vocabulary;
    out += (long long)row * out_columns;
    pieces += (long long)row * gridDim.x;
    u64* list = lists + (long long)row * MOST_GATHERED;
    float scale = settings[SETTINGS * row], uniform = settings[SETTINGS * row + 1], best = out[1];
    bool candidates = settings[SETTINGS * row + 2] != 0.0f;
    if (!candidates && uniform < 0.0f) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            out[4] = float_of(0xffffffffu);
            out[5] = 0.0f;
            tokens[row] = (int)bits_of(out[0]);
        }
        return;
    }
    float least = rows[row].least;
    for (int i = threadIdx.x; i < PIECE && candidates; i += 256) {
        int token = blockIdx.x * PIECE + i;
        if (token < vocabulary && logits[token] >= least && logits[token] > -INFINITY) {
            int slot = atomicAdd(&rows[row].gathered, 1);
            if (slot < MOST_GATHERED) {
                list[slot] = key_of(logits[token], token);
            }
        }
    }
    __syncthreads();
    if (!last_of(&rows[row].arrived_again, gridDim.x)) {
        return;
    }
    int found = read_fresh(&rows[row].gathered);
    int n = min(found, (int)MOST_GATHERED), size = 1;
    while (size < n) {
        size *= 2;
    }
    for (int i = threadIdx.x; i < size && n > 0; i += 256) {
        u64 low = bits_of(read_fresh((const float*)(list + min(i, n - 1))));
        u64 high = bits_of(read_fresh((const float*)(list + min(i, n - 1)) + 1));
        keys[i] = i < n ? high << 32 | low : ~0ull;
    }
    __syncthreads();
    for (int span = 2; span <= size; span *= 2) {
        for (int distance = span / 2; distance > 0; distance /= 2) {
            for (int i = threadIdx.x; i < size; i += 256) {
                int other = i ^ distance;
                if (other > i && (keys[i] > keys[other]) == ((i & span) == 0)) {
                    u64 swapped = keys[i];
                    keys[i] = keys[other];
                    keys[other] = swapped;
                }
            }
            __syncthreads();
        }
    }
    // More than could be gathered: nobody knows which of them are the best.
    int given = found > MOST_GATHERED ? 0 : min(n, wanted);
    for (int i = threadIdx.x; i < given; i += 256) {
        out[HEADER + i] = float_of((u32)keys[i]);
        out[HEADER + wanted + i] = logit_of(keys[i]);
    }
    if (threadIdx.x == 0) {
        out[4] = float_of(0xffffffffu);
        tokens[row] = (int)bits_of(out[0]);
        out[5] = float_of((u32)given);
    }
    if (uniform < 0.0f) {
        return;
    }
    if (threadIdx.x < gridDim.x) {
        weights[threadIdx.x] = pieces[threadIdx.x].sum * expf((pieces[threadIdx.x].best - best) * scale);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float target = uniform * out[2];
        int p = 0;
        for (; p + 1 < (int)gridDim.x && target >= weights[p]; p++) {
            target -= weights[p];
        }
        chosen_piece = p;
        left = target;
    }
    __syncthreads();
    // Tokens in order of their ids, eight a thread.
    int first = chosen_piece * PIECE + 8 * threadIdx.x;
    float mine = 0.0f;
    __syncthreads();
    for (int i = 0; i < 8; i++) {
        mine += first + i < vocabulary ? expf((logits[first + i] - best) * scale) : 0.0f;
    }
    weights[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        // The thread whose tokens reach the target; the last one with any weight when rounding leaves some over.
        float target = left;
        int owner = 0;
        for (int t = 0; t < 256; t++) {
            if (weights[t] > 0.0f) {
                owner = t;
                if (target < weights[t]) {
                    break;
                }
                target -= weights[t];
            }
        }
        kept = owner;
        left = target;
    }
    __syncthreads();
    if ((int)threadIdx.x == kept) {
        float target = left;
        int drawn = first;
        for (int i = 0; i < 8 && first + i < vocabulary; i++) {
            float weight = expf((logits[first + i] - best) * scale);
            if (weight > 0.0f) {
                drawn = first + i;
                if (target < weight) {
                    break;
                }
                target -= weight;
            }
        }
        out[4] = float_of((u32)drawn);
        tokens[row] = drawn;
    }
}
