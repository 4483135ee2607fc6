#define STRATA_NS avxvnni
#define STRATA_AVXVNNI
#include "simd_avx2.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "quant_rows.h"
#include "packed_tiles.h"

namespace strata {

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
        table.isa = ISA_avxvnni;
        table.name = "avxvnni";
    }
    return &table;
}

}  // namespace strata
