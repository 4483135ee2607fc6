#define STRATA_NS amx
#define STRATA_VNNI
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "amx.h"

namespace strata {

const Kernels* kernels_amx() {
    static Kernels table = {};
    if (!table.name) {
        table = *kernels_vbmi();
        amx::fillAmxTiles(&table);
        table.isa = ISA_amx;
        table.name = "amx";
    }
    return &table;
}

}  // namespace strata
