package dev.strata.cpu;

import java.util.Locale;

/** Instruction sets that there are kernels for, from the least to the most capable. */
public enum CpuIsa {
    GENERIC("generic x86-64"),
    AVX2("AVX2"),
    AVXVNNI("AVX-VNNI"),
    AVX512("AVX-512"),
    VNNI("AVX-512 VNNI"),
    VBMI("AVX-512 VNNI and VBMI"),
    AMX("AMX");

    private final String label;

    CpuIsa(String label) {
        this.label = label;
    }

    /** As people write it. */
    public String label() {
        return label;
    }

    /**
     * The set named by STRATA_CPU_ISA.
     *
     * @throws IllegalArgumentException naming the known ones
     */
    public static CpuIsa parse(String name) {
        for (CpuIsa isa : values()) {
            if (isa.name().toLowerCase(Locale.ROOT).equals(name.toLowerCase(Locale.ROOT))) {
                return isa;
            }
        }
        throw new IllegalArgumentException(
                "STRATA_CPU_ISA is " + name + "; known are generic, avx2, avxvnni, avx512, vnni, vbmi and amx");
    }
}
