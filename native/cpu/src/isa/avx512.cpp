#define STRATA_NS avx512
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "packed_tiles.h"
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_avx512() {
    static Kernels table = {};
    if (!table.name) {
        avx512::fillFloatProducts(&table);
        // Products in stored order are bound by memory: those of quantized types are AVX2's.
        const Kernels* rows = kernels_avx2();
        table.quantize = rows->quantize;
        for (int type = 0; type < TYPE_LIMIT; type++) {
            if (rows->panels[type]) table.dots[type] = rows->dots[type];
            table.packs[type] = rows->packs[type];
        }
        avx512::fillQuantTiles(&table);
        avx512::fillPackedRows(&table);
        avx512::fillPackedTiles(&table);
        avx512::fillElementwise(&table);
        table.attend = avx512::attend;
        table.delta = avx512::delta;
        table.isa = ISA_avx512;
        table.name = "avx512";
    }
    return &table;
}

}  // namespace strata
