// Router, routed experts and the shared expert.
#include <algorithm>

#include "experts.h"
#include "strata_cpu.h"

using namespace strata;

namespace {
Context& at(int64_t context) { return *(Context*)context; }
}  // namespace

void strata_cpu_route(int64_t context, int32_t experts, int32_t used, int32_t renormalise, float scale, int64_t logits,
                      int32_t rows, int64_t ids, int64_t weights) {
    Context& c = at(context);
    c.begin();
    c.rows(rows, int64_t(experts) * 16, [&](int r, int worker) {
        float* p = c.worker(worker);
        memcpy(p, (const float*)logits + int64_t(r) * experts, size_t(experts) * 4);
        float total = c.k.softmax(p, experts);
        int32_t* id = (int32_t*)ids + int64_t(r) * used;
        float* weight = (float*)weights + int64_t(r) * used;
        // Insertion into the list of the best so far: most experts fall below its end. Equal scores keep the lower index first.
        int n = 0;
        for (int e = 0; e < experts; e++) {
            if (n == used && p[e] <= weight[n - 1]) continue;
            int i = n < used ? n++ : n - 1;
            for (; i > 0 && weight[i - 1] < p[e]; i--) {
                weight[i] = weight[i - 1];
                id[i] = id[i - 1];
            }
            weight[i] = p[e];
            id[i] = e;
        }
        float sum = 0;
        for (int i = 0; i < used; i++) sum += weight[i];
        float factor = scale / (renormalise ? sum : total);
        for (int i = 0; i < used; i++) weight[i] *= factor;
    });
}

void strata_cpu_expert_results(int64_t context, int32_t experts, int32_t hidden, int32_t intermediate, int32_t gateType,
                               int32_t upType, int32_t downType, int64_t table, int64_t ids, int32_t rows, int32_t used,
                               int64_t in, int64_t results) {
    Context& c = at(context);
    c.begin();
    expertResults(c, {experts, hidden, intermediate, gateType, upType, downType}, (const Expert*)table, (const int32_t*)ids, rows,
                  used, (const float*)in, (float*)results);
}

void strata_cpu_expert_sum(int64_t context, int32_t hidden, int64_t results, int64_t weights, int32_t rows, int32_t used,
                           int64_t out) {
    Context& c = at(context);
    c.rows(rows, int64_t(hidden) * used, [&](int r, int) {
        float* sum = (float*)out + int64_t(r) * hidden;
        memset(sum, 0, size_t(hidden) * 4);
        for (int j = 0; j < used; j++) {
            int64_t pair = int64_t(r) * used + j;
            c.k.axpy(((const float*)weights)[pair], (const float*)results + pair * hidden, hidden, sum);
        }
    });
}

void strata_cpu_shared_expert(int64_t context, int32_t hidden, int32_t intermediate, int32_t gateType, int64_t gate,
                              float gateScale, int32_t upType, int64_t up, float upScale, int32_t downType, int64_t down,
                              float downScale, int64_t scalarGate, int64_t in, int32_t rows, int64_t into) {
    Context& c = at(context);
    c.begin();
    Expert expert{(const uint8_t*)gate, (const uint8_t*)up, (const uint8_t*)down, gateScale, upScale, downScale, 0};
    int32_t* ids = (int32_t*)c.take(int64_t(rows) * 4);
    memset(ids, 0, size_t(rows) * 4);
    float* results = c.floats(int64_t(rows) * hidden);
    expertResults(c, {1, hidden, intermediate, gateType, upType, downType}, &expert, ids, rows, 1, (const float*)in, results);
    c.rows(rows, int64_t(hidden) * 2, [&](int r, int) {
        float factor = 1;
        if (scalarGate) {
            float x = c.k.dot((const float*)scalarGate, (const float*)in + int64_t(r) * hidden, hidden);
            factor = 1 / (1 + __builtin_expf(-x));
        }
        c.k.axpy(factor, results + int64_t(r) * hidden, hidden, (float*)into + int64_t(r) * hidden);
    });
}
