package dev.strata.device;

/** How keys and values are stored. INT8 has one float16 scale per 64 values (or per head where heads are smaller). */
public enum KvFormat {
    F32,
    F16,
    INT8,
    /** 4 bit after a Hadamard rotation; not on every backend. */
    Q4
}
