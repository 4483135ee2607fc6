#define STRATA_NS avx512
#define STRATA_INT16
#include "simd_avx512.h"
#include "unpack.h"
#include "products.h"
// The order matters: later files use the earlier ones.
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_avx512() {
    static Kernels table = {};
    if (!table.name) {
        avx512::fillProducts(&table);
        avx512::fillElementwise(&table);
        table.quantize = avx512::quantize;
        table.tileF = avx512::tileF;
        table.panelF = avx512::panelF;
        table.tileQ = avx512::tileQ;
        table.attend = avx512::attend;
        table.delta = avx512::delta;
        table.isa = 2;
        table.name = "avx512";
    }
    return &table;
}

}  // namespace strata
