// Register tiles of prompts on the AMX unit, for bfloat16.
//
// Unpacked weights have at most 8 bits, which bfloat16 holds exactly, and an activation is the sum of two bfloat16 numbers to 2^-17 of
// itself. So two `tdpbf16ps` a block give its products as exactly as 16-bit integers do, and only the weights' factors remain to be applied
// to each block's result.
//
// A panel holds 64 outputs x 256 inputs, matrix by matrix of the tile unit: [blocks][4 groups of 16 outputs][16 pairs][16 outputs][2]. For
// 16 tokens and one group, 32 cycles of the unit a block: the sums of 16 x 16 results stay in vector registers, so that a block's results go through
// the first cache once and nothing else does; three blocks are under way at a time, each in a result register of its own. 16 tokens' activations (16 KiB) serve
// four groups. Bytes moved: as with the other tiles.
#pragma once
#include "packed_rows.h"
#include "vbmi.h"

namespace strata::STRATA_NS {

constexpr int TILE = 16;    // tokens, and outputs, of one result
constexpr int GROUPS = 4;   // of outputs in a panel
constexpr int AMX_WIDTH = TILE * GROUPS;
constexpr int AMX_BLOCKS = 8;  // of a panel at most
constexpr int PLANES = 64;     // bfloat16 numbers of a block of 32 activations
constexpr int MATRIX = 16 * TILE * 2;  // bfloat16 numbers of one block of one group

// float32 bits to the nearest bfloat16, in the upper half.
static inline __m512i roundBf16(__m512i bits) {
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_and_si512(rounded, _mm512_set1_epi32(int(0xffff0000)));
}

static void quantizePlanes(const float* x, int n, int16_t* q, float* d, float* s, float* h, int32_t* totals, int8_t* bytes, uint16_t* planes) {
    quantizeBytes(x, n, q, d, s, h, totals, bytes, nullptr);
    for (int i = 0; i < n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        __m512i high = roundBf16(_mm512_castps_si512(v));
        __m512i low = roundBf16(_mm512_castps_si512(_mm512_sub_ps(v, _mm512_castsi512_ps(high))));
        uint16_t* target = planes + i / 32 * PLANES + i % 32;
        _mm256_storeu_si256((__m256i*)target, _mm512_cvtepi32_epi16(_mm512_srli_epi32(high, 16)));
        _mm256_storeu_si256((__m256i*)(target + 32), _mm512_cvtepi32_epi16(_mm512_srli_epi32(low, 16)));
    }
}

// 16 rows of 16 pairs to 16 pairs of 16 rows.
static inline void transpose16(const uint16_t (*rows)[32], int16_t* target) {
    __m512i t[16], u[16];
    STRATA_UNROLL
    for (int i = 0; i < 8; i++) {
        const __m512i a = _mm512_load_si512(rows[2 * i]), b = _mm512_load_si512(rows[2 * i + 1]);
        t[2 * i] = _mm512_unpacklo_epi32(a, b);
        t[2 * i + 1] = _mm512_unpackhi_epi32(a, b);
    }
    // Vector 4 i + j: columns j, 4 + j, 8 + j and 12 + j of rows 4 i ... 4 i + 3.
    STRATA_UNROLL
    for (int i = 0; i < 4; i++) {
        u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    STRATA_UNROLL
    for (int j = 0; j < 4; j++) {
        const __m512i low = _mm512_shuffle_i32x4(u[j], u[4 + j], 0x44), high = _mm512_shuffle_i32x4(u[j], u[4 + j], 0xee);
        const __m512i low2 = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0x44), high2 = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0xee);
        _mm512_store_si512(target + 32 * j, _mm512_shuffle_i32x4(low, low2, 0x88));
        _mm512_store_si512(target + 32 * (4 + j), _mm512_shuffle_i32x4(low, low2, 0xdd));
        _mm512_store_si512(target + 32 * (8 + j), _mm512_shuffle_i32x4(high, high2, 0x88));
        _mm512_store_si512(target + 32 * (12 + j), _mm512_shuffle_i32x4(high, high2, 0xdd));
    }
}

// 32 small integers, each in the upper byte of its word, as bfloat16.
static inline __m512i bf16OfBytes(__m512i words) {
    const __m512 even = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(words, 16), 24));
    const __m512 odd = _mm512_cvtepi32_ps(_mm512_srai_epi32(words, 24));
    return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(_mm512_castps_si512(even), 16), _mm512_castps_si512(odd));
}

// The two bytes of the bfloat16 numbers that 16 codes stand for, in every lane.
struct CodeTable {
    __m512i low, high;

    explicit CodeTable(const int8_t* values) {
        const __m512 v = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)values)));
        const __m256i words = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(v), 16));
        const __m256i mask = _mm256_set1_epi16(0xff);
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(_mm256_and_si256(words, mask), _mm256_srli_epi16(words, 8)), 0xd8);
        low = _mm512_broadcast_i32x4(_mm256_castsi256_si128(bytes));
        high = _mm512_broadcast_i32x4(_mm256_extracti128_si256(bytes, 1));
    }
};

template <class T>
static inline CodeTable codeTable() {
    if constexpr (T::CODES) return CodeTable(T::values());
    else return CodeTable(VALUES_PLAIN);  // not used
}

// Blocks 2 i and 2 i + 1 of the run at p as 32 bfloat16 numbers each.
template <class T>
static inline __attribute__((always_inline)) void bf16Pair(const uint8_t* p, int i, const Lookup& work, const CodeTable& table, uint16_t* first,
                                                           uint16_t* second) {
    // In this order the halves that the unpacking operations take are one block each.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    if constexpr (T::CODES) {
        const __m512i codes = _mm512_permutexvar_epi64(order, T::codes(p, i));
        const __m512i low = _mm512_shuffle_epi8(table.low, codes), high = _mm512_shuffle_epi8(table.high, codes);
        _mm512_store_si512(first, _mm512_unpacklo_epi8(low, high));
        _mm512_store_si512(second, _mm512_unpackhi_epi8(low, high));
    } else {
        const __m512i zero = _mm512_setzero_si512();
        const __m512i v = _mm512_permutexvar_epi64(order, _mm512_sub_epi8(T::bytes(p, i, work), _mm512_set1_epi8(char(T::OFFSET))));
        _mm512_store_si512(first, bf16OfBytes(_mm512_unpacklo_epi8(zero, v)));
        _mm512_store_si512(second, bf16OfBytes(_mm512_unpackhi_epi8(zero, v)));
    }
}

// 16 small integers as bfloat16.
static inline __m256i bf16Of(__m256i words) {
    const __m512 v = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(words));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(v), 16));
}

// One block outside of whole runs.
template <class T>
static inline void bf16Block(const uint8_t* p, int sub, uint16_t* target) {
    const Lookup none{};  // codebook types have whole runs only
    Pair pair = rowBlock<T>(p, sub, none);
    pair.even = _mm256_sub_epi16(pair.even, _mm256_set1_epi16(T::OFFSET));
    pair.odd = _mm256_sub_epi16(pair.odd, _mm256_set1_epi16(T::OFFSET));
    const __m256i low = _mm256_unpacklo_epi16(pair.even, pair.odd), high = _mm256_unpackhi_epi16(pair.even, pair.odd);
    _mm256_storeu_si256((__m256i*)target, bf16Of(_mm256_permute2x128_si256(low, high, 0x20)));
    _mm256_storeu_si256((__m256i*)(target + 16), bf16Of(_mm256_permute2x128_si256(low, high, 0x31)));
}

// T reads whole runs of 8 blocks, REST the blocks behind the last run (codebook types have none).
template <class T, class REST>
static void panelAmx(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = T::HALVES;
    panel->hasMin = T::HAS_MIN;
    const CodeTable table = codeTable<T>();
    const int64_t start = int64_t(firstBlock / T::SUBS) * T::BYTES;
    alignas(64) uint16_t first[TILE][32], second[TILE][32];
    for (int g = 0; g < GROUPS; g++) {
        // Outputs beyond the last repeat it: their results are never read.
        const uint8_t* row[TILE];
        for (int j = 0; j < TILE; j++) row[j] = w + (g * TILE + j < rows ? g * TILE + j : rows - 1) * rowBytes + start;
        int b = 0;
        for (; b + 8 <= blocks; b += 8) {
            const int64_t at = b / T::SUBS * T::BYTES;
            Lookup work[T::GRID ? TILE : 1];
            for (int j = 0; j < TILE; j++) {
                const uint8_t* p = row[j] + at;
                // The panel after this one reads the same inputs of the next outputs.
                for (int i = 0; i < 8 / T::SUBS * T::BYTES; i += 64) __builtin_prefetch(p + AMX_WIDTH * rowBytes + i, 0, 2);
                if constexpr (T::GRID) prepareLookup<T>(p, work + j);
                panelFactors<T, AMX_WIDTH>(p, 8, scale, panel, b, g * TILE + j);
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < TILE; j++) bf16Pair<T>(row[j] + at, i, work[T::GRID ? j : 0], table, first[j], second[j]);
                int16_t* target = panel->data + ((b + 2 * i) * GROUPS + g) * MATRIX;
                transpose16(first, target);
                transpose16(second, target + GROUPS * MATRIX);
            }
        }
        if constexpr (T::SUBS < 8) {
            if (b == blocks) continue;
            for (int j = 0; j < TILE; j++) panelFactors<T, AMX_WIDTH>(row[j] + b / T::SUBS * T::BYTES, blocks - b, scale, panel, b, g * TILE + j);
            for (; b < blocks; b++) {
                for (int j = 0; j < TILE; j++) bf16Block<REST>(row[j] + b / T::SUBS * T::BYTES, b % T::SUBS, first[j]);
                transpose16(first, panel->data + (b * GROUPS + g) * MATRIX);
            }
        }
    }
}

// Packed matrices: a vector of codes is two pairs of 16 outputs.
template <class T>
static void panelPackedAmx(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = T::HALVES;
    panel->hasMin = T::HAS_MIN;
    const CodeTable table(T::signedValues());
    for (int g = 0; g < GROUPS; g++) {
        // Groups beyond the last repeat it: their results are never read.
        const uint8_t* group = w + (g * TILE < rows ? g * TILE : rows - TILE) * rowBytes;
        const uint8_t* factorsAt = group + firstBlock / 8 * T::FACTOR_BYTES;
        const uint8_t* p = group + T::codesAt(rowBytes) + firstBlock * T::BLOCK_BYTES;
        for (int first = 0; first < blocks; first += 8, factorsAt += T::FACTOR_BYTES) {
            FullFactors<T> factors(factorsAt);
            for (int b = first; b < first + 8; b++, p += T::BLOCK_BYTES) {
                for (int i = 0; i < T::BLOCK_BYTES; i += 64) __builtin_prefetch(p + AMX_WIDTH * rowBytes + i, 0, 2);
                const Codes<T::BITS> codes(p);
                int16_t* target = panel->data + (b * GROUPS + g) * MATRIX;
                STRATA_UNROLL
                for (int i = 0; i < 8; i++) {
                    const __m512i step = codes.step(i);
                    // Two outputs a lane each, with both their pairs.
                    __m512i a, c;
                    if constexpr (T::BITS <= 4) {
                        const __m512i low = _mm512_shuffle_epi8(table.low, step), high = _mm512_shuffle_epi8(table.high, step);
                        a = _mm512_unpacklo_epi8(low, high), c = _mm512_unpackhi_epi8(low, high);
                    } else {
                        const __m512i zero = _mm512_setzero_si512(), v = _mm512_sub_epi8(step, _mm512_set1_epi8(char(T::CODED.offset)));
                        a = bf16OfBytes(_mm512_unpacklo_epi8(zero, v)), c = bf16OfBytes(_mm512_unpackhi_epi8(zero, v));
                    }
                    // Every lane's outputs are in order when even words of 32 bits of both go side by side, then odd ones.
                    const __m512i even = _mm512_unpacklo_epi32(a, c), odd = _mm512_unpackhi_epi32(a, c);
                    _mm512_store_si512(target + 64 * i, _mm512_unpacklo_epi32(even, odd));
                    _mm512_store_si512(target + 64 * i + 32, _mm512_unpackhi_epi32(even, odd));
                }
                for (int half = 0; half < T::HALVES; half++)
                    vstore(panel->scale + (b * T::HALVES + half) * AMX_WIDTH + g * TILE, vmul(vset(scale), factors.of(b - first, half)));
                if constexpr (T::HAS_MIN) vstore(panel->min + b * AMX_WIDTH + g * TILE, vmul(vset(scale), factors.minimum()));
            }
        }
    }
}

// bfloat16 weights need no factor.
static void panelBf16(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = 1;
    panel->hasMin = false;
    alignas(64) uint16_t copy[TILE][32];
    for (int g = 0; g < GROUPS; g++) {
        for (int b = 0; b < blocks; b++) {
            for (int j = 0; j < TILE; j++) {
                const uint8_t* p = w + (g * TILE + j < rows ? g * TILE + j : rows - 1) * rowBytes + int64_t(firstBlock + b) * 64;
                memcpy(copy[j], p, 64);
                panel->scale[b * AMX_WIDTH + g * TILE + j] = scale;
            }
            transpose16(copy, panel->data + (b * GROUPS + g) * MATRIX);
        }
    }
}

// Shapes of the tile registers for some tokens: 0 to 3 results, 4 and 5 activations, 6 weights. With factors for 16 elements, half the depth.
struct alignas(64) TileShapes {
    uint8_t palette = 1;
    uint8_t startRow = 0;
    uint8_t reserved[14] = {};
    uint16_t rowBytes[16] = {};
    uint8_t rows[16] = {};

    TileShapes(int depth, int tokens) {
        for (int i = 0; i < 7; i++) {
            rowBytes[i] = uint16_t(i == 4 || i == 5 ? 2 * depth : 64);
            rows[i] = uint8_t(i < 6 ? tokens : depth / 2);
        }
    }
};

// Products of one group: sums of 16 tokens x 16 outputs over the panel's blocks.
template <int HALVES>
static inline __attribute__((always_inline)) void tileGroup(const int16_t* w, const float* factors, const uint16_t* x, int64_t stride, int steps,
                                                            float (*result)[TILE][16], __m512* sum) {
    // Step n multiplies into result register n % 4; its results are stored two steps later and added one more step later, so that nobody waits.
#define STRATA_STEP(k, stored)                                                                                                    \
    if (n + k < steps) {                                                                                                          \
        const int64_t block = (n + k) / HALVES, half = (n + k) % HALVES;                                                          \
        const uint16_t* a = x + block * PLANES + half * 16;                                                                       \
        _tile_loadd(4, a, stride);                                                                                                \
        _tile_loadd(5, a + 32, stride);                                                                                           \
        _tile_loadd(6, w + block * GROUPS * MATRIX + half * (MATRIX / 2), 64);                                                    \
        _tile_zero(k);                                                                                                            \
        _tile_dpbf16ps(k, 4, 6);                                                                                                  \
        _tile_dpbf16ps(k, 5, 6);                                                                                                  \
    }                                                                                                                             \
    if (n + k >= 2 && n + k < steps + 2) _tile_stored(stored, result[k % 2], 64);                                                 \
    asm volatile("" ::: "memory");                                                                                                \
    if (n + k >= 3 && n + k < steps + 3) {                                                                                        \
        const __m512 f = _mm512_loadu_ps(factors + int64_t(n + k - 3) * AMX_WIDTH);                                               \
        STRATA_UNROLL                                                                                                             \
        for (int r = 0; r < TILE; r++) sum[r] = _mm512_fmadd_ps(f, _mm512_load_ps(result[(k + 1) % 2][r]), sum[r]);               \
    }
    asm volatile("" ::: "memory");  // the tile loads do not tell the compiler what they read
    for (int n = 0; n < steps + 3; n += 4) {
        STRATA_STEP(0, 2)
        STRATA_STEP(1, 3)
        STRATA_STEP(2, 0)
        STRATA_STEP(3, 1)
    }
#undef STRATA_STEP
}

template <int HALVES>
static void tilePlanes(const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c) {
    const TileShapes shapes(32 / HALVES, rows);
    // The unit reads rows at one distance; rows that lie otherwise are copied side by side first.
    const uint16_t* a = x[0].planes + int64_t(firstBlock) * PLANES;
    const int64_t distance = rows > 1 ? x[1].planes - x[0].planes : 0;
    int64_t stride = distance * 2;
    bool even = true;
    for (int r = 2; even && r < rows; r++) even = x[r].planes - x[r - 1].planes == distance;
    alignas(64) uint16_t copy[TILE][AMX_BLOCKS * PLANES];
    if (!even) {
        for (int r = 0; r < rows; r++) memcpy(copy[r], x[r].planes + int64_t(firstBlock) * PLANES, size_t(panel->blocks) * PLANES * 2);
        a = copy[0];
        stride = sizeof copy[0];
    }
    asm volatile("" : : "r"(&shapes) : "memory");  // it does not tell either
    _tile_loadconfig(&shapes);
    alignas(64) float result[2][TILE][16] = {};
    for (int g = 0; g < GROUPS; g++) {
        __m512 sum[TILE];
        STRATA_UNROLL
        for (int r = 0; r < TILE; r++) sum[r] = _mm512_setzero_ps();
        tileGroup<HALVES>(panel->data + g * MATRIX, panel->scale + g * TILE, a, stride, panel->blocks * HALVES, result, sum);
        if (panel->hasMin) {
            for (int b = 0; b < panel->blocks; b++) {
                const __m512 min = _mm512_loadu_ps(panel->min + b * AMX_WIDTH + g * TILE);
                STRATA_UNROLL
                for (int r = 0; r < TILE; r++) {
                    if (r < rows) sum[r] = _mm512_fmadd_ps(min, _mm512_set1_ps(x[r].s[firstBlock + b]), sum[r]);
                }
            }
        }
        STRATA_UNROLL
        for (int r = 0; r < TILE; r++) {
            if (r < rows) _mm512_storeu_ps(c[r] + g * TILE, _mm512_add_ps(_mm512_loadu_ps(c[r] + g * TILE), sum[r]));
        }
    }
    _tile_release();
}

static void tileAmx(const PanelQ* panel, const Row* x, int firstBlock, int rows, float* const* c) {
    if (panel->halves == 2) return tilePlanes<2>(panel, x, firstBlock, rows, c);
    tilePlanes<1>(panel, x, firstBlock, rows, c);
}

static void fillAmxTiles(Kernels* k) {
    if (!fillBooks()) __builtin_trap();
    k->quantize = quantizePlanes;
    k->planes = true;
    k->tileQ = tileAmx;
    k->tileQRows = TILE;
    k->widthQ = AMX_WIDTH;
    k->inputsQ = AMX_BLOCKS * 32;
#define X(name) k->panels[name] = panelAmx<Bytes##name, Unpack##name>;
    STRATA_BYTES(X) STRATA_BOOKS(X)
#undef X
#define X(name, bits, factors, unit, values) k->panels[PACKED + name] = panelPackedAmx<Packed##name>;
    STRATA_PACKED(X)
#undef X
    k->panels[BF16] = panelBf16;
}

}  // namespace strata::STRATA_NS
