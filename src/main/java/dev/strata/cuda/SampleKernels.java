package dev.strata.cuda;

import dev.strata.device.Picks;
import dev.strata.device.Tensor;

/** Launches the kernels of sample.cu. */
final class SampleKernels {
    private static final int PIECE = 2048;
    private static final int MOST_PIECES = 256;
    private static final int MOST_GATHERED = 2048;
    private static final long PIECE_RESULT_BYTES = 16;
    private static final long ROW_BYTES = 16;

    private final Launcher launcher;
    private final Scratch scratch;
    private final Kernel scan;
    private final Kernel pick;

    SampleKernels(Launcher launcher, Scratch scratch, Kernels kernels) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.scan = kernels.chained("sample_scan", 0);
        this.pick = kernels.chained("sample_pick", 0);
    }

    static boolean suits(int vocabulary) {
        return vocabulary <= PIECE * MOST_PIECES;
    }

    void pick(Tensor logits, Tensor settings, Tensor out) {
        int pieces = Math.ceilDiv(logits.columns(), PIECE);
        int rows = logits.rows();
        long results = scratch.address("pieces of logits", PIECE_RESULT_BYTES * pieces * rows);
        long best = scratch.address("best of warps", 32L * pieces * rows);
        long kept = scratch.zeroed("rows of logits", ROW_BYTES * rows);
        long lists = scratch.address("candidates", 8L * MOST_GATHERED * rows);
        launcher.begin()
                .tensor(logits)
                .integer(logits.columns())
                .tensor(settings)
                .address(results)
                .address(best)
                .address(kept)
                .integer(Picks.CANDIDATES)
                .tensor(out)
                .integer(out.columns())
                .launch(scan, pieces, rows, 1, 256, 32 * pieces);
        launcher.begin()
                .tensor(logits)
                .integer(logits.columns())
                .tensor(settings)
                .address(results)
                .address(kept)
                .address(lists)
                .integer(Picks.CANDIDATES)
                .tensor(out)
                .integer(out.columns())
                .launch(pick, pieces, rows, 1, 256, 0);
    }
}
