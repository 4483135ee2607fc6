package dev.strata.format.convert;

import dev.strata.format.TensorRole;
import dev.strata.format.gguf.GgufValue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a conversion will write. {@code unused} names source tensors that have no place in it. */
public record ConversionPlan(Map<String, GgufValue> metadata, List<OutputTensor> tensors, List<String> unused) {

    /** Collects the tensors of a plan in the order they will be written. */
    static final class Builder {
        private final Map<String, GgufValue> metadata = new LinkedHashMap<>();
        private final List<OutputTensor> tensors = new ArrayList<>();
        private final int trunkBlocks;

        /** @param trunkBlocks blocks before the draft layer's */
        Builder(int trunkBlocks) {
            this.trunkBlocks = trunkBlocks;
        }

        Map<String, GgufValue> metadata() {
            return metadata;
        }

        /** Adds a vector, one-dimensional. */
        void vector(String name, Rows rows) {
            add(name, rows.reshaped(Math.toIntExact(rows.count() * rows.width())), false);
        }

        /** Adds a matrix. */
        void matrix(String name, Rows rows) {
            add(name, rows, true);
        }

        /** Adds matrices of {@code experts} experts as one three-dimensional tensor. */
        void experts(String name, Rows rows, long experts) {
            tensors.add(new OutputTensor(
                    name,
                    List.of(experts, rows.count() / experts, (long) rows.width()),
                    rows,
                    TensorRole.of(name),
                    draft(name)));
        }

        private void add(String name, Rows rows, boolean matrix) {
            List<Long> shape = matrix ? List.of(rows.count(), (long) rows.width()) : List.of((long) rows.width());
            tensors.add(new OutputTensor(name, shape, rows, TensorRole.of(name), draft(name)));
        }

        private boolean draft(String name) {
            return TensorRole.block(name).map(block -> block >= trunkBlocks).orElse(false);
        }

        ConversionPlan build(List<String> unused) {
            return new ConversionPlan(metadata, List.copyOf(tensors), unused);
        }
    }
}
