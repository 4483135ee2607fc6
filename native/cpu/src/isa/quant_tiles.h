// Register tiles over quantized weights (prompts).
//
// `panelQuant` unpacks width x some blocks of weights into interleaved int16 pairs in a buffer of the first cache's size, `tileQ` runs a
// register tile of MR tokens x 2 vectors of outputs over it: int32 sums inside a block of 32, float32 between blocks. Bytes moved: the
// weights once for each run of token rows.
#pragma once
#include "float_products.h"
#include "unpack.h"

namespace strata::STRATA_NS {

static_assert(NV == 2);

// 8 rows of 8 words of 32 bits to 8 words of 8 rows.
static inline void transpose8(const __m256i* in, __m256i* out) {
    __m256i t[8], u[8];
    STRATA_UNROLL
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_epi32(in[2 * i], in[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_epi32(in[2 * i], in[2 * i + 1]);
    }
    STRATA_UNROLL
    for (int i = 0; i < 2; i++) {
        u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    STRATA_UNROLL
    for (int i = 0; i < 4; i++) {
        out[i] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x20);
        out[i + 4] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x31);
    }
}

// Weights are interleaved while they are bytes and widened afterwards: bytes 4 i ... 4 i + 3 of 8 rows are the pairs i and 8 + i of a block.
template <class T>
static void panelQuant(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = T::HALVES;
    panel->hasMin = T::HAS_MIN;
    constexpr int LINE = 64 * T::SUBS / T::BYTES;         // whole blocks of a cache line
    constexpr int EVERY = LINE > 3 ? 4 : LINE > 1 ? 2 : 1;  // of them one prefetches
    const uint8_t* start = w + int64_t(firstBlock / T::SUBS) * T::BYTES;
    int skipped = firstBlock % T::SUBS;
    for (int group = 0; group < NR; group += 8) {
        // Rows beyond the last repeat it: their results are never read.
        const uint8_t* row[8];
        for (int j = 0; j < 8; j++) row[j] = start + (group + j < rows ? group + j : rows - 1) * rowBytes;
        Lookup work[8];
        for (int b = 0; b < blocks; b++) {
            __m256i bytes[8], columns[8];
            int at = skipped + b;
            const int block = at / T::SUBS * T::BYTES, sub = at % T::SUBS;
            if constexpr (T::GRID) {
                if (b == 0 || sub == 0) {
                    for (int j = 0; j < 8; j++) prepareLookup<T>(row[j] + block, work + j);
                }
            }
            // The panel after this one reads the same inputs of the next rows.
            if (b % EVERY == 0) {
                for (int j = 0; j < 8; j++) __builtin_prefetch(row[j] + block + sub * T::BYTES / T::SUBS + NR * rowBytes, 0, 3);
            }
            STRATA_UNROLL
            for (int j = 0; j < 8; j++) bytes[j] = weightsOf<T>(row[j] + block, sub, work[j]);
            transpose8(bytes, columns);
            int16_t* target = panel->data + (b * 16 * NR + group) * 2;
            STRATA_UNROLL
            for (int i = 0; i < 8; i++) {
                Pair pair = T::SIGNED ? signedPair(columns[i]) : unsignedPair(columns[i]);
                if (T::OFFSET != 0) {
                    pair.even = _mm256_sub_epi16(pair.even, _mm256_set1_epi16(T::OFFSET));
                    pair.odd = _mm256_sub_epi16(pair.odd, _mm256_set1_epi16(T::OFFSET));
                }
                _mm256_storeu_si256((__m256i*)(target + i * NR * 2), pair.even);
                _mm256_storeu_si256((__m256i*)(target + (8 + i) * NR * 2), pair.odd);
            }
        }
        for (int j = 0; j < 8; j++) {
            for (int b = 0; b < blocks; b += 8) {
                const uint8_t* p = row[j] + (skipped + b) / T::SUBS * T::BYTES;
                panelFactors<T, NR>(p, blocks - b < 8 ? blocks - b : 8, scale, panel, b, group + j);
            }
        }
    }
}

// Sums of the products of PAIRS pairs of inputs; START begins them, without zeros to add to.
template <int R, int PAIRS, bool START>
static inline __attribute__((always_inline)) void accumulatePairs(const int16_t* panel, const int16_t* const* x, int first,
                                                                  VI (*sums)[NV]) {
    if (START) {
        VI w0 = iload(panel + first * NR * 2), w1 = iload(panel + (first * NR + W) * 2);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) itileStart(sums[r][0], sums[r][1], w0, w1, x[r] + 2 * first);
    }
#pragma GCC unroll 5
    for (int i = first + START; i < first + PAIRS; i++) {
        VI w0 = iload(panel + i * NR * 2), w1 = iload(panel + (i * NR + W) * 2);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) itile(sums[r][0], sums[r][1], w0, w1, x[r] + 2 * i);
    }
}

// sum[r] += scale * d[r] * sums[r] (+ min * s[r]) of one block.
template <int R, bool MIN>
static inline __attribute__((always_inline)) void addScaled(const VI (*sums)[NV], const float* scale, const float* min, const Row* x, int block,
                                                            float (*sum)[NR]) {
    STRATA_UNROLL
    for (int r = 0; r < R; r++) {
        // Everything but the integer sums is read where it lies: the compiler would keep a second copy of the buffer, and no register is free for factors.
        asm volatile("" : : : "memory");
        const VF d = vset(x[r].d[block]), s = vset(MIN ? x[r].s[block] : 0);
        STRATA_UNROLL
        for (int v = 0; v < NV; v++) {
            VF total = vfma(ifloat(sums[r][v]), vmul(vload(scale + v * W), d), vload(sum[r] + v * W));
            if (MIN) total = vfma(s, vload(min + v * W), total);
            vstore(sum[r] + v * W, total);
        }
    }
}

template <int R, int HALVES, bool MIN>
static inline __attribute__((always_inline)) void tileBlocks(const PanelQ* panel, const Row* x, int firstBlock, float* const* c) {
    // The sums wait in a buffer of their own: rows of c may lie a power of two apart, where they would push each other out of the cache.
    alignas(64) float buffer[R][NR] = {};
    float(*sum)[NR] = buffer;
    // Without its origin the compiler would keep a second copy of the buffer beside it.
    asm volatile("" : "+r"(sum) : : "memory");
    VI sums[R][NV];
    for (int b = 0; b < panel->blocks; b++) {
        const int block = firstBlock + b;
        const int16_t* data = panel->data + b * 32 * NR;
        const int16_t* q[R];
        STRATA_UNROLL
        for (int r = 0; r < R; r++) {
            q[r] = x[r].q + 32 * block;
            // One register an address: as a sum it would take an instruction in every step.
            asm("" : "+r"(q[r]));
        }
        if (HALVES == 2) {
            // Pairs 0-3 and 8-11 hold the first 16 elements of the block.
            accumulatePairs<R, 4, true>(data, q, 0, sums);
            accumulatePairs<R, 4, false>(data, q, 8, sums);
            addScaled<R, false>(sums, panel->scale + 2 * b * NR, nullptr, x, block, sum);
            accumulatePairs<R, 4, true>(data, q, 4, sums);
            accumulatePairs<R, 4, false>(data, q, 12, sums);
            addScaled<R, false>(sums, panel->scale + (2 * b + 1) * NR, nullptr, x, block, sum);
        } else {
            accumulatePairs<R, 16, true>(data, q, 0, sums);
            addScaled<R, MIN>(sums, panel->scale + b * NR, panel->min + b * NR, x, block, sum);
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < NV; v++) vstore(c[r] + v * W, vadd(vload(c[r] + v * W), vload(sum[r] + v * W)));
}

template <int R>
static void tileQuantRows(const PanelQ* panel, const Row* x, int firstBlock, float* const* c) {
    if (panel->halves == 2) return tileBlocks<R, 2, false>(panel, x, firstBlock, c);
    if (panel->hasMin) return tileBlocks<R, 1, true>(panel, x, firstBlock, c);
    tileBlocks<R, 1, false>(panel, x, firstBlock, c);
}

// c[r][0..NR) += products of the panel's blocks, which start at block firstBlock of the rows.
static void tileQ(const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c) {
    STRATA_BY_ROWS(rows, tileQuantRows, panel, x, firstBlock, c)
}

template <class = void>
static void fillQuantTiles(Kernels* k) {
    fillSpreads();
    k->tileQ = tileQ;
    k->tileQRows = MR;
    k->widthQ = NR;
    k->inputsQ = 8192 / NR;  // panels of half the first cache
#define X(name) k->panels[name] = panelQuant<Unpack##name>;
    STRATA_UNPACKED(X)
#undef X
}

}  // namespace strata::STRATA_NS
