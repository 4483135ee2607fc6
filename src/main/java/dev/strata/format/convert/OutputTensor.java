package dev.strata.format.convert;

import dev.strata.format.TensorRole;
import java.util.List;

/** A tensor of the converted model: its name, shape (outermost dimension first), and where its rows come from. */
public record OutputTensor(String name, List<Long> shape, Rows rows, TensorRole role, boolean draft) {
    public OutputTensor {
        long elements = 1;
        for (long dimension : shape) {
            elements = Math.multiplyExact(elements, dimension);
        }
        if (elements != rows.count() * rows.width() || shape.getLast() != rows.width()) {
            throw new IllegalArgumentException(
                    name + " of shape " + shape + " from " + rows.count() + " rows of " + rows.width());
        }
    }

    public long elements() {
        return rows.count() * rows.width();
    }
}
