#define STRATA_NS vnni
#define STRATA_INT16
#define STRATA_VNNI
#include "simd_avx512.h"
#include "unpack.h"
#include "products.h"
// The order matters: later files use the earlier ones.
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_vnni() {
    static Kernels table = {};
    if (!table.name) {
        vnni::fillProducts(&table);
        vnni::fillElementwise(&table);
        table.quantize = vnni::quantize;
        table.tileF = vnni::tileF;
        table.panelF = vnni::panelF;
        table.tileQ = vnni::tileQ;
        table.attend = vnni::attend;
        table.delta = vnni::delta;
        table.isa = 3;
        table.name = "vnni";
    }
    return &table;
}

}  // namespace strata
