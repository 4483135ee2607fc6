// Life of a context and the operations over rows that need no state.
#include <algorithm>

#include "products.h"
#include "strata_cpu.h"

using namespace strata;

namespace {
Context& at(int64_t context) { return *(Context*)context; }
}  // namespace

int64_t strata_cpu_open(int32_t cap, int32_t threads) { return (int64_t) new Context(chooseKernels(cap), threads); }
int32_t strata_cpu_isa(int64_t context) { return at(context).k.isa; }
void strata_cpu_work(int64_t context, int32_t index) { at(context).pool.work(index); }
void strata_cpu_stop(int64_t context) { at(context).pool.stop(); }
void strata_cpu_close(int64_t context) { delete &at(context); }

void strata_cpu_copy(int64_t context, int64_t source, int64_t target, int64_t bytes) {
    constexpr int64_t PIECE = 4 << 20;
    at(context).pool.run(int((bytes + PIECE - 1) / PIECE), [&](int chunk, int) {
        int64_t from = chunk * PIECE;
        memcpy((uint8_t*)target + from, (const uint8_t*)source + from, size_t(std::min(PIECE, bytes - from)));
    });
}

int64_t strata_cpu_packed_bytes(int64_t context, int32_t type, int32_t outputs, int32_t inputs) {
    const Kernels& k = at(context).k;
    const bool whole = k.lanes > 0 && outputs % k.lanes == 0 && inputs % RUN_INPUTS == 0;
    return whole && type < TYPE_LIMIT && k.packs[type] ? outputs * rowBytes(PACKED + type, inputs) : 0;
}

void strata_cpu_pack(int64_t context, int32_t type, int64_t source, int32_t outputs, int32_t inputs, int64_t target) {
    Context& c = at(context);
    const int64_t stored = rowBytes(type, inputs), packed = rowBytes(PACKED + type, inputs);
    c.rows(outputs / c.k.lanes, int64_t(inputs) * c.k.lanes, [&](int group, int) {
        const int64_t first = int64_t(group) * c.k.lanes;
        c.k.packs[type]((const uint8_t*)source + first * stored, stored, c.k.lanes, inputs, (uint8_t*)target + first * packed);
    });
}

void strata_cpu_decode(int64_t context, int32_t type, int64_t source, int64_t target, int64_t elements, float scale) {
    constexpr int64_t PIECE = 65536;
    const TypeInfo& info = typeInfo(type);
    at(context).pool.run(int((elements + PIECE - 1) / PIECE), [&](int chunk, int) {
        int64_t from = chunk * PIECE;
        info.decode((const uint8_t*)source + rowBytes(type, from), (float*)target + from, int(std::min(PIECE, elements - from)));
        if (scale != 1) at(context).k.scale(scale, int(std::min(PIECE, elements - from)), (float*)target + from);
    });
}

void strata_cpu_embed(int64_t context, int32_t type, int64_t table, int32_t columns, float scale, int64_t batch, int64_t out) {
    Context& c = at(context);
    Batch b{(const int32_t*)batch};
    int64_t bytes = rowBytes(type, columns);
    c.rows(b.rows(), columns * 4, [&](int r, int) {
        float* row = (float*)out + int64_t(r) * columns;
        if (type >= PACKED) decodePacked(type, c.k.lanes, (const uint8_t*)table, columns, b.tokens()[r], row);
        else typeInfo(type).decode((const uint8_t*)table + b.tokens()[r] * bytes, row, columns);
        if (scale != 1) c.k.scale(scale, columns, row);
    });
}

void strata_cpu_rms_norm(int64_t context, int64_t in, int32_t rows, int32_t columns, int64_t weight, int32_t weightColumns,
                         int32_t group, float epsilon, int64_t out) {
    Context& c = at(context);
    c.begin();
    c.rows(rows, columns, [&](int r, int) {
        for (int g = 0; g < columns; g += group) {
            const float* x = (const float*)in + int64_t(r) * columns + g;
            float factor = 1 / __builtin_sqrtf(c.k.sumSquares(x, group) / float(group) + epsilon);
            c.k.normalise(x, (const float*)weight + g % weightColumns, factor, group, (float*)out + int64_t(r) * columns + g);
        }
    });
}

void strata_cpu_matmul(int64_t context, int32_t type, int64_t weight, int32_t outputs, int32_t inputs, float scale, int64_t in,
                       int32_t rows, int64_t out, int32_t add) {
    Context& c = at(context);
    c.begin();
    Row* x = prepareRows(c, type, type, (const float*)in, rows, inputs);
    product(c, {type, (const uint8_t*)weight, outputs, inputs, scale}, x, rows, add != 0, (float*)out, outputs);
}

void strata_cpu_add(int64_t context, int64_t in, int64_t count, int64_t into) {
    Context& c = at(context);
    constexpr int64_t PIECE = 16384;
    c.pool.run(int((count + PIECE - 1) / PIECE), [&](int chunk, int) {
        int64_t from = chunk * PIECE;
        c.k.add((const float*)in + from, int(std::min(PIECE, count - from)), (float*)into + from);
    });
}

void strata_cpu_repeat(int64_t context, int64_t in, int32_t rows, int32_t columns, int32_t times, int64_t out) {
    at(context).rows(rows, int64_t(columns) * times, [&](int r, int) {
        for (int i = 0; i < times; i++) {
            memcpy((float*)out + (int64_t(r) * times + i) * columns, (const float*)in + int64_t(r) * columns, size_t(columns) * 4);
        }
    });
}

void strata_cpu_concatenate(int64_t context, int64_t left, int32_t leftColumns, int64_t right, int32_t rightColumns,
                            int32_t rows, int64_t out) {
    int64_t columns = int64_t(leftColumns) + rightColumns;
    at(context).rows(rows, columns, [&](int r, int) {
        float* row = (float*)out + r * columns;
        memcpy(row, (const float*)left + int64_t(r) * leftColumns, size_t(leftColumns) * 4);
        memcpy(row + leftColumns, (const float*)right + int64_t(r) * rightColumns, size_t(rightColumns) * 4);
    });
}

void strata_cpu_shift_rows(int64_t context, int64_t window, int32_t length, int32_t columns, int64_t rows, int32_t count) {
    (void)context;
    float* w = (float*)window;
    int kept = std::max(0, length - count);
    memmove(w, w + int64_t(length - kept) * columns, size_t(kept) * columns * 4);
    int fresh = length - kept;
    memcpy(w + int64_t(kept) * columns, (const float*)rows + int64_t(count - fresh) * columns, size_t(fresh) * columns * 4);
}

void strata_cpu_transpose(int64_t context, int64_t source, int32_t rows, int32_t columns, int64_t target) {
    (void)context;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++) ((float*)target)[int64_t(i) * rows + r] = ((const float*)source)[int64_t(r) * columns + i];
}
