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
        case ISA_generic: return true;
        case ISA_avx2: return avx2;
        case ISA_avxvnni: return avx2 && __builtin_cpu_supports("avxvnni");
        case ISA_avx512: return avx512;
        case ISA_vnni: return avx512 && __builtin_cpu_supports("avx512vnni");
        case ISA_vbmi: return runs(ISA_vnni) && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("bmi2");
        case ISA_amx: return runs(ISA_vbmi) && tiles();
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
