#define STRATA_NS generic
#include "simd_generic.h"
// Later headers use the earlier ones.
#include "float_products.h"
#include "elementwise.h"
#include "attention.h"
#include "delta.h"

namespace strata {

const Kernels* kernels_generic() {
    static Kernels table = {};
    if (!table.name) {
        generic::fillFloatProducts(&table);
        generic::fillElementwise(&table);
        table.attend = generic::attend;
        table.delta = generic::delta;
        table.isa = ISA_generic;
        table.name = "generic";
    }
    return &table;
}

}  // namespace strata
