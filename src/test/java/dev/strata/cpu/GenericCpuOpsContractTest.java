package dev.strata.cpu;

/** The kernels that every x86-64 processor runs against the reference. */
class GenericCpuOpsContractTest extends CpuOpsContractTest {
    @Override
    CpuIsa cap() {
        return CpuIsa.GENERIC;
    }
}
