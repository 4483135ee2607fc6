package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.Map;

/**
 * Scratch activations shared by all layers: one tensor a purpose, made once at the largest row count, so that every pass uses the
 * same memory.
 */
final class Workspace implements AutoCloseable {
    private final Backend backend;
    private final int maxRows;
    private final Map<String, Tensor> tensors = new HashMap<>();

    Workspace(Backend backend, int maxRows) {
        this.backend = backend;
        this.maxRows = maxRows;
    }

    Backend backend() {
        return backend;
    }

    int maxRows() {
        return maxRows;
    }

    /** The tensor for {@code purpose}, [maxRows, columns]; the same one for all that ask with the same purpose. */
    Tensor tensor(String purpose, int columns) {
        Tensor tensor = tensors.computeIfAbsent(purpose, key -> backend.tensor(maxRows, columns, key));
        if (tensor.columns() != columns) {
            throw new IllegalStateException(
                    purpose + " has " + tensor.columns() + " columns, " + columns + " were asked for");
        }
        return tensor;
    }

    @Override
    public void close() {
        tensors.values().forEach(tensor -> tensor.buffer().close());
        tensors.clear();
    }
}
