#define STRATA_NS vnni
#define STRATA_VNNI
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "quant_tiles.h"
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_vnni() {
    static Kernels table = {};
    if (!table.name) {
        vnni::fillFloatProducts(&table);
        // Products in stored order are bound by memory: those of quantized types are AVX2's.
        const Kernels* rows = kernels_avx2();
        table.quantize = rows->quantize;
        for (int type = 0; type < TYPE_LIMIT; type++) {
            if (rows->panels[type]) table.dots[type] = rows->dots[type];
        }
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
