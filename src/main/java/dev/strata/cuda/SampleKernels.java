package dev.strata.cuda;

import dev.strata.device.Picks;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

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

    void likeliest(Tensor logits, Tensor tokens, Tensor probabilities) {
        scan(logits, null, null, tokens, probabilities);
    }

    private void scan(
            Tensor logits,
            @Nullable Tensor settings,
            @Nullable Tensor out,
            @Nullable Tensor tokens,
            @Nullable Tensor probabilities) {
        int pieces = Math.ceilDiv(logits.columns(), PIECE);
        int rows = logits.rows();
        launcher.begin()
                .tensor(logits)
                .integer(logits.columns())
                .tensor(settings)
                .address(pieces(rows, pieces))
                .address(scratch.address("best of warps", 32L * pieces * rows))
                .address(rows(rows))
                .integer(Picks.CANDIDATES)
                .tensor(out)
                .integer(Picks.COLUMNS)
                .tensor(tokens)
                .tensor(probabilities)
                .launch(scan, pieces, rows, 1, 256, 32 * pieces);
    }

    private long pieces(int rows, int pieces) {
        return scratch.address("pieces of logits", PIECE_RESULT_BYTES * pieces * rows);
    }

    private long rows(int rows) {
        return scratch.zeroed("rows of logits", ROW_BYTES * rows);
    }

    static boolean suits(int vocabulary) {
        return vocabulary <= PIECE * MOST_PIECES;
    }

    void pick(Tensor logits, Tensor settings, Tensor out, Tensor tokens) {
        int pieces = Math.ceilDiv(logits.columns(), PIECE);
        int rows = logits.rows();
        long lists = scratch.address("candidates", 8L * MOST_GATHERED * rows);
        scan(logits, settings, out, null, null);
        long results = pieces(rows, pieces);
        long kept = rows(rows);
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
                .tensor(tokens)
                .launch(pick, pieces, rows, 1, 256, 0);
    }
}
