// Residual streams: hyper-connections and the n-gram layer.
#include <algorithm>
#include <cmath>

#include "products.h"
#include "strata_cpu.h"

using namespace strata;

namespace {

Context& at(int64_t context) { return *(Context*)context; }

void groupNorm(Context& c, const float* x, const float* weight, int groups, int n, float epsilon, float* out) {
    for (int g = 0; g < groups; g++) {
        const float* from = x + int64_t(g) * n;
        float factor = 1 / std::sqrt(c.k.sumSquares(from, n) / float(n) + epsilon);
        c.k.normalise(from, weight + int64_t(g) * n, factor, n, out + int64_t(g) * n);
    }
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void strata_cpu_hyper_mix(int64_t context, int32_t streams, int32_t hidden, int32_t lowRank, float epsilon, int64_t norm,
                          int32_t downType, int64_t down, float downScale, int32_t upType, int64_t up, float upScale,
                          int32_t injectType, int64_t injectWeight, float injectScale, int64_t residual, int32_t rows,
                          int64_t out, int64_t inject) {
    Context& c = at(context);
    c.begin();
    const int wide = streams * hidden;
    float* normed = c.floats(int64_t(rows) * wide);
    float* low = c.floats(int64_t(rows) * lowRank);
    float* gates = c.floats(int64_t(rows) * wide);
    c.rows(rows, wide * 2, [&](int r, int) {
        groupNorm(c, (const float*)residual + int64_t(r) * wide, (const float*)norm, streams, hidden, epsilon, normed + int64_t(r) * wide);
    });
    const float factor = 1 / float(streams);
    Row* x = prepareRows(c, downType, inject ? injectType : downType, normed, rows, wide);
    product(c, {downType, (const uint8_t*)down, lowRank, wide, downScale}, x, rows, false, low, lowRank);
    if (inject) {
        product(c, {injectType, (const uint8_t*)injectWeight, streams, wide, injectScale}, x, rows, false, (float*)inject, streams);
        for (int64_t i = 0; i < int64_t(rows) * streams; i++) ((float*)inject)[i] = 2 * sigmoid(((float*)inject)[i] * factor);
    }
    c.rows(rows, lowRank * 8, [&](int r, int) { c.k.silu(factor, lowRank, low + int64_t(r) * lowRank); });
    Row* y = prepareRows(c, upType, upType, low, rows, lowRank);
    product(c, {upType, (const uint8_t*)up, wide, lowRank, upScale}, y, rows, false, gates, wide);
    c.rows(rows, wide * 8, [&](int r, int) {
        c.k.mixStreams(normed + int64_t(r) * wide, gates + int64_t(r) * wide, streams, hidden, (float*)out + int64_t(r) * hidden);
    });
}

void strata_cpu_hyper_inject(int64_t context, int32_t streams, int32_t hidden, int64_t y, int64_t inject, int32_t rows,
                             int64_t residual) {
    Context& c = at(context);
    c.rows(rows, int64_t(streams) * hidden, [&](int r, int) {
        for (int s = 0; s < streams; s++) {
            int64_t i = int64_t(r) * streams + s;
            c.k.axpy(((const float*)inject)[i], (const float*)y + int64_t(r) * hidden, hidden, (float*)residual + i * hidden);
        }
    });
}

void strata_cpu_ngram(int64_t context, int32_t streams, int32_t hidden, int32_t columns, int32_t kernel, int32_t dilation,
                      float epsilon, int32_t keyType, int64_t key, float keyScale, int32_t valueType, int64_t value,
                      float valueScale, int64_t normKey, int64_t normQuery, int64_t normConvolution, int64_t convolution,
                      int64_t embedding, int64_t residual, int64_t past, int64_t kept, int64_t batch) {
    Context& c = at(context);
    c.begin();
    const Batch b{(const int32_t*)batch};
    const int rows = b.rows(), wide = streams * hidden, window = (kernel - 1) * dilation;
    float* keys = c.floats(int64_t(rows) * wide);
    float* values = c.floats(int64_t(rows) * hidden);
    float* gated = c.floats(int64_t(rows) * wide);
    float* normed = kept ? (float*)kept : c.floats(int64_t(rows) * wide);
    Row* x = prepareRows(c, keyType, valueType, (const float*)embedding, rows, columns);
    product(c, {keyType, (const uint8_t*)key, wide, columns, keyScale}, x, rows, false, keys, wide);
    product(c, {valueType, (const uint8_t*)value, hidden, columns, valueScale}, x, rows, false, values, hidden);
    c.rows(rows, wide * 4, [&](int r, int worker) {
        float* k = keys + int64_t(r) * wide;
        float* g = gated + int64_t(r) * wide;
        float* query = c.worker(worker);
        groupNorm(c, k, (const float*)normKey, streams, hidden, epsilon, k);
        groupNorm(c, (const float*)residual + int64_t(r) * wide, (const float*)normQuery, streams, hidden, epsilon, query);
        for (int s = 0; s < streams; s++) {
            float score = c.k.dot(k + int64_t(s) * hidden, query + int64_t(s) * hidden, hidden) / std::sqrt(float(hidden));
            float root = std::sqrt(std::max(std::fabs(score), 1e-6f));
            float gate = sigmoid(score > 0 ? root : score < 0 ? -root : 0);
            memcpy(g + int64_t(s) * hidden, values + int64_t(r) * hidden, size_t(hidden) * 4);
            c.k.scale(gate, hidden, g + int64_t(s) * hidden);
        }
        groupNorm(c, g, (const float*)normConvolution, streams, hidden, epsilon, normed + int64_t(r) * wide);
    });
    for (int i = 0; i < b.segments(); i++) {
        const Segment& s = b.segment(i);
        float* before = (float*)past + int64_t(s.slot) * window * wide;
        c.rows(s.rows, wide * (kernel + 8), [&](int r, int worker) {
            const float* taps[16];
            const float* weights[16];
            for (int j = 0; j < kernel; j++) {
                int from = r - (kernel - 1 - j) * dilation;
                taps[j] = from >= 0 ? normed + int64_t(s.firstRow + from) * wide : before + int64_t(from + window) * wide;
                weights[j] = (const float*)convolution + int64_t(j) * wide;
            }
            float* mixed = c.worker(worker);
            float* into = (float*)residual + int64_t(s.firstRow + r) * wide;
            c.k.convolve(taps, weights, kernel, wide, mixed);
            c.k.add(gated + int64_t(s.firstRow + r) * wide, wide, into);
            c.k.add(mixed, wide, into);
        });
        if (!b.hold()) strata_cpu_shift_rows(context, (int64_t)before, window, wide, (int64_t)(normed + int64_t(s.firstRow) * wide), s.rows);
    }
}
