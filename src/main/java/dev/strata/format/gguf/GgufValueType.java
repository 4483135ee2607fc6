package dev.strata.format.gguf;

import java.util.Optional;

/** Types of metadata values, in the order of their ids in the file. */
public enum GgufValueType {
    UINT8(1),
    INT8(1),
    UINT16(2),
    INT16(2),
    UINT32(4),
    INT32(4),
    FLOAT32(4),
    BOOL(1),
    STRING(8),
    ARRAY(12),
    UINT64(8),
    INT64(8),
    FLOAT64(8);

    private static final GgufValueType[] BY_ID = values();

    private final int leastBytes;

    GgufValueType(int leastBytes) {
        this.leastBytes = leastBytes;
    }

    public static Optional<GgufValueType> byId(int id) {
        return id >= 0 && id < BY_ID.length ? Optional.of(BY_ID[id]) : Optional.empty();
    }

    public int id() {
        return ordinal();
    }

    /** Bytes that a value takes at least: the whole of a number, the length field of a string, the head of an array. */
    int leastBytes() {
        return leastBytes;
    }
}
