package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.device.StateUnits;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * Slots that are float arrays.
 *
 * @param unitBytes bytes of a slot's arrays together
 * @param arrays the arrays of a slot, always of the same lengths
 */
record ArrayUnits(long unitBytes, IntFunction<float[][]> arrays) implements StateUnits {
    @Override
    public void clear(int unit) {
        for (float[] array : arrays.apply(unit)) {
            Arrays.fill(array, 0);
        }
    }

    @Override
    public void copy(int from, int to) {
        float[][] source = arrays.apply(from);
        float[][] target = arrays.apply(to);
        for (int i = 0; i < source.length; i++) {
            System.arraycopy(source[i], 0, target[i], 0, source[i].length);
        }
    }

    @Override
    public void read(int unit, MemorySegment target) {
        long at = 0;
        for (float[] array : arrays.apply(unit)) {
            MemorySegment.copy(array, 0, target, JAVA_FLOAT_UNALIGNED, at, array.length);
            at += 4L * array.length;
        }
    }

    @Override
    public void write(int unit, MemorySegment source) {
        long at = 0;
        for (float[] array : arrays.apply(unit)) {
            MemorySegment.copy(source, JAVA_FLOAT_UNALIGNED, at, array, 0, array.length);
            at += 4L * array.length;
        }
    }
}
