#include "products.h"

namespace strata {

namespace {

// Rows up to which weights are read in stored order instead of in panels.
constexpr int DOT_ROWS = MAX_DOT_ROWS;
constexpr int CLAIM_BYTES = 1 << 18;  // weights of one claim of such products at most
constexpr int PANEL_INPUTS = 8192;  // width x inputs of one float32 panel: the first cache holds it
constexpr int MOST_PANEL = 16384;   // the same of a quantized one at most

}  // namespace

void productTiles(Context& c, const Matrix& m, int begin, int end, const Row* x, int rows, float* const* out, int worker) {
    const Kernels& k = c.k;
    const bool quant = quantized(k, m.type) && m.inputs % 32 == 0;
    const int width = quant ? k.widthQ : k.width;
    uint8_t* memory = (uint8_t*)c.worker(worker);
    const int chunk = quant ? k.inputsQ : PANEL_INPUTS / width;
    PanelQ panel;
    panel.data = (int16_t*)memory;
    float* floats = (float*)memory;
    panel.scale = (float*)(memory + PANEL_INPUTS * 4);
    panel.min = panel.scale + MOST_PANEL / 16;
    float* edge = panel.min + MOST_PANEL / 32;
    const int64_t rowBytes = m.rowBytes();
    float* target[16];
    const float* source[16];
    for (int o = begin; o < end; o += width) {
        const int valid = end - o < width ? end - o : width;
        const uint8_t* w = m.data + o * rowBytes;
        if (valid < width) memset(edge, 0, size_t(rows) * width * 4);
        for (int first = 0; first < m.inputs; first += chunk) {
            const int count = m.inputs - first < chunk ? m.inputs - first : chunk;
            if (quant) {
                k.panels[m.type](w, rowBytes, valid, first / 32, count / 32, m.scale, &panel);
            } else {
                k.panelF(m.type, w, rowBytes, valid, first, count, m.scale, floats);
            }
            // Tiles of even sizes: a last one of few rows would take nearly as long as a whole one.
            const int most = quant ? k.tileQRows : k.tileRows;
            const int tiles = (rows + most - 1) / most;
            for (int t = 0; t < tiles; t++) {
                const int r = rows * t / tiles, n = rows * (t + 1) / tiles - r;
                for (int i = 0; i < n; i++) {
                    target[i] = valid < width ? edge + int64_t(r + i) * width : out[r + i] + o;
                    source[i] = x[r + i].f + first;
                }
                if (quant) {
                    k.tileQ(&panel, x + r, first / 32, n, target);
                } else {
                    k.tileF(source, n, floats, width, count, target);
                }
            }
        }
        if (valid < width) {
            for (int r = 0; r < rows; r++)
                for (int i = 0; i < valid; i++) out[r][o + i] += edge[int64_t(r) * width + i];
        }
    }
}

Row* prepareRows(Context& c, int first, int second, const float* x, int rows, int columns) {
    Row* result = (Row*)c.take(int64_t(rows) * sizeof(Row));
    for (int r = 0; r < rows; r++) result[r] = {x + int64_t(r) * columns, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    if (!quantized(c.k, first) && !quantized(c.k, second)) return result;
    const bool few = rows <= DOT_ROWS;
    if (few && c.kept.hold(x, rows, columns)) {
        for (int r = 0; r < rows; r++) {
            const float* numbers = result[r].f;
            result[r] = c.kept.row(r);
            result[r].f = numbers;
        }
        return result;
    }
    const int64_t blocks = (columns / 32 + 7) / 8 * 8;
    // Rows a cache line further apart than they are long: at powers of two they would push each other out of the first cache.
    const int64_t stride = blocks * 32 + 32, byteStride = c.k.bytes ? blocks * 64 + 64 : 0, planeStride = c.k.planes ? blocks * 64 + 32 : 0;
    const int64_t each = stride * 2 + blocks * 24 + byteStride + planeStride * 2;
    uint8_t* memory = few ? c.kept.room(rows * each, rows, columns) : (uint8_t*)c.take(rows * each);
    // Whole cache lines: every part of a row is a multiple of 64 bytes but the factors, of 32.
    auto part = [&](int64_t bytes) {
        uint8_t* start = memory;
        memory += rows * bytes;
        return start;
    };
    int16_t* q = (int16_t*)part(stride * 2);
    int8_t* bytes = (int8_t*)part(byteStride);
    uint16_t* planes = (uint16_t*)part(planeStride * 2);
    float* h = (float*)part(blocks * 8);
    int32_t* totals = (int32_t*)part(blocks * 8);
    float* d = (float*)part(blocks * 4);
    float* s = (float*)part(blocks * 4);
    for (int r = 0; r < rows; r++) {
        result[r].q = q + r * stride;
        result[r].d = d + r * blocks;
        result[r].s = s + r * blocks;
        result[r].h = h + r * blocks * 2;
        result[r].totals = totals + r * blocks * 2;
        result[r].bytes = c.k.bytes ? bytes + r * byteStride : nullptr;
        result[r].planes = c.k.planes ? planes + r * planeStride : nullptr;
    }
    c.rows(rows, columns, [&](int r, int) {
        const Row& row = result[r];
        c.k.quantize(row.f, columns, (int16_t*)row.q, (float*)row.d, (float*)row.s, (float*)row.h, (int32_t*)row.totals,
                     (int8_t*)row.bytes, (uint16_t*)row.planes);
    });
    if (few) c.kept.keep(result, x, rows, columns);
    return result;
}

void productPart(Context& c, const Matrix& m, int begin, int end, const Row* x, int rows, bool add, float* const* out,
                 int worker) {
    if (rows <= DOT_ROWS) {
        float* target[MAX_DOT_ROWS];
        for (int r = 0; r < rows; r++) target[r] = out[r] + begin;
        c.k.dots[m.type](m.data + begin * m.rowBytes(), m.rowBytes(), end - begin, m.inputs, x, rows, m.scale, add, target);
        return;
    }
    if (!add) {
        for (int r = 0; r < rows; r++) memset(out[r] + begin, 0, size_t(end - begin) * 4);
    }
    productTiles(c, m, begin, end, x, rows, out, worker);
}

int outputsOfClaim(const Context& c, const Matrix& m, int rows, int matrices) {
    if (rows > DOT_ROWS) return 64;
    // Whole multiples of what the kernel takes at once. What is prefetched beyond a claim is the thread's next one (Pool).
    const int64_t unit = c.k.dotOutputs;
    int64_t outputs = (CLAIM_BYTES / m.rowBytes() + unit / 2) / unit * unit;
    // Two claims a thread of one matrix, four of several.
    int64_t share = int64_t(m.outputs) * matrices / ((matrices == 1 ? 2 : 4) * c.pool.threads());
    if (share > unit) share -= share % unit;
    if (outputs > share) outputs = share;
    const int64_t least = unit < 4 ? 4 : unit;
    return int(outputs < least ? least : outputs);
}

void product(Context& c, const Matrix& m, const Row* x, int rows, bool add, float* out, int64_t outStride) {
    const int each = outputsOfClaim(c, m, rows);
    const int parts = (m.outputs + each - 1) / each;
    const int blocks = (rows + TOKENS_OF_CLAIM - 1) / TOKENS_OF_CLAIM;
    float** target = (float**)c.take(rows * int64_t(sizeof(float*)));
    for (int r = 0; r < rows; r++) target[r] = out + r * outStride;
    c.pool.run(parts * blocks, [&](int chunk, int worker) {
        int begin = chunk / blocks * each;
        int end = begin + each < m.outputs ? begin + each : m.outputs;
        int first = chunk % blocks * TOKENS_OF_CLAIM;
        int count = rows - first < TOKENS_OF_CLAIM ? rows - first : TOKENS_OF_CLAIM;
        productPart(c, m, begin, end, x + first, count, add, target + first, worker);
    });
}

}  // namespace strata
