package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.HostTensor;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Scratch activations shared by all layers: one tensor a purpose, made once at the largest row count, so that every pass uses the
 * same memory. Regions are memory that several purposes use at different times.
 */
final class Workspace implements AutoCloseable {
    private final Backend backend;
    private final int maxRows;
    private final Map<String, Tensor> tensors = new HashMap<>();
    private final Map<String, Tensor> constants = new HashMap<>();

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
        return tensor(purpose, maxRows, columns);
    }

    /** The tensor for {@code purpose}, [rows, columns]. */
    Tensor tensor(String purpose, int rows, int columns) {
        Tensor tensor = tensors.computeIfAbsent(purpose, key -> backend.tensor(rows, columns, key));
        if (tensor.columns() != columns || tensor.rows() != rows) {
            throw new IllegalStateException(purpose + " is " + tensor.rows() + " x " + tensor.columns() + ", " + rows
                    + " x " + columns + " were asked for");
        }
        return tensor;
    }

    /** Values that no pass changes, made once; the backend owns them. */
    Tensor constant(String purpose, Supplier<HostTensor> values) {
        return constants.computeIfAbsent(purpose, key -> backend.parameter(values.get()));
    }

    /** Makes a region in which tensors of up to {@code columns} columns can lie. */
    void reserve(Region region, int columns) {
        tensor(region.name(), columns);
    }

    /** A tensor at the start of a region that was reserved: it is overwritten by the next user. */
    Tensor in(Region region, int columns) {
        Tensor whole = tensors.get(region.name());
        if (whole == null || whole.columns() < columns) {
            throw new IllegalStateException(region + " was not reserved for " + columns + " columns");
        }
        return new Tensor(whole.buffer(), whole.offset(), maxRows, columns);
    }

    /** Memory with a life of one mixer block. */
    enum Region {
        /** What the block projects, and later attention's result. */
        MIXER_INPUT,
        /** Output gates. */
        MIXER_GATES,
        /** Attention's queries, or DeltaNet's result. */
        MIXER_RESULT
    }

    @Override
    public void close() {
        tensors.values().forEach(tensor -> tensor.buffer().close());
        tensors.clear();
    }
}
