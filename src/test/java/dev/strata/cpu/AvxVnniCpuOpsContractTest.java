package dev.strata.cpu;

/** The kernels of AVX-VNNI against the reference, on processors that have more too. */
class AvxVnniCpuOpsContractTest extends CpuOpsContractTest {
    @Override
    CpuIsa cap() {
        return CpuIsa.AVXVNNI;
    }
}
