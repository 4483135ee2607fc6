// C ABI of the CPU kernels. Addresses are int64_t so that Java passes plain longs.
#pragma once
#include <cstdint>

extern "C" {
// Best instruction set of this processor that the library has kernels for: 0 generic, 1 AVX2, 2 AVX-512, 3 AVX-512 VNNI/BF16, 4 AMX.
int32_t strata_cpu_best_isa();
}
