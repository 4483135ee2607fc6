package dev.strata.cpu;

import dev.strata.device.Batch;
import dev.strata.device.HostBuffer;
import dev.strata.device.LayerState;

/** The tokens that every row of a pass attends to: one 64-bit word for every page of the row's context. */
final class TokenMasks implements LayerState.Selection {
    private final HostBuffer words;
    private final int pages;

    TokenMasks(int rows, int contextTokens) {
        this.pages = (contextTokens + Batch.PAGE - 1) / Batch.PAGE + 1;
        this.words = HugePages.allocate(8L * rows * pages, "block selection");
    }

    long address() {
        return words.address();
    }

    /** Words of a row. */
    int pages() {
        return pages;
    }

    @Override
    public long bytes() {
        return words.bytes();
    }

    @Override
    public void close() {
        words.close();
    }
}
