// Register tiles of prompts on the AMX unit, for bfloat16.
//
// Unpacked weights have at most 8 bits, which bfloat16 holds exactly, and an activation is the sum of two bfloat16 numbers to 2^-17 of
// itself. So two `tdpbf16ps` a block give its products as exactly as 16-bit integers do, and only the weights' factors remain to be applied
// to each block's result. Panels lie [blocks][16 pairs][32 outputs][2], a matrix of the tile unit in every half of the outputs; activations
// of a block are 32 high parts, then 32 low parts. Bytes moved: as with the other tiles.
#pragma once
#include "byte_rows.h"
#include "quant_tiles.h"

namespace strata::STRATA_NS {

static_assert(NR == 32);
constexpr int TILE_TOKENS = 16;
constexpr int PLANES = 64;  // bfloat16 numbers of a block of 32 activations

// float32 bits to the nearest bfloat16, in the upper half.
static inline __m512i roundBf16(__m512i bits) {
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_and_si512(rounded, _mm512_set1_epi32(int(0xffff0000)));
}

static void quantizePlanes(const float* x, int n, int16_t* q, float* d, float* s, float* h, int8_t* bytes, uint16_t* planes) {
    quantizeBytes(x, n, q, d, s, h, bytes, nullptr);
    for (int i = 0; i < n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        __m512i high = roundBf16(_mm512_castps_si512(v));
        __m512i low = roundBf16(_mm512_castps_si512(_mm512_sub_ps(v, _mm512_castsi512_ps(high))));
        uint16_t* target = planes + i / 32 * PLANES + i % 32;
        _mm256_storeu_si256((__m256i*)target, _mm512_cvtepi32_epi16(_mm512_srli_epi32(high, 16)));
        _mm256_storeu_si256((__m256i*)(target + 32), _mm512_cvtepi32_epi16(_mm512_srli_epi32(low, 16)));
    }
}

// 16 small integers as bfloat16.
static inline __m256i bf16Of(__m256i words) {
    __m512 v = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(words));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(v), 16));
}

// The panel of integers, turned into bfloat16 in the elements' own order: pairs of the first half of a block before those of the second.
template <class T>
static void panelPlanes(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panelOf<T>(w, rowBytes, rows, firstBlock, blocks, scale, panel, [](Pair* pair) {
        __m256i low = _mm256_unpacklo_epi16(pair->even, pair->odd), high = _mm256_unpackhi_epi16(pair->even, pair->odd);
        pair->even = bf16Of(_mm256_permute2x128_si256(low, high, 0x20));
        pair->odd = bf16Of(_mm256_permute2x128_si256(low, high, 0x31));
    });
}

// bfloat16 weights need no factor.
static void panelBf16(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = 1;
    panel->hasMin = false;
    for (int group = 0; group < NR; group += 8) {
        for (int b = 0; b < blocks; b++) {
            __m256i first[8], second[8];
            for (int j = 0; j < 8; j++) {
                const uint8_t* p = w + (group + j < rows ? group + j : rows - 1) * rowBytes + int64_t(firstBlock + b) * 64;
                first[j] = _mm256_loadu_si256((const __m256i*)p);
                second[j] = _mm256_loadu_si256((const __m256i*)(p + 32));
            }
            int32_t* target = (int32_t*)panel->data + b * 16 * NR + group;
            transpose8(first, target, NR);
            transpose8(second, target + 8 * NR, NR);
            for (int j = 0; j < 8; j++) panel->scale[b * NR + group + j] = scale;
        }
    }
}

// Shapes of the tile registers: 0 and 1 results, 2 and 3 activations, 4 and 5 weights. With factors for 16 elements, half the depth.
struct alignas(64) TileShapes {
    uint8_t palette = 1;
    uint8_t startRow = 0;
    uint8_t reserved[14] = {};
    uint16_t rowBytes[16] = {};
    uint8_t rows[16] = {};

    constexpr explicit TileShapes(int depth) {
        for (int i = 0; i < 6; i++) {
            rowBytes[i] = uint16_t(i == 2 || i == 3 ? 2 * depth : 64);
            rows[i] = uint8_t(i < 4 ? TILE_TOKENS : depth / 2);
        }
    }
};

// Adds factor * result to the sums of 16 outputs of all tokens.
static inline void addTile(const float (*result)[16], const float* factor, int rows, float (*sum)[NR]) {
    const __m512 f = _mm512_loadu_ps(factor);
    for (int r = 0; r < rows; r++) _mm512_store_ps(sum[r], _mm512_fmadd_ps(f, _mm512_load_ps(result[r]), _mm512_load_ps(sum[r])));
}

template <int HALVES>
static void tilePlanes(const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c) {
    static constexpr TileShapes SHAPES(32 / HALVES);
    _tile_loadconfig(&SHAPES);
    alignas(64) float sum[TILE_TOKENS][NR] = {};
    // Results are read one step after they are stored: right away they would wait for the stores.
    alignas(64) float result[2][2][TILE_TOKENS][16];
    const float* waiting = nullptr;  // factors of the results to be added next
    int step = 0;
    auto addWaiting = [&]() {
        if (!waiting) return;
        addTile(result[step % 2][0], waiting, rows, sum);
        addTile(result[step % 2][1], waiting + 16, rows, (float(*)[NR])(sum[0] + 16));
    };
    // The unit reads rows at one distance; rows that lie otherwise are copied side by side first.
    const int64_t distance = rows > 1 ? x[1].planes - x[0].planes : 0;
    bool even = rows == TILE_TOKENS;
    for (int r = 2; even && r < rows; r++) even = x[r].planes - x[r - 1].planes == distance;
    constexpr int MOST = 8;
    alignas(64) uint16_t copy[TILE_TOKENS][MOST * PLANES];
    for (int first = 0; first < panel->blocks; first += MOST) {
        const int blocks = panel->blocks - first < MOST ? panel->blocks - first : MOST;
        const uint16_t* a = x[0].planes + int64_t(firstBlock + first) * PLANES;
        int64_t stride = distance * 2;
        if (!even) {
            for (int r = 0; r < TILE_TOKENS; r++) {
                memcpy(copy[r], x[r < rows ? r : rows - 1].planes + int64_t(firstBlock + first) * PLANES, size_t(blocks) * PLANES * 2);
            }
            a = copy[0];
            stride = sizeof copy[0];
        }
        asm volatile("" ::: "memory");  // the tile loads do not tell the compiler what they read
        for (int b = 0; b < blocks; b++, a += PLANES) {
            const int16_t* w = panel->data + (first + b) * 32 * NR;
            for (int h = 0; h < HALVES; h++) {
                const uint16_t* ah = a + h * 16;
                const int16_t* wh = w + h * 16 * NR;
                _tile_loadd(2, ah, stride);
                _tile_loadd(3, ah + 32, stride);
                _tile_loadd(4, wh, 4 * NR);
                _tile_loadd(5, wh + 32, 4 * NR);
                _tile_zero(0);
                _tile_zero(1);
                _tile_dpbf16ps(0, 2, 4);
                _tile_dpbf16ps(1, 2, 5);
                _tile_dpbf16ps(0, 3, 4);
                _tile_dpbf16ps(1, 3, 5);
                _tile_stored(0, result[(step + 1) % 2][0], 64);
                _tile_stored(1, result[(step + 1) % 2][1], 64);
                asm volatile("" ::: "memory");
                addWaiting();
                waiting = panel->scale + ((first + b) * HALVES + h) * NR;
                step++;
            }
        }
    }
    addWaiting();
    _tile_release();
    if (panel->hasMin) {
        for (int b = 0; b < panel->blocks; b++) {
            VF m0 = vload(panel->min + b * NR), m1 = vload(panel->min + b * NR + W);
            for (int r = 0; r < rows; r++) {
                VF s = vset(x[r].s[firstBlock + b]);
                vstore(sum[r], vfma(m0, s, vload(sum[r])));
                vstore(sum[r] + W, vfma(m1, s, vload(sum[r] + W)));
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < NV; v++) vstore(c[r] + v * W, vadd(vload(c[r] + v * W), vload(sum[r] + v * W)));
}

static void tileAmx(const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c) {
    if (panel->halves == 2) return tilePlanes<2>(panel, x, firstBlock, rows, c);
    tilePlanes<1>(panel, x, firstBlock, rows, c);
}

static void fillAmxTiles(Kernels* k) {
    fillQuantTiles(k);
    k->quantize = quantizePlanes;
    k->planes = true;
    k->tileQ = tileAmx;
    k->tileQRows = TILE_TOKENS;
#define X(name) k->panels[name] = panelPlanes<Unpack##name>;
    STRATA_UNPACKED(X)
#undef X
    k->panels[BF16] = panelBf16;
}

}  // namespace strata::STRATA_NS
