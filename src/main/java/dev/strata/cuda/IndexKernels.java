package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.IndexerShape;
import dev.strata.device.Tensor;

/** Launches the kernels of index.cu. */
final class IndexKernels {
    private static final long SCORE_BYTES = 256L << 20;
    private static final int MOST_HEAD_SIZE = 256;

    // Of index_prompt.cu: parts of 128 keys and 64 queries.
    private static final int PROMPT_HEAD_SIZE = 128;
    private static final int PROMPT_SHARED_BYTES = 2 * (128 + 64) * 2 * PROMPT_HEAD_SIZE;

    private final Launcher launcher;
    private final Scratch scratch;
    private final StepRecord step;
    private final RopeTables ropes;
    private final AttentionKernels attention;
    private final CudaOptions options;
    private final Kernel append;
    private final Kernel score;
    private final Kernel scorePrompt;
    private final Kernel choose;

    IndexKernels(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StepRecord step,
            RopeTables ropes,
            AttentionKernels attention,
            CudaOptions options) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.step = step;
        this.ropes = ropes;
        this.attention = attention;
        this.options = options;
        this.append = kernels.chained("index_keys", 0);
        this.score = kernels.chained("index_scores", sharedBytes(MOST_HEAD_SIZE));
        this.scorePrompt = kernels.get("index_scores_prompt", PROMPT_SHARED_BYTES);
        this.choose = kernels.chained("index_choose", 0);
    }

    private static int sharedBytes(int headSize) {
        return (32 + 64) * (headSize + 4) * 4;
    }

    void append(IndexerShape shape, Tensor keys, Tensor norm, CudaStates.Index index) {
        launcher.begin()
                .tensor(keys)
                .tensor(norm)
                .integer(shape.headSize())
                .integer(shape.block())
                .real(shape.normEpsilon())
                .address(ropes.frequencies(shape.rope()))
                .integer(shape.rope().width())
                .real(shape.rope().magnitude())
                .address(step.positions())
                .address(step.pageBases())
                .address(step.segmentFirsts())
                .address(step.pages())
                .address(index.raw().address())
                .address(index.pooled().address())
                .launch(append, keys.rows(), 128);
    }

    void choose(
            IndexerShape shape, Tensor queries, Tensor norm, CudaStates.Index index, CudaStates.Selection selection) {
        int blocks = step.contextBucket() / shape.block();
        if (blocks <= shape.budgetBlocks()) {
            // Without choice attention does not ask; in deterministic mode it always does.
            if (options.deterministic()) {
                chooseRows(shape, selection, 0, 0, 0, queries.rows());
            }
            return;
        }
        Tensor rotated = scratch.tensor("index queries", queries.rows(), queries.columns());
        attention.inputs(
                new AttentionShape(
                        shape.heads(), shape.heads(), shape.headSize(), shape.rope(), false, shape.normEpsilon()),
                queries,
                null,
                null,
                norm,
                null,
                null,
                rotated,
                null);
        int rowsAtOnce = (int) Math.min(queries.rows(), Math.max(32, SCORE_BYTES / (4L * blocks)));
        long scores = scratch.address("index scores", 4L * rowsAtOnce * blocks);
        for (int first = 0; first < queries.rows(); first += rowsAtOnce) {
            int end = Math.min(queries.rows(), first + rowsAtOnce);
            score(shape, rotated, index, first, end, scores, blocks);
            chooseRows(shape, selection, scores, blocks, first, end);
        }
    }

    private void score(
            IndexerShape shape, Tensor queries, CudaStates.Index index, int first, int end, long scores, int blocks) {
        boolean prompt = options.precision() == Precision.MIXED
                && shape.headSize() == PROMPT_HEAD_SIZE
                && (options.deterministic() || step.longestSegment() > Batch.MAX_WINDOW);
        launcher.begin().tensor(queries).integer(shape.heads());
        if (!prompt) {
            launcher.integer(shape.headSize());
        }
        launcher.integer(shape.block())
                .address(index.pooled().address())
                .address(step.firstRows())
                .address(step.counts())
                .address(step.pasts())
                .address(step.segmentBases())
                .address(step.pages())
                .integer(first)
                .integer(end)
                .address(scores)
                .integer(blocks)
                .launch(
                        prompt ? scorePrompt : score,
                        Math.ceilDiv(blocks, prompt ? 128 : 64),
                        Math.ceilDiv(Math.min(step.longestSegment(), end - first), prompt ? 64 : 32),
                        step.segments(),
                        256,
                        prompt ? PROMPT_SHARED_BYTES : sharedBytes(shape.headSize()));
    }

    private void chooseRows(
            IndexerShape shape, CudaStates.Selection selection, long scores, int stride, int first, int end) {
        launcher.begin()
                .address(scores)
                .integer(stride)
                .address(step.positions())
                .integer(shape.block())
                .integer(shape.budgetBlocks())
                .integer(first)
                .address(selection.counts().address())
                .address(selection.blocks().address())
                .launch(choose, end - first, 256);
    }
}
