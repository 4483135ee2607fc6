package dev.strata.format;

import java.util.Optional;

/**
 * Element types of stored tensors with their block layout. A row is a whole number of blocks; all types are little endian.
 * Ids are those of the ggml enumeration used by GGUF.
 */
public enum QuantType {
    F32(0, 1, 4),
    F16(1, 1, 2),
    Q4_0(2, 32, 18),
    Q4_1(3, 32, 20),
    Q5_0(6, 32, 22),
    Q5_1(7, 32, 24),
    Q8_0(8, 32, 34),
    Q2_K(10, 256, 84),
    Q3_K(11, 256, 110),
    Q4_K(12, 256, 144),
    Q5_K(13, 256, 176),
    Q6_K(14, 256, 210),
    IQ2_XXS(16, 256, 66),
    IQ2_XS(17, 256, 74),
    IQ3_XXS(18, 256, 98),
    IQ1_S(19, 256, 50),
    IQ4_NL(20, 32, 18),
    IQ3_S(21, 256, 110),
    IQ2_S(22, 256, 82),
    IQ4_XS(23, 256, 136),
    I8(24, 1, 1),
    I16(25, 1, 2),
    I32(26, 1, 4),
    I64(27, 1, 8),
    F64(28, 1, 8),
    IQ1_M(29, 256, 56),
    BF16(30, 1, 2),
    TQ1_0(34, 256, 54),
    TQ2_0(35, 256, 66),
    MXFP4(39, 32, 17),
    NVFP4(40, 64, 36),
    Q1_0(41, 128, 18),
    Q2_0(42, 64, 18);

    private static final QuantType[] BY_ID = new QuantType[43];

    static {
        for (QuantType type : values()) {
            BY_ID[type.id] = type;
        }
    }

    private final int id;
    private final int blockElements;
    private final int blockBytes;

    QuantType(int id, int blockElements, int blockBytes) {
        this.id = id;
        this.blockElements = blockElements;
        this.blockBytes = blockBytes;
    }

    /** The type with this ggml id, or empty when the id is unknown or was removed from the format. */
    public static Optional<QuantType> byId(int id) {
        return id >= 0 && id < BY_ID.length ? Optional.ofNullable(BY_ID[id]) : Optional.empty();
    }

    /** ggml id as written in GGUF tensor infos. */
    public int id() {
        return id;
    }

    /** Elements in one block. */
    public int blockElements() {
        return blockElements;
    }

    /** Bytes of one block. */
    public int blockBytes() {
        return blockBytes;
    }

    /** Whether a row of {@code elements} is a whole number of blocks. */
    public boolean divides(long elements) {
        return elements % blockElements == 0;
    }

    /**
     * Bytes of {@code elements} contiguous elements.
     *
     * @throws IllegalArgumentException when they are not whole blocks
     */
    public long bytes(long elements) {
        if (!divides(elements)) {
            throw new IllegalArgumentException(
                    elements + " elements are not whole blocks of " + blockElements + " (" + this + ")");
        }
        return Math.multiplyExact(elements / blockElements, blockBytes);
    }
}
