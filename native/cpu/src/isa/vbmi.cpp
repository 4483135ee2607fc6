#define STRATA_NS vbmi
#define STRATA_VNNI
#define STRATA_VBMI
#include "simd_avx512.h"
// Later headers use the earlier ones.
#include "packed_rows.h"
#include "step_rows.h"

namespace strata {

const Kernels* kernels_vbmi() {
    static Kernels table = {};
    if (!table.name) {
#ifdef STRATA_MODEL
        // The model stands in for this file's instructions alone.
        table = *kernels_avx2();
        table.quantize = vbmi::quantizeBytes;
        table.bytes = true;
#else
        table = *kernels_vnni();
#endif
        vbmi::fillVbmiRows(&table);
        vbmi::fillStepRows(&table);
        vbmi::fillPackedRows(&table);
        table.isa = ISA_vbmi;
        table.name = "vbmi";
    }
    return &table;
}

}  // namespace strata
