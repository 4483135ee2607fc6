#include "strata_cpu.h"

int32_t strata_cpu_best_isa() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return 1;
    }
    return 0;
}
