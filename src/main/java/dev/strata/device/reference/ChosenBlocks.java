package dev.strata.device.reference;

import dev.strata.device.LayerState;

/** The blocks chosen for every row of a pass, in ascending order. */
final class ChosenBlocks implements LayerState.Selection {
    private final int block;
    private final int[][] chosen;

    ChosenBlocks(int block, int rows) {
        this.block = block;
        this.chosen = new int[rows][0];
    }

    void set(int row, int[] blocks) {
        chosen[row] = blocks;
    }

    /** The attended positions of a row at position {@code last}: those of its blocks, then the incomplete tail. */
    int[] positions(int row, int last) {
        int tail = (last + 1) % block;
        int[] blocks = chosen[row];
        int[] positions = new int[blocks.length * block + tail];
        int count = 0;
        for (int index : blocks) {
            for (int i = 0; i < block; i++) {
                positions[count++] = index * block + i;
            }
        }
        for (int i = 0; i < tail; i++) {
            positions[count++] = last + 1 - tail + i;
        }
        return positions;
    }

    @Override
    public long bytes() {
        long total = 0;
        for (int[] blocks : chosen) {
            total += 4L * blocks.length;
        }
        return total;
    }

    @Override
    public void close() {}
}
