package dev.strata.cuda;

import dev.strata.device.DeltaShape;

/** Launches the kernels of delta_prompt.cu: the delta rule over prompts in chunks, on tensor cores. */
final class DeltaChunks {
    private static final int TOKENS = 64;
    private static final int SIZE = 128;
    private static final long PIECE_BYTES = 2L * (4 * TOKENS * SIZE + TOKENS * TOKENS);
    private static final int MAKE_SHARED_BYTES = 2 * TOKENS * SIZE * 2 + 4 * (TOKENS * 68 + 2 * TOKENS);
    private static final int PASS_SHARED_BYTES = 2 * (3 * TOKENS * 256 + 2 * TOKENS * 128) + SIZE * 128 + TOKENS * 128;

    /** Pieces that are made before the sequences take them: few, so that they are still in the L2 cache. */
    private static final int CHUNKS_AHEAD = 16;

    private final Launcher launcher;
    private final Scratch scratch;
    private final CudaOptions options;
    private final boolean enough;
    private final Kernel make;
    private final Kernel pass;

    /** @param sharedBytes shared memory that a block may have: smaller cards take token by token */
    DeltaChunks(Launcher launcher, Scratch scratch, Kernels kernels, CudaOptions options, int sharedBytes) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.options = options;
        this.enough = sharedBytes >= PASS_SHARED_BYTES;
        this.make = kernels.get("delta_chunks", enough ? MAKE_SHARED_BYTES : 0);
        this.pass = kernels.get("delta_pass", enough ? PASS_SHARED_BYTES : 0);
    }

    /** Whether a pass whose longest sequence has {@code rows} rows goes by chunks. */
    boolean suits(DeltaShape shape, int rows) {
        return enough
                && rows > TOKENS
                && shape.keySize() == SIZE
                && shape.valueSize() == SIZE
                && options.precision() == Precision.MIXED
                && !options.deterministic();
    }

    /** Advances every sequence's state over its rows and writes their results. */
    void run(DeltaShape shape, long convolved, long scalars, long state, DeltaKernels.Segments segments, long out) {
        int chunks = Math.ceilDiv(segments.longest(), TOKENS);
        int ahead = Math.min(chunks, CHUNKS_AHEAD);
        long number = (long) ahead * shape.valueHeads() * segments.number();
        long pieces = scratch.address("delta pieces", PIECE_BYTES * number);
        long shrinks = scratch.address("delta shrinks", 4 * number);
        for (int first = 0; first < chunks; first += ahead) {
            launcher.begin()
                    .address(convolved)
                    .address(scalars)
                    .address(segments.firstRows())
                    .address(segments.counts())
                    .integer(shape.keyHeads())
                    .integer(shape.valueHeads())
                    .flag(shape.tiledHeads())
                    .integer(first)
                    .address(pieces)
                    .address(shrinks)
                    .launch(make, ahead, shape.valueHeads(), segments.number(), 256, MAKE_SHARED_BYTES);
            launcher.begin()
                    .address(pieces)
                    .address(shrinks)
                    .address(state)
                    .address(segments.firstRows())
                    .address(segments.counts())
                    .address(segments.slots())
                    .integer(shape.valueHeads())
                    .integer(first)
                    .integer(ahead)
                    .address(out)
                    .launch(pass, 2, shape.valueHeads(), segments.number(), 256, PASS_SHARED_BYTES);
        }
    }
}
