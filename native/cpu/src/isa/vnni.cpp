#define STRATA_NS vnni
#define STRATA_VNNI
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "byte_rows.h"
#include "packed_tiles.h"
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
        const Kernels* packing = kernels_avx2();
        for (int type = 0; type < TYPE_LIMIT; type++) table.packs[type] = packing->packs[type];
        vnni::fillPackedRows(&table);
        vnni::fillPackedTiles(&table);
        vnni::fillElementwise(&table);
        table.attend = vnni::attend;
        table.delta = vnni::delta;
        table.isa = ISA_vnni;
        table.name = "vnni";
    }
    return &table;
}

}  // namespace strata
