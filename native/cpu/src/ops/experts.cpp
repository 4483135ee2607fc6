#include "experts.h"

namespace strata {

namespace {

// Some outputs of one expert for some of its (row, choice) pairs.
struct Claim {
    int expert;
    int begin;
    int end;
    int first;
    int count;
};

}  // namespace

void expertResults(Context& c, const ExpertSizes& sizes, const Expert* table, const int32_t* ids, int rows, int used,
                   const float* x, float* results) {
    const int pairs = rows * used;
    // Counting sort of the pairs by expert.
    int32_t* start = (int32_t*)c.take(4 * int64_t(sizes.experts + 1));
    memset(start, 0, 4 * size_t(sizes.experts + 1));
    for (int i = 0; i < pairs; i++) {
        if (table[ids[i]].gate) start[ids[i] + 1]++;
    }
    for (int e = 0; e < sizes.experts; e++) start[e + 1] += start[e];
    const int present = start[sizes.experts];
    int32_t* order = (int32_t*)c.take(4 * int64_t(pairs));
    int32_t* next = (int32_t*)c.take(4 * int64_t(sizes.experts));
    memcpy(next, start, 4 * size_t(sizes.experts));
    for (int i = 0; i < pairs; i++) {
        if (table[ids[i]].gate) order[next[ids[i]]++] = i;
    }

    Row* in = prepareRows(c, sizes.gateType, sizes.upType, x, rows, sizes.hidden);
    Row* gathered = (Row*)c.take(int64_t(present) * sizeof(Row));
    float** hiddenRows = (float**)c.take(int64_t(present) * sizeof(float*));
    float** resultRows = (float**)c.take(int64_t(present) * sizeof(float*));
    float* hidden = c.floats(int64_t(present) * sizes.intermediate);
    for (int i = 0; i < present; i++) {
        gathered[i] = in[order[i] / used];
        hiddenRows[i] = hidden + int64_t(i) * sizes.intermediate;
        resultRows[i] = results + int64_t(order[i]) * sizes.hidden;
    }

    auto matrix = [&](int type, const uint8_t* data, int outputs, int inputs, float scale) {
        return Matrix{type, data, outputs, inputs, scale};
    };
    // Claims of all experts over `outputs` columns; experts with the most rows first would balance better, but order of experts
    // keeps the weights' order in memory.
    auto makeClaims = [&](int outputs, int type, int inputs, int* total) {
        int busy = 0;
        for (int e = 0; e < sizes.experts; e++) busy += start[e + 1] > start[e];
        int64_t room = 0;
        for (int e = 0; e < sizes.experts; e++) {
            int count = start[e + 1] - start[e];
            if (count == 0) continue;
            int each = outputsOfClaim(c, matrix(type, nullptr, outputs, inputs, 1), count, busy);
            room += int64_t((outputs + each - 1) / each) * ((count + TOKENS_OF_CLAIM - 1) / TOKENS_OF_CLAIM);
        }
        Claim* claims = (Claim*)c.take(room * int64_t(sizeof(Claim)));
        int n = 0;
        for (int e = 0; e < sizes.experts; e++) {
            int count = start[e + 1] - start[e];
            if (count == 0) continue;
            int each = outputsOfClaim(c, matrix(type, nullptr, outputs, inputs, 1), count, busy);
            for (int begin = 0; begin < outputs; begin += each) {
                int end = begin + each < outputs ? begin + each : outputs;
                for (int first = 0; first < count; first += TOKENS_OF_CLAIM) {
                    int part = count - first < TOKENS_OF_CLAIM ? count - first : TOKENS_OF_CLAIM;
                    claims[n++] = {e, begin, end, start[e] + first, part};
                }
            }
        }
        *total = n;
        return claims;
    };

    int total;
    Claim* claims = makeClaims(sizes.intermediate, sizes.gateType, sizes.hidden, &total);
    c.pool.run(total, [&](int chunk, int worker) {
        const Claim& claim = claims[chunk];
        const Expert& expert = table[claim.expert];
        Matrix gate = matrix(sizes.gateType, expert.gate, sizes.intermediate, sizes.hidden, expert.gateScale);
        Matrix up = matrix(sizes.upType, expert.up, sizes.intermediate, sizes.hidden, expert.upScale);
        const int width = claim.end - claim.begin;
        // The up half waits in the second half of the worker's memory.
        float* ups = c.worker(worker) + Context::WORKER_BYTES / 8;
        float* upRows[TOKENS_OF_CLAIM];
        for (int i = 0; i < claim.count; i++) upRows[i] = ups + int64_t(i) * width - claim.begin;
        productPart(c, gate, claim.begin, claim.end, gathered + claim.first, claim.count, false, hiddenRows + claim.first, worker);
        productPart(c, up, claim.begin, claim.end, gathered + claim.first, claim.count, false, upRows, worker);
        for (int i = 0; i < claim.count; i++) {
            float* h = hiddenRows[claim.first + i] + claim.begin;
            c.k.siluMultiply(h, upRows[i] + claim.begin, width, h);
        }
    });

    Row* middle = prepareRows(c, sizes.downType, sizes.downType, hidden, present, sizes.intermediate);
    claims = makeClaims(sizes.hidden, sizes.downType, sizes.intermediate, &total);
    c.pool.run(total, [&](int chunk, int worker) {
        const Claim& claim = claims[chunk];
        const Expert& expert = table[claim.expert];
        Matrix down = matrix(sizes.downType, expert.down, sizes.hidden, sizes.intermediate, expert.downScale);
        productPart(c, down, claim.begin, claim.end, middle + claim.first, claim.count, false, resultRows + claim.first, worker);
    });
}

}  // namespace strata
