package dev.strata.format.gguf;

import dev.strata.format.QuantType;
import java.util.List;

/** A tensor to be written: name, type and shape, outermost dimension first. */
public record GgufTensor(String name, QuantType type, List<Long> shape) {
    public GgufTensor {
        if (!type.divides(shape.getLast())) {
            throw new IllegalArgumentException("rows of " + shape.getLast() + " of tensor " + name
                    + " are not whole blocks of " + type.blockElements() + " (" + type + ")");
        }
    }

    public long rowElements() {
        return shape.getLast();
    }

    public long rows() {
        long rows = 1;
        for (long dimension : shape.subList(0, shape.size() - 1)) {
            rows = Math.multiplyExact(rows, dimension);
        }
        return rows;
    }

    public long rowBytes() {
        return type.bytes(rowElements());
    }

    public long bytes() {
        return Math.multiplyExact(rows(), rowBytes());
    }
}
