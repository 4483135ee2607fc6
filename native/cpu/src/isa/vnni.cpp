#define STRATA_NS vnni
#define STRATA_VNNI
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "byte_rows.h"
#include "quant_tiles.h"
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_vnni() {
    static Kernels table = {};
    if (!table.name) {
        vnni::fillFloatProducts(&table);
        vnni::fillByteRows(&table);
        vnni::fillQuantTiles(&table);
        vnni::fillElementwise(&table);
        table.attend = vnni::attend;
        table.delta = vnni::delta;
        table.isa = 3;
        table.name = "vnni";
    }
    return &table;
}

}  // namespace strata
