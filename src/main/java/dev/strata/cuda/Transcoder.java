package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import java.lang.foreign.MemorySegment;

/** Decodes stored types that no kernel reads, when they are loaded. */
final class Transcoder {
    private final Precision precision;

    Transcoder(Precision precision) {
        this.precision = precision;
    }

    /** The type that a stored type has on the card. */
    QuantType onCard(QuantType stored) {
        return StoredTypes.isFast(stored) ? stored : precision == Precision.F32 ? QuantType.F32 : QuantType.F16;
    }

    /** The layout of a layer's blobs on the card. Gate and up get one type, so that one kernel makes both. */
    ExpertLayout onCard(ExpertLayout stored) {
        QuantType gate = onCard(stored.gateType());
        QuantType up = onCard(stored.upType());
        QuantType down = onCard(stored.downType());
        ExpertLayout layout = new ExpertLayout(
                stored.layer(),
                stored.experts(),
                stored.hidden(),
                stored.intermediate(),
                gate,
                up,
                down,
                stored.scaled());
        // Kernels read some types four bytes at a time; odd sizes of what lies before them forbid that.
        if (layout.upOffset() % 4 != 0 || layout.downOffset() % 4 != 0 || layout.tailOffset() % 4 != 0) {
            QuantType plain = precision == Precision.F32 ? QuantType.F32 : QuantType.F16;
            return new ExpertLayout(
                    stored.layer(),
                    stored.experts(),
                    stored.hidden(),
                    stored.intermediate(),
                    plain,
                    plain,
                    plain,
                    stored.scaled());
        }
        return layout;
    }

    /** Copies {@code elements} elements, changing their type where the card wants another. */
    void copy(
            QuantType from,
            MemorySegment source,
            long sourceOffset,
            QuantType to,
            MemorySegment target,
            long targetOffset,
            int rows,
            int columns) {
        if (from == to) {
            MemorySegment.copy(source, sourceOffset, target, targetOffset, from.bytes(columns) * rows);
            return;
        }
        float[] row = new float[columns];
        for (int r = 0; r < rows; r++) {
            Quants.decode(from, source, sourceOffset + r * from.bytes(columns), row, 0, columns);
            long at = targetOffset + r * to.bytes(columns);
            for (int i = 0; i < columns; i++) {
                if (to == QuantType.F32) {
                    target.set(JAVA_FLOAT_UNALIGNED, at + 4L * i, row[i]);
                } else {
                    target.set(JAVA_SHORT_UNALIGNED, at + 2L * i, Float.floatToFloat16(row[i]));
                }
            }
        }
    }
}
