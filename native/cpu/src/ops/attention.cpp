// Attention: inputs to the cache, dense and block-sparse attention, the block selector.
#include <algorithm>

#include "../context.h"
#include "../numbers.h"
#include "strata_cpu.h"

#include <cstring>

using namespace strata;

namespace {

Context& at(int64_t context) { return *(Context*)context; }

// Pages of one split of the context: partial results of splits are merged in order, whoever computes them, so that a row's result
// does not depend on how the work was divided.
constexpr int SPLIT_PAGES = 16;

// Half-split rotation of the first 2 * pairs elements.
void rotate(float* x, const float* rotation, int pairs) {
    for (int i = 0; i < pairs; i++) {
        float a = x[i], b = x[i + pairs], cosine = rotation[i], sine = rotation[pairs + i];
        x[i] = a * cosine - b * sine;
        x[i + pairs] = b * cosine + a * sine;
    }
}

void normalise(Context& c, const float* x, const float* weight, int n, float epsilon, float* out) {
    float factor = 1 / __builtin_sqrtf(c.k.sumSquares(x, n) / float(n) + epsilon);
    c.k.normalise(x, weight, factor, n, out);
}

// Product of n elements with an orthonormal Hadamard matrix in Sylvester's order, which is its own inverse.
void turn(float* x, int n) {
    for (int stride = 1; stride < n; stride *= 2) {
        for (int start = 0; start < n; start += 2 * stride) {
            for (int i = start; i < start + stride; i++) {
                float low = x[i], high = x[i + stride];
                x[i] = low + high;
                x[i + stride] = low - high;
            }
        }
    }
    const float factor = 1 / __builtin_sqrtf(float(n));
    for (int i = 0; i < n; i++) x[i] *= factor;
}

// Turns every group of a head.
void turnHead(const KvTile& tile, float* head) {
    for (int g = 0; g < tile.groups(); g++) turn(head + g * tile.groupSize(), tile.groupSize());
}

// The 4-bit form of a vector, turned group by group.
void storeHalfBytes(const KvTile& tile, uint8_t* target, int token, bool key, const float* vector) {
    const int n = tile.groupSize();
    uint16_t* scales = (uint16_t*)(target + tile.codeBytes());
    auto level = [](float scaled) {
        float q = __builtin_rintf(scaled) + 8;
        return int(q > 15 ? 15 : q < 0 ? 0 : q);
    };
    for (int g = 0; g < tile.groups(); g++) {
        float x[64];
        memcpy(x, vector + g * n, size_t(n) * 4);
        turn(x, n);
        float lowest = 0, highest = 0;
        for (int i = 0; i < n; i++) {
            lowest = std::min(lowest, x[i]);
            highest = std::max(highest, x[i]);
        }
        uint16_t stored = floatToHalf((highest >= -lowest ? highest : lowest) / -8);
        float scale = halfToFloat(stored);
        float inverse = scale != 0 ? 1 / scale : 0;
        scales[key ? g * PAGE + token : token * tile.groups() + g] = stored;
        for (int i = 0; i < n; i += 2) {
            int pair = (g * n + i) / 2;
            int at = key ? pair * PAGE + token : token * tile.headSize / 2 + pair;
            target[at] = uint8_t(level(x[i] * inverse) | level(x[i + 1] * inverse) << 4);
        }
    }
}

// One token's vector to column `token` (keys) or row `token` (values) of its tile.
void store(const KvTile& tile, uint8_t* target, int token, bool key, const float* x) {
    const int d = tile.headSize;
    auto index = [&](int i) { return key ? i * PAGE + token : token * d + i; };
    if (tile.format == KV_F32) {
        for (int i = 0; i < d; i++) ((float*)target)[index(i)] = x[i];
        return;
    }
    if (tile.format == KV_F16) {
        for (int i = 0; i < d; i++) ((uint16_t*)target)[index(i)] = floatToHalf(x[i]);
        return;
    }
    if (tile.format == KV_Q4) {
        storeHalfBytes(tile, target, token, key, x);
        return;
    }
    uint16_t* scales = (uint16_t*)(target + tile.codeBytes());
    for (int g = 0; g < tile.groups(); g++) {
        int begin = g * tile.groupSize(), end = std::min(d, begin + tile.groupSize());
        float most = 0;
        for (int i = begin; i < end; i++) most = std::max(most, __builtin_fabsf(x[i]));
        uint16_t stored = floatToHalf(most / 127);
        float scale = halfToFloat(stored);
        float inverse = scale > 0 ? 1 / scale : 0;
        scales[key ? g * PAGE + token : token * tile.groups() + g] = stored;
        for (int i = begin; i < end; i++) {
            float q = __builtin_rintf(x[i] * inverse);
            ((int8_t*)target)[index(i)] = int8_t(q > 127 ? 127 : q < -127 ? -127 : q);
        }
    }
}

}  // namespace

int64_t strata_cpu_kv_tile_bytes(int32_t format, int32_t headSize) { return KvTile{format, headSize}.bytes(); }

void strata_cpu_attention_inputs(int64_t context, int32_t heads, int32_t kvHeads, int32_t headSize, int32_t width,
                                 int64_t frequencies, float magnitude, float epsilon, int64_t projected, int64_t keys,
                                 int64_t values, int64_t queryNorm, int64_t keyNorm, int32_t format, int64_t keyPages,
                                 int64_t valuePages, int64_t batch, int64_t queries, int64_t gates) {
    Context& c = at(context);
    c.begin();
    const Batch b{(const int32_t*)batch};
    const int d = headSize, pairs = width / 2;
    const KvTile tile{format, d};
    const int64_t bytes = tile.bytes();
    const float* rotations = c.rotations(b, (const double*)frequencies, pairs, magnitude);
    for (int i = 0; i < b.segments(); i++) {
        const Segment& segment = b.segment(i);
        c.rows(segment.rows, int64_t(heads + 4 * kvHeads) * d, [&](int r, int worker) {
            const int64_t row = segment.firstRow + r;
            const float* rotation = rotations + row * 2 * pairs;
            const float* source = (const float*)projected + row * heads * d * (gates ? 2 : 1);
            for (int h = 0; h < heads; h++) {
                const float* q = source + int64_t(h) * d * (gates ? 2 : 1);
                float* target = (float*)queries + (row * heads + h) * d;
                if (gates) memcpy((float*)gates + (row * heads + h) * d, q + d, size_t(d) * 4);
                if (queryNorm) normalise(c, q, (const float*)queryNorm, d, epsilon, target);
                else memcpy(target, q, size_t(d) * 4);
                rotate(target, rotation, pairs);
            }
            const int position = segment.past + r;
            const int64_t page = b.pages(segment)[position / PAGE];
            float* temporary = c.worker(worker);
            for (int h = 0; h < kvHeads; h++) {
                const float* k = (const float*)keys + (row * kvHeads + h) * d;
                if (keyNorm) normalise(c, k, (const float*)keyNorm, d, epsilon, temporary);
                else memcpy(temporary, k, size_t(d) * 4);
                rotate(temporary, rotation, pairs);
                store(tile, (uint8_t*)keyPages + (page * kvHeads + h) * bytes, position % PAGE, true, temporary);
                store(tile, (uint8_t*)valuePages + (page * kvHeads + h) * bytes, position % PAGE, false,
                      (const float*)values + (row * kvHeads + h) * d);
            }
        });
    }
}

void strata_cpu_attention(int64_t context, int32_t heads, int32_t kvHeads, int32_t headSize, int64_t queries, int32_t format,
                          int64_t keyPages, int64_t valuePages, int64_t masks, int32_t maskPages, int64_t gates, int64_t batch,
                          int64_t out) {
    Context& c = at(context);
    c.begin();
    const Batch b{(const int32_t*)batch};
    const int group = heads / kvHeads;
    const int d = headSize, stride = paddedHead(d);
    const KvTile tile{format, d};
    const int64_t bytes = tile.bytes();
    const int most = std::max(1, MAX_QUERIES / group);
    // Query heads of a key-value head that do not fit into one run go to further runs.
    const int headsOfRun = std::min(group, MAX_QUERIES);
    const int headParts = (group + headsOfRun - 1) / headsOfRun;
    const float factor = 1 / __builtin_sqrtf(float(d));

    struct Item {
        int segment;
        int row;  // of the segment
        int rows;
        int kvHead;
        int firstHead;  // of the group
        int split;      // negative: all splits
        int64_t partial;
    };
    int64_t room = 0;
    for (int i = 0; i < b.segments(); i++) {
        const Segment& s = b.segment(i);
        int splits = ((s.past + s.rows + PAGE - 1) / PAGE + SPLIT_PAGES - 1) / SPLIT_PAGES;
        room += int64_t((s.rows + most - 1) / most) * kvHeads * headParts * splits;
    }
    Item* items = (Item*)c.take(room * int64_t(sizeof(Item)));
    // Few rows: every split is an item of its own, merged afterwards. Many rows: an item goes through its splits.
    const bool divided = b.rows() * kvHeads * headParts < 8 * c.pool.threads() * most;
    int n = 0;
    int64_t partials = 0;
    for (int i = 0; i < b.segments(); i++) {
        const Segment& s = b.segment(i);
        // Late rows first: they take longest.
        for (int first = (s.rows - 1) / most * most; first >= 0; first -= most) {
            int rows = std::min(most, s.rows - first);
            int pages = (s.past + first + rows + PAGE - 1) / PAGE;
            int splits = (pages + SPLIT_PAGES - 1) / SPLIT_PAGES;
            for (int h = 0; h < kvHeads; h++) {
                for (int part = 0; part < headParts; part++) {
                    for (int split = 0; split < (divided ? splits : 1); split++) {
                        items[n++] = {i, first, rows, h, part * headsOfRun, divided ? split : -1, partials};
                        if (divided) partials += MAX_QUERIES;
                    }
                }
            }
        }
    }
    // A partial result: [stride] sums, then maximum and sum.
    const int64_t partialStride = stride + 2;
    float* partial = divided ? c.floats(partials * partialStride) : nullptr;

    auto run = [&](const Item& item, int split, float* memory, float* result, float* max, float* sum) {
        const Segment& s = b.segment(item.segment);
        const int groupHeads = std::min(headsOfRun, group - item.firstHead);
        const int count = item.rows * groupHeads;
        const float* q[MAX_QUERIES];
        int visible[MAX_QUERIES];
        const uint64_t* mask[MAX_QUERIES];
        float* scaled = memory;
        for (int r = 0; r < item.rows; r++) {
            int64_t row = s.firstRow + item.row + r;
            for (int h = 0; h < groupHeads; h++) {
                int i = r * groupHeads + h;
                memcpy(scaled + int64_t(i) * d, (const float*)queries + (row * heads + item.kvHead * group + item.firstHead + h) * d,
                       size_t(d) * 4);
                q[i] = scaled + int64_t(i) * d;
                visible[i] = s.past + item.row + r + 1;
                mask[i] = (const uint64_t*)masks + row * maskPages;
            }
        }
        c.k.scale(factor, count * d, scaled);
        for (int i = 0; format == KV_Q4 && i < count; i++) turnHead(tile, scaled + int64_t(i) * d);
        AttentionRun a;
        a.tile = tile;
        a.queries = count;
        a.q = q;
        a.visible = visible;
        a.masks = masks ? mask : nullptr;
        a.pages = b.pages(s);
        a.firstPage = split * SPLIT_PAGES;
        a.lastPage = std::min((s.past + item.row + item.rows + PAGE - 1) / PAGE, a.firstPage + SPLIT_PAGES);
        a.keys = (const uint8_t*)keyPages + item.kvHead * bytes;
        a.values = (const uint8_t*)valuePages + item.kvHead * bytes;
        a.pageStride = bytes * kvHeads;
        a.out = result;
        a.max = max;
        a.sum = sum;
        a.scratch = memory + int64_t(MAX_QUERIES) * d;
        c.k.attend(&a);
        return count;
    };
    // Adds a split's result to the total of one query.
    auto merge = [&](float* total, float* totalMax, float* totalSum, const float* part, float max, float sum) {
        if (sum == 0) return;
        float highest = std::max(*totalMax, max);
        float old = *totalSum == 0 ? 0 : __builtin_expf(*totalMax - highest);
        float fresh = __builtin_expf(max - highest);
        c.k.scale(old, stride, total);
        c.k.axpy(fresh, part, stride, total);
        *totalSum = *totalSum * old + sum * fresh;
        *totalMax = highest;
    };
    auto finish = [&](const Item& item, float* total, const float* sum) {
        const Segment& s = b.segment(item.segment);
        const int groupHeads = std::min(headsOfRun, group - item.firstHead);
        for (int i = 0; i < item.rows * groupHeads; i++) {
            int64_t row = s.firstRow + item.row + i / groupHeads;
            int64_t column = (row * heads + item.kvHead * group + item.firstHead + i % groupHeads) * d;
            c.k.scale(1 / sum[i], d, total + int64_t(i) * stride);
            if (format == KV_Q4) turnHead(tile, total + int64_t(i) * stride);
            memcpy((float*)out + column, total + int64_t(i) * stride, size_t(d) * 4);
            if (gates) c.k.sigmoidMultiply((const float*)gates + column, d, (float*)out + column);
        }
    };
    const int64_t runMemory = attentionScratch(d) + int64_t(MAX_QUERIES) * d;
    c.pool.run(n, [&](int chunk, int worker) {
        const Item& item = items[chunk];
        float* memory = c.worker(worker);
        float* result = memory + runMemory;
        float* total = result + int64_t(MAX_QUERIES) * stride;
        float max[MAX_QUERIES], sum[MAX_QUERIES], totalMax[MAX_QUERIES], totalSum[MAX_QUERIES];
        if (item.split >= 0) {
            int count = run(item, item.split, memory, result, max, sum);
            for (int i = 0; i < count; i++) {
                float* target = partial + (item.partial + i) * partialStride;
                memcpy(target, result + int64_t(i) * stride, size_t(stride) * 4);
                target[stride] = max[i];
                target[stride + 1] = sum[i];
            }
            return;
        }
        for (int i = 0; i < MAX_QUERIES; i++) totalMax[i] = -3.0e38f, totalSum[i] = 0;
        memset(total, 0, size_t(MAX_QUERIES) * stride * 4);
        const Segment& s = b.segment(item.segment);
        int pages = (s.past + item.row + item.rows + PAGE - 1) / PAGE;
        for (int split = 0; split * SPLIT_PAGES < pages; split++) {
            int count = run(item, split, memory, result, max, sum);
            for (int i = 0; i < count; i++) {
                merge(total + int64_t(i) * stride, totalMax + i, totalSum + i, result + int64_t(i) * stride, max[i], sum[i]);
            }
        }
        finish(item, total, totalSum);
    });
    if (!divided) return;
    // Items of one run of queries are consecutive.
    int groups = 0;
    int* starts = (int*)c.take(4 * int64_t(n + 1));
    for (int i = 0; i < n; i++) {
        if (items[i].split == 0) starts[groups++] = i;
    }
    starts[groups] = n;
    c.pool.run(groups, [&](int chunk, int worker) {
        float* total = c.worker(worker);
        float totalMax[MAX_QUERIES], totalSum[MAX_QUERIES];
        for (int i = 0; i < MAX_QUERIES; i++) totalMax[i] = -3.0e38f, totalSum[i] = 0;
        memset(total, 0, size_t(MAX_QUERIES) * stride * 4);
        const Item& first = items[starts[chunk]];
        int count = first.rows * std::min(headsOfRun, group - first.firstHead);
        for (int at = starts[chunk]; at < starts[chunk + 1]; at++) {
            for (int i = 0; i < count; i++) {
                const float* p = partial + (items[at].partial + i) * partialStride;
                merge(total + int64_t(i) * stride, totalMax + i, totalSum + i, p, p[stride], p[stride + 1]);
            }
        }
        finish(first, total, totalSum);
    });
}

void strata_cpu_index_keys(int64_t context, int32_t headSize, int32_t width, int64_t frequencies, float magnitude, float epsilon,
                           int32_t block, int64_t keys, int64_t keyNorm, int64_t raw, int64_t pooled, int64_t batch) {
    Context& c = at(context);
    c.begin();
    const Batch b{(const int32_t*)batch};
    const int d = headSize, pairs = width / 2;
    for (int i = 0; i < b.segments(); i++) {
        const Segment& s = b.segment(i);
        const int32_t* pages = b.pages(s);
        for (int r = 0; r < s.rows; r++) {
            int position = s.past + r;
            float* target = (float*)raw + (int64_t(pages[position / PAGE]) * PAGE + position % PAGE) * d;
            memcpy(target, (const float*)keys + int64_t(s.firstRow + r) * d, size_t(d) * 4);
        }
        const int first = s.past / block;
        const int complete = (s.past + s.rows) / block;
        c.rows(complete - first, int64_t(d) * (block + 8), [&](int j, int) {
            int position = (first + j) * block;
            int64_t page = pages[position / PAGE];
            const float* source = (const float*)raw + (page * PAGE + position % PAGE) * d;
            float* target = (float*)pooled + (page * (PAGE / block) + position % PAGE / block) * d;
            memcpy(target, source, size_t(d) * 4);
            for (int t = 1; t < block; t++) c.k.add(source + int64_t(t) * d, d, target);
            c.k.scale(1 / float(block), d, target);
            normalise(c, target, (const float*)keyNorm, d, epsilon, target);
            for (int p = 0; p < pairs; p++) {
                double angle = position * ((const double*)frequencies)[p];
                float cosine = float(__builtin_cos(angle)) * magnitude, sine = float(__builtin_sin(angle)) * magnitude;
                float x = target[p], y = target[p + pairs];
                target[p] = x * cosine - y * sine;
                target[p + pairs] = y * cosine + x * sine;
            }
        });
    }
}

void strata_cpu_select_blocks(int64_t context, int32_t heads, int32_t headSize, int32_t width, int64_t frequencies,
                              float magnitude, float epsilon, int32_t block, int32_t budget, int64_t queries, int64_t queryNorm,
                              int64_t pooled, int64_t batch, int64_t masks, int32_t maskPages) {
    Context& c = at(context);
    c.begin();
    const Batch b{(const int32_t*)batch};
    const int d = headSize, pairs = width / 2, perPage = PAGE / block;
    const float* rotations = c.rotations(b, (const double*)frequencies, pairs, magnitude);
    const float factor = 1 / __builtin_sqrtf(float(d));
    int longest = 0;
    for (int i = 0; i < b.segments(); i++) longest = std::max(longest, b.segment(i).past + b.segment(i).rows);
    const int64_t memory = (longest / block + 1) * 2 + int64_t(heads) * d;
    float* all = c.floats(memory * c.pool.threads());
    for (int i = 0; i < b.segments(); i++) {
        const Segment& s = b.segment(i);
        const int32_t* pages = b.pages(s);
        c.rows(s.rows, int64_t(s.past / block + 1) * heads * d, [&](int r, int worker) {
            const int64_t row = s.firstRow + r;
            float* q = all + memory * worker;
            float* scores = q + int64_t(heads) * d;
            int* order = (int*)(scores + longest / block + 1);
            for (int h = 0; h < heads; h++) {
                normalise(c, (const float*)queries + (row * heads + h) * d, (const float*)queryNorm, d, epsilon, q + int64_t(h) * d);
                rotate(q + int64_t(h) * d, rotations + row * 2 * pairs, pairs);
            }
            const int visible = s.past + r + 1;
            const int complete = visible / block;
            uint64_t* mask = (uint64_t*)masks + row * maskPages;
            memset(mask, 0, size_t(maskPages) * 8);
            const uint64_t blockMask = block == 64 ? ~0ull : (1ull << block) - 1;
            auto choose = [&](int j) { mask[j / perPage] |= blockMask << (j % perPage * block); };
            if (complete <= budget) {
                for (int j = 0; j < complete; j++) choose(j);
            } else {
                for (int j = 0; j < complete; j++) {
                    const float* p = (const float*)pooled + (int64_t(pages[j / perPage]) * perPage + j % perPage) * d;
                    float sum = 0;
                    for (int h = 0; h < heads; h++) {
                        float x = c.k.dot(q + int64_t(h) * d, p, d);
                        sum += x > 0 ? x : 0;
                    }
                    scores[j] = sum * factor;
                    order[j] = j;
                }
                std::nth_element(order, order + budget - 1, order + complete, [&](int x, int y) {
                    return scores[x] > scores[y] || (scores[x] == scores[y] && x < y);
                });
                for (int j = 0; j < budget; j++) choose(order[j]);
            }
            for (int t = complete * block; t < visible; t++) mask[t / PAGE] |= 1ull << (t % PAGE);
        });
    }
}
