#define STRATA_NS amx
#define STRATA_VNNI
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "byte_rows.h"
#include "quant_tiles.h"
#include "amx.h"
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_amx() {
    static Kernels table = {};
    if (!table.name) {
        amx::fillFloatProducts(&table);
        amx::fillByteRows(&table);
        amx::fillAmxTiles(&table);
        amx::fillElementwise(&table);
        table.attend = amx::attend;
        table.delta = amx::delta;
        table.isa = 4;
        table.name = "amx";
    }
    return &table;
}

}  // namespace strata
