package dev.strata.device;

/** How keys and values are stored. INT8 has one float16 scale per {@value #GROUP} values (or per head where heads are smaller). */
public enum KvFormat {
    F32(4),
    F16(2),
    INT8(1 + 2.0 / 64),
    /**
     * 4 bits and a float16 scale per {@value #GROUP} values (or per head where heads are smaller). Every such group is first turned by an
     * orthonormal Hadamard matrix in Sylvester's order, which spreads outliers over the group; scores and sums are taken in the turned basis, because turning
     * changes no dot product. A group's scale is its largest value by size, divided by -8; stored are 0 to 15 for -8 to 7 scales.
     */
    Q4(0.5 + 2.0 / 64);

    /** Values that share a scale and, with Q4, a rotation. */
    public static final int GROUP = 64;

    private final double bytes;

    KvFormat(double bytes) {
        this.bytes = bytes;
    }

    /** Values in a group of a head: {@value #GROUP}, or the head's size where it is smaller. */
    public static int group(int headSize) {
        return Math.min(headSize, GROUP);
    }

    /**
     * Checks that heads of this size can be stored.
     *
     * @throws DeviceException of kind UNSUPPORTED where heads do not divide into groups that a Hadamard matrix can turn
     */
    public void require(int headSize) {
        int group = group(headSize);
        if (this == Q4 && (headSize % group != 0 || group < 2 || Integer.bitCount(group) != 1)) {
            throw new DeviceException(
                    DeviceException.Kind.UNSUPPORTED,
                    "keys and values in 4 bits need heads of a power of two or a multiple of " + GROUP
                            + " values, and this model has " + headSize + ": choose --kv int8 or f16");
        }
    }

    /** Bytes of one value with its part of the scale. */
    public double bytesOfAValue() {
        return bytes;
    }
}
