package dev.strata.grammar;

/**
 * A set of classes of {@link Characters}.
 *
 * @param low classes 0 to 63, one bit each
 * @param high the others
 */
record ClassSet(long low, long high) {
    static final ClassSet NONE = new ClassSet(0, 0);
    static final ClassSet ALL = new ClassSet(-1, -1);

    boolean isEmpty() {
        return (low | high) == 0;
    }

    int size() {
        return Long.bitCount(low) + Long.bitCount(high);
    }

    boolean contains(int kind) {
        return ((kind < 64 ? low : high) >>> kind & 1) != 0;
    }

    boolean containsAll(ClassSet other) {
        return other.minus(this).isEmpty();
    }

    ClassSet with(int kind) {
        return kind < 64 ? new ClassSet(low | 1L << kind, high) : new ClassSet(low, high | 1L << kind);
    }

    ClassSet union(ClassSet other) {
        return new ClassSet(low | other.low, high | other.high);
    }

    ClassSet intersection(ClassSet other) {
        return new ClassSet(low & other.low, high & other.high);
    }

    ClassSet minus(ClassSet other) {
        return new ClassSet(low & ~other.low, high & ~other.high);
    }
}
