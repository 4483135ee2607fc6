#define STRATA_NS generic
#include "simd_generic.h"
#include "products.h"
// The order matters: later files use the earlier ones.
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_generic() {
    static Kernels table = {};
    if (!table.name) {
        generic::fillProducts(&table);
        generic::fillElementwise(&table);
        table.quantize = generic::quantize;
        table.tileF = generic::tileF;
        table.panelF = generic::panelF;
        table.tileQ = generic::tileQ;
        table.attend = generic::attend;
        table.delta = generic::delta;
        table.isa = 0;
        table.name = "generic";
    }
    return &table;
}

}  // namespace strata
