#define STRATA_NS avx2
#define STRATA_INT16
#include "simd_avx2.h"
#include "unpack.h"
#include "products.h"
// The order matters: later files use the earlier ones.
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_avx2() {
    static Kernels table = {};
    if (!table.name) {
        avx2::fillProducts(&table);
        avx2::fillElementwise(&table);
        table.quantize = avx2::quantize;
        table.tileF = avx2::tileF;
        table.panelF = avx2::panelF;
        table.tileQ = avx2::tileQ;
        table.attend = avx2::attend;
        table.delta = avx2::delta;
        table.isa = 1;
        table.name = "avx2";
    }
    return &table;
}

}  // namespace strata
