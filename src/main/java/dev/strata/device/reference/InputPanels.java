package dev.strata.device.reference;

import java.util.Arrays;

/**
 * Input rows turned on their side in panels of a few rows, so that the compiler can compute several rows with one vector
 * instruction. Every row is summed in the order of {@link Floats#dot}: results do not depend on how many rows there are.
 */
final class InputPanels {
    /** Rows from which turning the inputs pays. */
    static final int WORTHWHILE = 4;

    /** Rows of a panel: its partial sums stay in the first-level cache. */
    private static final int WIDTH = 32;

    private final double[][] panels;
    private final int rows;
    private final int inputs;

    private InputPanels(double[][] panels, int rows, int inputs) {
        this.panels = panels;
        this.rows = rows;
        this.inputs = inputs;
    }

    /** Turns {@code in} [rows, inputs]: value i of row r lies at {@code i * width + r} of its panel. */
    static InputPanels of(float[] in, int rows, int inputs) {
        double[][] panels = new double[Math.ceilDiv(rows, WIDTH)][];
        for (int panel = 0; panel < panels.length; panel++) {
            int first = panel * WIDTH;
            int width = Math.min(WIDTH, rows - first);
            double[] turned = new double[width * inputs];
            for (int r = 0; r < width; r++) {
                int source = (first + r) * inputs;
                for (int i = 0; i < inputs; i++) {
                    turned[i * width + r] = in[source + i];
                }
            }
            panels[panel] = turned;
        }
        return new InputPanels(panels, rows, inputs);
    }

    /** Writes the products of all rows with one matrix row to column {@code output} of {@code out} [rows, outputs]. */
    void multiply(float[] matrixRow, float scale, float[] out, int output, int outputs) {
        double[] a = new double[WIDTH];
        double[] b = new double[WIDTH];
        double[] c = new double[WIDTH];
        double[] d = new double[WIDTH];
        for (int panel = 0; panel < panels.length; panel++) {
            int first = panel * WIDTH;
            int width = Math.min(WIDTH, rows - first);
            Arrays.fill(a, 0);
            Arrays.fill(b, 0);
            Arrays.fill(c, 0);
            Arrays.fill(d, 0);
            double[] turned = panels[panel];
            int i = 0;
            for (; i + 3 < inputs; i += 4) {
                int at = i * width;
                addScaled(a, matrixRow[i], turned, at, width);
                addScaled(b, matrixRow[i + 1], turned, at + width, width);
                addScaled(c, matrixRow[i + 2], turned, at + 2 * width, width);
                addScaled(d, matrixRow[i + 3], turned, at + 3 * width, width);
            }
            for (; i < inputs; i++) {
                addScaled(a, matrixRow[i], turned, i * width, width);
            }
            for (int r = 0; r < width; r++) {
                double sum = (a[r] + b[r]) + (c[r] + d[r]);
                out[(first + r) * outputs + output] = (float) (sum * scale);
            }
        }
    }

    private static void addScaled(double[] sums, double factor, double[] values, int at, int count) {
        for (int r = 0; r < count; r++) {
            sums[r] += factor * values[at + r];
        }
    }
}
