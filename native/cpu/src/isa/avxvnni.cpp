#define STRATA_NS avxvnni
#define STRATA_AVXVNNI
#include "simd_avx2.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "quant_rows.h"
#include "packed_tiles.h"

namespace strata {

namespace avxvnni {

// The 16-bit form, and the same as bytes: for every two blocks 64 high ones, then 64 low ones.
static void quantizeBytes(const float* x, int n, int16_t* q, float* d, float* s, float* h, int32_t* totals, int8_t* bytes, uint16_t*) {
    quantize<BYTES_LIMIT>(x, n, q, d, s, h, totals, nullptr, nullptr);
    for (int b = 0; b < n / 32; b++) {
        // Even elements and odd ones, joined to their own order when two vectors become one.
        const __m256i even = iload(q + 32 * b), odd = iload(q + 32 * b + 16);
        const __m256i first = _mm256_unpacklo_epi16(even, odd), second = _mm256_unpackhi_epi16(even, odd);
        auto high = [](__m256i v) { return _mm256_srai_epi16(_mm256_add_epi16(v, iset16(128)), 8); };
        int8_t* target = bytes + b / 2 * 128 + b % 2 * 32;
        istore(target, _mm256_packs_epi16(high(first), high(second)));
        istore(target + 64, _mm256_packus_epi16(iand(first, iset16(0xff)), iand(second, iset16(0xff))));
    }
}

}  // namespace avxvnni

// What does not multiply integers is AVX2's.
const Kernels* kernels_avxvnni() {
    static Kernels table = {};
    if (!table.name) {
        table = *kernels_avx2();
        avxvnni::fillQuantRows(&table);
        avxvnni::fillQuantTiles(&table);
        avxvnni::fillPackedRows(&table);
        avxvnni::fillPackedTiles(&table);
        table.quantize = avxvnni::quantizeBytes;
        table.bytes = true;
        table.isa = 2;
        table.name = "avxvnni";
    }
    return &table;
}

}  // namespace strata
