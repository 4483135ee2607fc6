package dev.strata.model.ngram;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import java.lang.foreign.MemorySegment;

/**
 * How the rows of a table are stored.
 *
 * @param bytes length of a stored row
 * @param elements values in a row
 * @param scale factor on all values
 */
public record RowFormat(Decoder decoder, int bytes, int elements, float scale) {
    /** Decodes {@code count} values at an offset. */
    public interface Decoder {
        void decode(MemorySegment source, long offset, float[] target, int count);
    }

    /** Rows of a stored type. */
    public static RowFormat of(QuantType type, int elements) {
        return new RowFormat(
                (source, offset, target, count) -> Quants.decode(type, source, offset, target, 0, count),
                Math.toIntExact(type.bytes(elements)),
                elements,
                1);
    }

    /** Writes the values of the stored row at {@code offset} as row {@code index} of {@code target}; {@code values} is scratch. */
    void write(MemorySegment source, long offset, float[] values, MemorySegment target, int index) {
        decoder.decode(source, offset, values, elements);
        for (int i = 0; i < elements; i++) {
            values[i] *= scale;
        }
        MemorySegment.copy(values, 0, target, JAVA_FLOAT_UNALIGNED, 4L * index * elements, elements);
    }
}
