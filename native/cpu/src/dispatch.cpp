// Which kernels this processor runs.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels.h"
#include "strata_cpu.h"

namespace strata {

namespace {

// The tile unit: the processor's bits, and the operating system's permission to use its registers, which holds for the whole process.
bool tiles() {
    constexpr unsigned TILES = 1u << 24, BF16_TILES = 1u << 22;
    constexpr long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & TILES) == 0 || (d & BF16_TILES) == 0) return false;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

// GCC's test looks at the operating system's register support too.
bool runs(int isa) {
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    switch (isa) {
        case 0: return true;
        case 1: return avx2;
        case 2: return avx2 && __builtin_cpu_supports("avxvnni");
        case 3: return avx512;
        case 4: return avx512 && __builtin_cpu_supports("avx512vnni");
        case 5: return runs(4) && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("bmi2");
        case 6: return runs(5) && tiles();
        default: return false;
    }
}

}  // namespace

const Kernels* chooseKernels(int cap) {
    const Kernels* best = kernels_generic();
#define X(name, isa) \
    if (runs(isa) && (cap < 0 || isa <= cap)) best = kernels_##name();
    STRATA_ISAS(X)
#undef X
    return best;
}

}  // namespace strata

int32_t strata_cpu_best_isa(int32_t cap) { return strata::chooseKernels(cap)->isa; }
