package dev.strata.model.ngram;

import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;

/** A table of a synthetic model, whose rows are made when they are read: nothing of it is kept. */
public final class MadeNgramTable implements NgramTable {
    private final ModelFiles files;
    private final TensorEntry tensor;
    private final RowFormat format;

    public MadeNgramTable(ModelFiles files, TensorEntry tensor, RowFormat format) {
        this.files = files;
        this.tensor = tensor;
        this.format = format;
    }

    @Override
    public long rows() {
        return tensor.bytes() / format.bytes();
    }

    @Override
    public int rowElements() {
        return format.elements();
    }

    @Override
    public void read(long[] wanted, int count, MemorySegment target) {
        NgramTable.check(this, wanted, count);
        RowParts.run(count, RowParts.shared(target), (part, from, to) -> {
            float[] values = new float[format.elements()];
            MemorySegment row = MemorySegment.ofArray(new byte[format.bytes()]);
            for (int i = from; i < to; i++) {
                files.copy(tensor, wanted[i] * format.bytes(), format.bytes(), row);
                format.write(row, 0, values, target, i);
            }
        });
    }
}
