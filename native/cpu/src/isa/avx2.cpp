#define STRATA_NS avx2
#include "simd_avx2.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "quant_rows.h"
#include "pack.h"
#include "packed_tiles.h"
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_avx2() {
    static Kernels table = {};
    if (!table.name) {
        avx2::fillFloatProducts(&table);
        avx2::fillQuantRows(&table);
        avx2::fillQuantTiles(&table);
        avx2::fillPacks(&table);
        avx2::fillPackedRows(&table);
        avx2::fillPackedTiles(&table);
        avx2::fillElementwise(&table);
        table.attend = avx2::attend;
        table.delta = avx2::delta;
        table.isa = ISA_avx2;
        table.name = "avx2";
    }
    return &table;
}

}  // namespace strata
