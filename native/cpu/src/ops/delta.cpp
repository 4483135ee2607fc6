// The gated DeltaNet layer.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../context.h"
#include "strata_cpu.h"

using namespace strata;

namespace {

Context& at(int64_t context) { return *(Context*)context; }

struct Shape {
    int keyHeads, valueHeads, keySize, valueSize, kernel;
    bool tiled;

    int64_t keyColumns() const { return int64_t(keyHeads) * keySize; }
    int64_t valueColumns() const { return int64_t(valueHeads) * valueSize; }
    int64_t channels() const { return 2 * keyColumns() + valueColumns(); }
    int keyHead(int valueHead) const { return tiled ? valueHead % keyHeads : valueHead / (valueHeads / keyHeads); }
    int64_t stateFloats() const { return int64_t(valueHeads) * keySize * valueSize; }
};

// What the recurrence reads, for some rows: convolved, normed q, k, v and the two gates.
struct Inputs {
    float* mixed;  // [rows][channels]
    float* decay;  // [rows][valueHeads]
    float* beta;
};

float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// Rows firstRow ... of qkv, which continue the convolution rows `past` of a slot.
void prepare(Context& c, const Shape& s, const float* convolution, const float* decay, const float* timeBias, const float* qkv,
             const float* beta, const float* alpha, const float* past, int rows, const Inputs& in) {
    const int64_t channels = s.channels();
    c.rows(rows, channels * (s.kernel + 8), [&](int r, int) {
        const float* taps[16];
        const float* weights[16];
        float* out = in.mixed + r * channels;
        for (int j = 0; j < s.kernel; j++) {
            int from = r - (s.kernel - 1) + j;
            taps[j] = from >= 0 ? qkv + from * channels : past + (from + s.kernel - 1) * channels;
            weights[j] = convolution + j * channels;
        }
        c.k.convolve(taps, weights, s.kernel, int(channels), out);
        for (int h = 0; h < 2 * s.keyHeads; h++) {
            float* x = out + int64_t(h) * s.keySize;
            float factor = 1 / std::sqrt(c.k.sumSquares(x, s.keySize) + 1e-6f);
            c.k.scale(h < s.keyHeads ? factor / std::sqrt(float(s.keySize)) : factor, s.keySize, x);
        }
        for (int h = 0; h < s.valueHeads; h++) {
            int64_t i = int64_t(r) * s.valueHeads + h;
            in.decay[i] = std::exp(decay[h] * softplus(alpha[i] + timeBias[h]));
            in.beta[i] = 1 / (1 + std::exp(-beta[i]));
        }
    });
}

Inputs inputs(Context& c, const Shape& s, int64_t rows) {
    return {c.floats(rows * s.channels()), c.floats(rows * s.valueHeads), c.floats(rows * s.valueHeads)};
}

// One value head's columns from `column` on over the given rows.
void recur(Context& c, const Shape& s, const Inputs& in, int64_t firstRow, int rows, int head, int column, float* state, bool keep,
           float* out, int64_t outStride, int worker) {
    const int64_t channels = s.channels();
    DeltaRun run;
    run.tokens = rows;
    run.keySize = s.keySize;
    run.columns = std::min(DELTA_COLUMNS, s.valueSize - column);
    run.state = state + int64_t(head) * s.keySize * s.valueSize + column;
    run.stateStride = s.valueSize;
    run.keep = keep;
    run.q = in.mixed + firstRow * channels + int64_t(s.keyHead(head)) * s.keySize;
    run.k = run.q + s.keyColumns();
    run.keyStride = channels;
    run.v = in.mixed + firstRow * channels + 2 * s.keyColumns() + int64_t(head) * s.valueSize + column;
    run.valueStride = channels;
    run.decay = in.decay + firstRow * s.valueHeads + head;
    run.beta = in.beta + firstRow * s.valueHeads + head;
    run.gateStride = s.valueHeads;
    run.out = out + int64_t(head) * s.valueSize + column;
    run.outStride = outStride;
    run.scratch = c.worker(worker);
    c.k.delta(&run);
}

// Keeps the last kernel - 1 rows.
void advance(const Shape& s, float* past, const float* qkv, int rows) {
    const int64_t channels = s.channels();
    int length = s.kernel - 1, kept = std::max(0, length - rows), fresh = length - kept;
    memmove(past, past + (length - kept) * channels, size_t(kept * channels) * 4);
    memcpy(past + kept * channels, qkv + (rows - fresh) * channels, size_t(fresh * channels) * 4);
}

}  // namespace

void strata_cpu_delta_net(int64_t context, int32_t keyHeads, int32_t valueHeads, int32_t keySize, int32_t valueSize,
                          int32_t kernel, int32_t tiled, int32_t sigmoidGate, float epsilon, int64_t convolution, int64_t decay,
                          int64_t timeBias, int64_t norm, int64_t qkv, int64_t z, int64_t beta, int64_t alpha, int64_t states,
                          int64_t past, int64_t batch, int64_t out) {
    Context& c = at(context);
    c.begin();
    const Shape s{keyHeads, valueHeads, keySize, valueSize, kernel, tiled != 0};
    const Batch b{(const int32_t*)batch};
    const int64_t channels = s.channels(), valueColumns = s.valueColumns();
    Inputs in = inputs(c, s, b.rows());
    for (int i = 0; i < b.segments(); i++) {
        const Segment& g = b.segment(i);
        float* window = (float*)past + int64_t(g.slot) * (kernel - 1) * channels;
        Inputs part{in.mixed + g.firstRow * channels, in.decay + int64_t(g.firstRow) * valueHeads,
                    in.beta + int64_t(g.firstRow) * valueHeads};
        prepare(c, s, (const float*)convolution, (const float*)decay, (const float*)timeBias,
                (const float*)qkv + g.firstRow * channels, (const float*)beta + int64_t(g.firstRow) * valueHeads,
                (const float*)alpha + int64_t(g.firstRow) * valueHeads, window, g.rows, part);
        if (!b.hold()) advance(s, window, (const float*)qkv + g.firstRow * channels, g.rows);
    }
    const int parts = (valueSize + DELTA_COLUMNS - 1) / DELTA_COLUMNS;
    c.pool.run(b.segments() * valueHeads * parts, [&](int chunk, int worker) {
        const Segment& g = b.segment(chunk / (valueHeads * parts));
        int head = chunk / parts % valueHeads;
        recur(c, s, in, g.firstRow, g.rows, head, chunk % parts * DELTA_COLUMNS, (float*)states + g.slot * s.stateFloats(),
              !b.hold(), (float*)out + g.firstRow * valueColumns, valueColumns, worker);
    });
    c.rows(int64_t(b.rows()) * valueHeads, valueSize * 8, [&](int i, int) {
        float* x = (float*)out + int64_t(i) * valueSize;
        const float* gate = (const float*)z + int64_t(i) * valueSize;
        float factor = 1 / std::sqrt(c.k.sumSquares(x, valueSize) / float(valueSize) + epsilon);
        c.k.normalise(x, (const float*)norm, factor, valueSize, x);
        if (sigmoidGate) c.k.sigmoidMultiply(gate, valueSize, x);
        else c.k.siluMultiply(gate, x, valueSize, x);
    });
}

void strata_cpu_delta_replay(int64_t context, int32_t keyHeads, int32_t valueHeads, int32_t keySize, int32_t valueSize,
                             int32_t kernel, int32_t tiled, int64_t convolution, int64_t decay, int64_t timeBias, int64_t qkv,
                             int64_t beta, int64_t alpha, int64_t states, int64_t past, int32_t slot, int32_t accepted) {
    Context& c = at(context);
    c.begin();
    const Shape s{keyHeads, valueHeads, keySize, valueSize, kernel, tiled != 0};
    Inputs in = inputs(c, s, accepted);
    float* window = (float*)past + int64_t(slot) * (kernel - 1) * s.channels();
    prepare(c, s, (const float*)convolution, (const float*)decay, (const float*)timeBias, (const float*)qkv, (const float*)beta,
            (const float*)alpha, window, accepted, in);
    advance(s, window, (const float*)qkv, accepted);
    float* ignored = c.floats(accepted * s.valueColumns());
    const int parts = (valueSize + DELTA_COLUMNS - 1) / DELTA_COLUMNS;
    c.pool.run(valueHeads * parts, [&](int chunk, int worker) {
        recur(c, s, in, 0, accepted, chunk / parts, chunk % parts * DELTA_COLUMNS, (float*)states + slot * s.stateFloats(), true,
              ignored, s.valueColumns(), worker);
    });
}
