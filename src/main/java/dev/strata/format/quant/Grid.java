package dev.strata.format.quant;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;

/**
 * The code books of the IQ types: rows of 4 or 8 small numbers. They are constants of ggml that no formula gives; all lie one after
 * another, row-major, in the resource {@code grids.bin}.
 */
public enum Grid {
    IQ2_XXS(0, 256, 8),
    IQ2_XS(2048, 512, 8),
    IQ2_S(6144, 1024, 8),
    IQ3_XXS(14336, 256, 4),
    IQ3_S(15360, 512, 4),
    IQ1_S(17408, 2048, 8);

    private static final class Resource {
        static final byte[] BYTES = load();

        private static byte[] load() {
            try (InputStream stream = Grid.class.getResourceAsStream("grids.bin")) {
                if (stream == null) {
                    throw new IllegalStateException("resource grids.bin is missing from the build");
                }
                byte[] bytes = stream.readAllBytes();
                if (bytes.length != 33792) {
                    throw new IllegalStateException("resource grids.bin has " + bytes.length + " bytes, not 33792");
                }
                return bytes;
            } catch (IOException exception) {
                throw new UncheckedIOException(exception);
            }
        }
    }

    private final int rows;
    private final int width;
    private final byte[] values;

    Grid(int offset, int rows, int width) {
        this.rows = rows;
        this.width = width;
        this.values = Arrays.copyOfRange(Resource.BYTES, offset, offset + rows * width);
    }

    public int rows() {
        return rows;
    }

    public int width() {
        return width;
    }

    /** Element {@code column} of row {@code row}. */
    public int value(int row, int column) {
        return values[row * width + column];
    }

    /** A copy of all rows, row-major, one signed byte each. */
    public byte[] bytes() {
        return values.clone();
    }
}
