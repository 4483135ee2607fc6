package dev.strata.device;

import java.lang.foreign.MemorySegment;

/**
 * A row-major matrix of float32 activations or parameters: {@code rows x columns}, rows contiguous, starting {@code offset} bytes
 * into {@code buffer}. A view: it owns nothing.
 */
public record Tensor(Buffer buffer, long offset, int rows, int columns) {
    public Tensor {
        if (rows < 0 || columns <= 0 || offset < 0 || offset + 4L * rows * columns > buffer.bytes()) {
            throw new IllegalArgumentException("tensor of " + rows + " x " + columns + " at " + offset
                    + " exceeds its buffer of " + buffer.bytes() + " bytes");
        }
    }

    /** The first {@code count} rows. */
    public Tensor rows(int count) {
        return new Tensor(buffer, offset, count, columns);
    }

    /** {@code count} rows from {@code first} on. */
    public Tensor rows(int first, int count) {
        return new Tensor(buffer, offset + 4L * first * columns, count, columns);
    }

    /** The same values in rows of another length. */
    public Tensor reshape(int newRows, int newColumns) {
        if ((long) newRows * newColumns != (long) rows * columns) {
            throw new IllegalArgumentException(
                    rows + " x " + columns + " cannot be seen as " + newRows + " x " + newColumns);
        }
        return new Tensor(buffer, offset, newRows, newColumns);
    }

    public long address() {
        return buffer.address() + offset;
    }

    /** The values as the host sees them; only where the buffer is host visible. */
    public MemorySegment host() {
        return buffer.host().asSlice(offset, 4L * rows * columns);
    }
}
