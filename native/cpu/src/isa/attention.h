// Flash attention over pages.
//
// Layout: keys of a page and head lie [headSize][64], values [64][headSize], so that scores and sums are register tiles of queries x
// tokens and queries x head elements with no sums across lanes. A page is turned to float32 once for all queries of the run.
// Bytes moved: every page once for the queries of a run.
#pragma once
#include "../kernels.h"
#include "../runs.h"

namespace strata::STRATA_NS {

static_assert(PAGE % NR == 0);

// 64 keys as [headSize][PAGE] float32.
static const float* keyTile(const KvTile& tile, const uint8_t* keys, float* scratch) {
    int d = tile.headSize;
    if (tile.format == KV_F32) return (const float*)keys;
    if (tile.format == KV_F16) {
        for (int i = 0; i < d * PAGE; i += W) vstore(scratch + i, vloadHalf((const uint16_t*)keys + i));
        return scratch;
    }
    const uint16_t* scales = (const uint16_t*)(keys + tile.codeBytes());
    if (tile.format == KV_Q4) {
        for (int i = 0; i < d; i += 2) {
            int8_t low[PAGE], high[PAGE];
            for (int t = 0; t < PAGE; t++) {
                low[t] = int8_t((keys[i / 2 * PAGE + t] & 15) - 8);
                high[t] = int8_t((keys[i / 2 * PAGE + t] >> 4) - 8);
            }
            for (int t = 0; t < PAGE; t += W) {
                VF scale = vloadHalf(scales + i / tile.groupSize() * PAGE + t);
                vstore(scratch + i * PAGE + t, vmul(scale, vloadInt8(low + t)));
                vstore(scratch + (i + 1) * PAGE + t, vmul(scale, vloadInt8(high + t)));
            }
        }
        return scratch;
    }
    for (int i = 0; i < d; i++) {
        for (int t = 0; t < PAGE; t += W) {
            VF scale = vloadHalf(scales + i / tile.groupSize() * PAGE + t);
            vstore(scratch + i * PAGE + t, vmul(scale, vloadInt8((const int8_t*)keys + i * PAGE + t)));
        }
    }
    return scratch;
}

// The first n values as [n][stride] float32, columns beyond the head zero.
static const float* valueTile(const KvTile& tile, const uint8_t* values, int n, int stride, float* scratch) {
    int d = tile.headSize;
    if (tile.format == KV_F32 && d == stride) return (const float*)values;
    for (int t = 0; t < n; t++) {
        float* row = scratch + t * stride;
        int i = 0;
        if (tile.format == KV_F32) {
            memcpy(row, (const float*)values + t * d, size_t(d) * 4);
            i = d;
        } else if (tile.format == KV_F16) {
            for (; i + W <= d; i += W) vstore(row + i, vloadHalf((const uint16_t*)values + t * d + i));
            for (; i < d; i++) row[i] = halfToFloat(((const uint16_t*)values)[t * d + i]);
        } else if (tile.format == KV_Q4) {
            const uint16_t* scales = (const uint16_t*)(values + tile.codeBytes()) + t * tile.groups();
            const uint8_t* codes = values + t * d / 2;
            for (; i < d; i += tile.groupSize()) {
                float scale = halfToFloat(scales[i / tile.groupSize()]);
                for (int j = 0; j < tile.groupSize() / 2; j++) {
                    row[i + 2 * j] = scale * float((codes[i / 2 + j] & 15) - 8);
                    row[i + 2 * j + 1] = scale * float((codes[i / 2 + j] >> 4) - 8);
                }
            }
        } else {
            const uint16_t* scales = (const uint16_t*)(values + tile.codeBytes()) + t * tile.groups();
            for (int g = 0; g < tile.groups(); g++) {
                float scale = halfToFloat(scales[g]);
                int end = (g + 1) * tile.groupSize() < d ? (g + 1) * tile.groupSize() : d;
                for (; i + W <= end; i += W) vstore(row + i, vmul(vset(scale), vloadInt8((const int8_t*)values + t * d + i)));
                for (; i < end; i++) row[i] = scale * float(((const int8_t*)values)[t * d + i]);
            }
        }
        for (; i < stride; i++) row[i] = 0;
    }
    return scratch;
}

static constexpr float MASKED = -3.0e38f;

static void attend(const AttentionRun* run) {
    int d = run->tile.headSize;
    int stride = paddedHead(d);
    float* keyScratch = run->scratch;
    float* valueScratch = keyScratch + PAGE * stride;
    float* scores = valueScratch + PAGE * stride;
    for (int i = 0; i < run->queries; i++) {
        run->max[i] = MASKED;
        run->sum[i] = 0;
    }
    memset(run->out, 0, size_t(run->queries) * stride * 4);
    // Tiles of even sizes: few rows leave too few sums in flight.
    const int tiles = (run->queries + MR - 1) / MR;
    for (int page = run->firstPage; page < run->lastPage; page++) {
        int first = page * PAGE;
        int most = 0;
        uint64_t any = 0;
        for (int i = 0; i < run->queries; i++) {
            most = run->visible[i] > most ? run->visible[i] : most;
            if (run->masks) any |= run->masks[i][page];
        }
        int n = most - first < PAGE ? most - first : PAGE;
        if (n <= 0) break;
        if (run->masks && any == 0) continue;
        const uint8_t* keys = run->keys + run->pages[page] * run->pageStride;
        const uint8_t* values = run->values + run->pages[page] * run->pageStride;
        const float* k = keyTile(run->tile, keys, keyScratch);
        const float* v = valueTile(run->tile, values, n, stride, valueScratch);
        memset(scores, 0, size_t(run->queries) * PAGE * 4);
        for (int tile = 0; tile < tiles; tile++) {
            const int i = run->queries * tile / tiles, rows = run->queries * (tile + 1) / tiles - i;
            for (int t = 0; t < n; t += NR) {
                float* c[MR];
                for (int r = 0; r < rows; r++) c[r] = scores + (i + r) * PAGE + t;
                tileF(run->q + i, rows, k + t, PAGE, d, c);
            }
        }
        for (int i = 0; i < run->queries; i++) {
            float* s = scores + i * PAGE;
            int own = run->visible[i] - first;
            own = own < 0 ? 0 : own < n ? own : n;
            for (int t = own; t < PAGE; t++) s[t] = MASKED;
            if (run->masks) {
                uint64_t mask = run->masks[i][page];
                for (int t = 0; t < own; t++) s[t] = mask >> t & 1 ? s[t] : MASKED;
            }
            VF most4 = vload(s);
            for (int t = W; t < PAGE; t += W) most4 = vmax(most4, vload(s + t));
            float pageMax = vhighest(most4);
            if (pageMax <= MASKED) {
                memset(s, 0, PAGE * 4);
                continue;
            }
            float newMax = pageMax > run->max[i] ? pageMax : run->max[i];
            VF shift = vset(newMax), sum = vzero();
            for (int t = 0; t < PAGE; t += W) {
                VF x = vload(s + t);
                VF e = vexp(vsub(x, shift));
                vstore(s + t, e);
                sum = vadd(sum, e);
            }
            // Masked entries gave exp of the clamp, far below the resolution of a float32 sum; they must be exactly zero for values.
            for (int t = own; t < PAGE; t++) s[t] = 0;
            if (run->masks) {
                uint64_t mask = run->masks[i][page];
                for (int t = 0; t < own; t++) s[t] = mask >> t & 1 ? s[t] : 0;
            }
            if (newMax != run->max[i]) {
                float correction = run->sum[i] == 0 ? 0 : vhighest(vexp(vset(run->max[i] - newMax)));
                run->sum[i] *= correction;
                float* o = run->out + i * stride;
                for (int j = 0; j < stride; j += W) vstore(o + j, vmul(vset(correction), vload(o + j)));
                run->max[i] = newMax;
            }
            run->sum[i] += vsum(sum);
        }
        for (int tile = 0; tile < tiles; tile++) {
            const int i = run->queries * tile / tiles, rows = run->queries * (tile + 1) / tiles - i;
            const float* a[MR];
            for (int r = 0; r < rows; r++) a[r] = scores + (i + r) * PAGE;
            for (int j = 0; j < stride; j += NR) {
                float* c[MR];
                for (int r = 0; r < rows; r++) c[r] = run->out + (i + r) * stride + j;
                tileF(a, rows, v + j, stride, n, c);
            }
        }
    }
}

}  // namespace strata::STRATA_NS
