package dev.strata.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Rows of the draft layer that follow rows of the trunk's last pass.
 *
 * @param parts where they are in a pass of their own
 * @param tokens the token behind every row
 * @param sourceRows where the rows were in the last pass
 */
record DraftRows(List<Part> parts, int[] tokens, int[] sourceRows) {
    /** Those behind some parts of the last pass. */
    static DraftRows behind(List<Part> done) {
        int rows = done.stream().mapToInt(Part::rows).sum();
        int[] tokens = new int[rows];
        int[] sourceRows = new int[rows];
        List<Part> parts = new ArrayList<>(done.size());
        int first = 0;
        for (Part part : done) {
            parts.add(new Part(part.sequence(), first, part.rows(), part.past(), 0));
            for (int i = 0; i < part.rows(); i++) {
                tokens[first + i] = part.sequence().tokens()[part.past() + 1 + i];
                sourceRows[first + i] = part.firstRow() + i;
            }
            first += part.rows();
        }
        return new DraftRows(parts, tokens, sourceRows);
    }
}
