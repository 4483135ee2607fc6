package dev.strata.cpu;

/** The kernels of AVX2 against the reference, on processors that have more too. */
class Avx2CpuOpsContractTest extends CpuOpsContractTest {
    @Override
    CpuIsa cap() {
        return CpuIsa.AVX2;
    }
}
