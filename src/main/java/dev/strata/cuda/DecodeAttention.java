package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Launches attention_decode and attention_row: attention with its inputs for passes of few rows a sequence. */
final class DecodeAttention {
    /** Positions that one block takes at least, so that short contexts too are spread over the card. */
    private static final int SPAN = 128;

    /** Up to this many spans are summed by the block that comes last, more by a kernel of their own. */
    private static final int MOST_FOLDED = 16;

    private static final int MOST_SPANS = 128;

    /** Positions that a block of attention_row.cu takes at a time, and the most such blocks. */
    private static final int ROW_SPAN = 64;

    private static final int MOST_ROW_SPANS = 40;
    private static final int ROW_HEAD_SIZE = 256;
    private static final int MOST_ROWS = 64;

    private final Launcher launcher;
    private final Scratch scratch;
    private final Kernels kernels;
    private final StepRecord step;
    private final RopeTables ropes;
    private final DecodeForms forms;
    private final IntegerRow integers;
    private final int sharedBytes;
    private final Kernel merge;
    private final Map<String, Kernel> tiled = new HashMap<>();

    DecodeAttention(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StepRecord step,
            RopeTables ropes,
            DecodeForms forms,
            IntegerRow integers,
            int sharedBytes) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.kernels = kernels;
        this.step = step;
        this.ropes = ropes;
        this.forms = forms;
        this.integers = integers;
        this.sharedBytes = sharedBytes;
        this.merge = kernels.chained("attention_merge", 0);
    }

    /** @param choosing whether the layer has a block selector */
    boolean suits(AttentionShape shape, CudaStates.Kv kv, int rows, boolean choosing) {
        return forms.fused()
                && step.longestSegment() <= (choosing ? 1 : Batch.MAX_WINDOW)
                && rows <= MOST_ROWS
                && kv.format() != KvFormat.Q4
                && AttentionKernels.hasTiles(kv)
                && tileBytes(shape) + headBytes(shape) <= sharedBytes;
    }

    private static int tileBytes(AttentionShape shape) {
        int chunk = shape.headSize() >= 256 ? 16 : 32;
        return DecodeShapes.aligned(32 * shape.headSize() + 16 * chunk * shape.headSize() + 512);
    }

    /** Heads of a block and the window, norms of both kinds, rotations. */
    private int headBytes(AttentionShape shape) {
        return 4 * shape.headSize() * (16 + 2 * step.longestSegment() + 2 + 1 + step.longestSegment());
    }

    /** Appends keys and values and attends; the result may lie where an ungated {@code projected} lies. */
    void attend(
            AttentionShape shape,
            Tensor projected,
            Tensor keys,
            Tensor values,
            @Nullable Tensor queryNorm,
            @Nullable Tensor keyNorm,
            CudaStates.Kv kv,
            CudaStates.@Nullable Selection selection,
            Tensor out) {
        int size = shape.headSize();
        int group = shape.heads() / shape.kvHeads();
        int longest = step.contextBucket();
        CudaStates.Selection chosen = null;
        if (selection != null && longest >= (selection.budget() + 1) * selection.block()) {
            chosen = selection;
            longest = Math.min(longest, (selection.budget() + 1) * selection.block());
        }
        boolean folded = longest <= 2 * MOST_FOLDED * SPAN;
        boolean single = folded && step.longestSegment() == 1 && singles(shape, kv);
        int span = single
                ? ROW_SPAN * Math.ceilDiv(Math.ceilDiv(longest, ROW_SPAN), MOST_ROW_SPANS)
                : Math.max(SPAN, Math.ceilDiv(longest, folded ? MOST_FOLDED : MOST_SPANS));
        int splits = Math.ceilDiv(longest, span);
        int rows = projected.rows();
        int bunches = shape.kvHeads() * Math.ceilDiv(group, 16);
        long heads = (long) rows * shape.heads();
        long parts = splits == 1 && !single ? 0 : scratch.address("attention parts", 4 * heads * splits * size);
        long sums = splits == 1 && !single ? 0 : scratch.address("attention part sums", 8 * heads * splits);
        long arrivals = scratch.zeroed("arrivals at attention", 4L * MOST_ROWS * bunches);
        int shared = tileBytes(shape) + headBytes(shape);
        launcher.begin()
                .tensor(keys)
                .tensor(values)
                .tensor(queryNorm)
                .tensor(keyNorm)
                .address(ropes.frequencies(shape.rope()))
                .address(folded ? arrivals : 0)
                .address(step.segmentFirsts())
                .flag(shape.outputGate())
                .integer(shape.rope().width())
                .integer(step.longestSegment())
                .integer(tileBytes(shape))
                .real(shape.normEpsilon())
                .real(shape.rope().magnitude())
                .tensor(projected)
                .integer(shape.heads())
                .integer(shape.kvHeads())
                .real(shape.scale())
                .address(step.positions())
                .address(step.pageBases())
                .address(step.pages())
                .cache(kv)
                .chosen(chosen)
                .integer(span)
                .tensor(out)
                .address(parts)
                .address(sums)
                .address(single ? integers.madeWith(out) : 0)
                .launch(
                        single ? rowKernel(size) : kernel(shape, kv),
                        splits,
                        bunches,
                        rows,
                        single ? 256 : 128,
                        single ? rowBytes(size) : shared);
        if (splits > 1 && !folded) {
            launcher.begin()
                    .address(parts)
                    .address(sums)
                    .integer(splits)
                    .integer(size)
                    .address(shape.outputGate() ? projected.address() + 4L * size : 0)
                    .integer(2 * size)
                    .tensor(out)
                    .launch(merge, heads, 128);
        }
    }

    /** Whether attention_row.cu has a kernel for one row a sequence of this shape. */
    private boolean singles(AttentionShape shape, CudaStates.Kv kv) {
        return kv.format() == KvFormat.F16
                && shape.headSize() == ROW_HEAD_SIZE
                && rowBytes(shape.headSize()) <= sharedBytes;
    }

    /** The size of RowShared of attention_row.cu. */
    private static int rowBytes(int headSize) {
        return headSize * (32 + 256 + 72 + 8) + 2048 + 4608 + 64;
    }

    private Kernel rowKernel(int headSize) {
        return tiled.computeIfAbsent("attention_row_" + headSize, key -> kernels.chained(key, sharedBytes));
    }

    private Kernel kernel(AttentionShape shape, CudaStates.Kv kv) {
        String name = "attention_decode_" + shape.headSize() + AttentionKernels.suffix(kv);
        return tiled.computeIfAbsent(name, key -> kernels.chained(key, sharedBytes));
    }
}
