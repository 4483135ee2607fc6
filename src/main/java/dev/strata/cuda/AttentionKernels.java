package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Launches the kernels of attention.cu. */
final class AttentionKernels {
    /** Positions that one block of a few-row pass takes, so that short contexts too are spread over the card. */
    private static final int SPAN = 128;

    private static final int MOST_SPANS = 128;

    private final Launcher launcher;
    private final Scratch scratch;
    private final Kernels kernels;
    private final StepRecord step;
    private final RopeTables ropes;
    private final CudaOptions options;
    private final boolean groups;
    private final Kernel inputs;
    private final Kernel plain;
    private final Kernel merge;
    private final Kernel turn;
    private final Map<String, Kernel> tiled = new HashMap<>();

    AttentionKernels(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StepRecord step,
            RopeTables ropes,
            CudaOptions options,
            boolean groups) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.kernels = kernels;
        this.step = step;
        this.ropes = ropes;
        this.options = options;
        this.groups = groups;
        this.inputs = kernels.chained("attention_inputs", 0);
        this.plain = kernels.get("attention_plain");
        this.merge = kernels.chained("attention_merge", 0);
        this.turn = kernels.get("attention_turn");
    }

    void inputs(
            AttentionShape shape,
            Tensor projected,
            @Nullable Tensor keys,
            @Nullable Tensor values,
            @Nullable Tensor queryNorm,
            @Nullable Tensor keyNorm,
            CudaStates.@Nullable Kv kv,
            Tensor queries,
            @Nullable Tensor gates) {
        long heads = (long) projected.rows() * (shape.heads() + (kv == null ? 0 : 2 * shape.kvHeads()));
        launcher.begin()
                .tensor(projected)
                .tensor(keys)
                .tensor(values)
                .tensor(queryNorm)
                .tensor(keyNorm)
                .integer(projected.rows())
                .integer(shape.heads())
                .integer(kv == null ? 0 : shape.kvHeads())
                .integer(shape.headSize())
                .flag(shape.outputGate())
                .real(shape.normEpsilon())
                .address(ropes.frequencies(shape.rope()))
                .integer(shape.rope().width())
                .real(shape.rope().magnitude())
                .address(step.positions())
                .address(step.pageBases())
                .address(step.pages())
                .integer(kv == null ? 0 : kv.code())
                .cache(kv)
                .tensor(queries)
                .tensor(gates)
                .launch(inputs, Math.ceilDiv(heads, 4), 128);
    }

    void attention(
            AttentionShape shape,
            Tensor queries,
            CudaStates.Kv kv,
            CudaStates.@Nullable Selection selection,
            @Nullable Tensor gates,
            Tensor out) {
        boolean sparse = selection != null
                && (options.deterministic() || step.contextBucket() >= (selection.budget() + 1) * selection.block());
        CudaStates.Selection chosen = sparse ? selection : null;
        if (kv.format() == KvFormat.Q4) {
            Tensor turned = scratch.tensor("turned queries", queries.rows(), queries.columns());
            turn(shape, queries, null, turned);
            sums(shape, turned, kv, chosen, null, out);
            turn(shape, out, gates, out);
        } else {
            sums(shape, queries, kv, chosen, gates, out);
        }
    }

    private void sums(
            AttentionShape shape,
            Tensor queries,
            CudaStates.Kv kv,
            CudaStates.@Nullable Selection chosen,
            @Nullable Tensor gates,
            Tensor out) {
        if (options.precision() == Precision.F32 || !hasTiles(kv)) {
            plain(shape, queries, kv, chosen, gates, out);
        } else if (chosen != null || (step.longestSegment() <= Batch.MAX_WINDOW && !options.deterministic())) {
            rows(shape, queries, kv, chosen, gates, out);
        } else {
            prompt(shape, queries, kv, gates, out);
        }
    }

    /** Whether there are kernels on tensor cores for these heads; 4-bit heads are turned in groups of 64. */
    static boolean hasTiles(CudaStates.Kv kv) {
        return switch (kv.headSize()) {
            case 16, 32 -> kv.format() == KvFormat.F16 || kv.format() == KvFormat.INT8;
            case 64, 128, 256 -> kv.format() != KvFormat.F32;
            default -> false;
        };
    }

    /** Takes heads to the basis of 4-bit keys and values or back, and applies the gates. */
    private void turn(AttentionShape shape, Tensor from, @Nullable Tensor gates, Tensor out) {
        int heads = out.rows() * shape.heads();
        launcher.begin()
                .integer(heads)
                .integer(shape.headSize())
                .tensor(from)
                .tensor(gates)
                .tensor(out)
                .launch(turn, Math.ceilDiv(heads, 4), 128);
    }

    private Kernel tiled(String kind, AttentionShape shape, CudaStates.Kv kv, int sharedBytes) {
        String name = "attention_" + kind + "_" + shape.headSize() + suffix(kv);
        return tiled.computeIfAbsent(name, key -> kernels.get(key, sharedBytes));
    }

    /** The end of the names of kernels for this format. */
    static String suffix(CudaStates.Kv kv) {
        return "_" + kv.format().name().toLowerCase(Locale.ROOT);
    }

    private Launcher head(AttentionShape shape, Tensor queries) {
        return launcher.begin().tensor(queries).integer(shape.heads()).integer(shape.kvHeads());
    }

    private void plain(
            AttentionShape shape,
            Tensor queries,
            CudaStates.Kv kv,
            CudaStates.@Nullable Selection selection,
            @Nullable Tensor gates,
            Tensor out) {
        head(shape, queries)
                .integer(shape.headSize())
                .real(shape.scale())
                .address(step.positions())
                .address(step.pageBases())
                .address(step.pages())
                .integer(kv.code())
                .cache(kv)
                .chosen(selection)
                .tensor(gates)
                .tensor(out)
                .launch(plain, queries.rows(), shape.heads(), 1, 128, 0);
    }

    private void prompt(AttentionShape shape, Tensor queries, CudaStates.Kv kv, @Nullable Tensor gates, Tensor out) {
        int group = shape.heads() / shape.kvHeads();
        GroupTiles groupTiles = groups && kv.format() == KvFormat.F16 ? GroupTiles.of(shape.headSize()) : null;
        if (groupTiles != null) {
            promptByGroups(groupTiles, shape, queries, kv, gates, out);
            return;
        }
        int shared = 3 * 128 * shape.headSize();
        head(shape, queries)
                .real(shape.scale())
                .address(step.firstRows())
                .address(step.counts())
                .address(step.pasts())
                .address(step.segmentBases())
                .address(step.pages())
                .cache(kv)
                .tensor(gates)
                .tensor(out)
                .launch(
                        tiled("prompt", shape, kv, shared),
                        Math.ceilDiv((long) step.longestSegment() * group, 64),
                        shape.kvHeads(),
                        step.segments(),
                        128,
                        shared);
    }

    /** Sizes of attention_hopper.cu. */
    private record GroupTiles(int groups, int slots) {
        static @Nullable GroupTiles of(int headSize) {
            return switch (headSize) {
                case 64 -> new GroupTiles(3, 12);
                case 128 -> new GroupTiles(3, 10);
                case 256 -> new GroupTiles(2, 5);
                default -> null;
            };
        }

        int sharedBytes(int headSize) {
            return 1024 + (groups + slots) * 128 * headSize + 16 * slots;
        }
    }

    private void promptByGroups(
            GroupTiles tiles,
            AttentionShape shape,
            Tensor queries,
            CudaStates.Kv kv,
            @Nullable Tensor gates,
            Tensor out) {
        int size = shape.headSize();
        long vectors = kv.keys().bytes() / 2 / size;
        int group = shape.heads() / shape.kvHeads();
        int shared = tiles.sharedBytes(size);
        Kernel kernel = tiled.computeIfAbsent("attention_hopper_" + size, name -> kernels.get(name, shared));
        launcher.begin(kernel)
                .matrix(kv.keys().address(), size, vectors)
                .matrix(kv.values().address(), size, vectors)
                .tensor(queries)
                .integer(shape.heads())
                .integer(shape.kvHeads())
                .real(shape.scale())
                .address(step.firstRows())
                .address(step.counts())
                .address(step.pasts())
                .address(step.segmentBases())
                .address(step.pages())
                .tensor(gates)
                .tensor(out)
                .launch(
                        kernel,
                        Math.ceilDiv((long) step.longestSegment() * group, 64 * tiles.groups()),
                        shape.kvHeads(),
                        step.segments(),
                        128 * (tiles.groups() + 1),
                        shared);
    }

    private void rows(
            AttentionShape shape,
            Tensor queries,
            CudaStates.Kv kv,
            CudaStates.@Nullable Selection selection,
            @Nullable Tensor gates,
            Tensor out) {
        int size = shape.headSize();
        int group = shape.heads() / shape.kvHeads();
        int longest = selection == null
                ? step.contextBucket()
                : Math.min(step.contextBucket(), (selection.budget() + 1) * selection.block());
        boolean whole = options.deterministic() || step.longestSegment() > Batch.MAX_WINDOW;
        int span = whole ? Integer.MAX_VALUE : Math.max(SPAN, longest / MOST_SPANS);
        int splits = whole ? 1 : Math.ceilDiv(longest, span);
        int chunk = size >= 256 ? 16 : 32;
        int shared = 32 * size + 16 * chunk * size + 512;
        Kernel kernel = tiled("rows", shape, kv, shared);
        long heads = (long) queries.rows() * shape.heads();
        long parts = splits == 1 ? 0 : scratch.address("attention parts", 4 * heads * splits * size);
        long sums = splits == 1 ? 0 : scratch.address("attention part sums", 8 * heads * splits);
        head(shape, queries)
                .real(shape.scale())
                .address(step.positions())
                .address(step.pageBases())
                .address(step.pages())
                .cache(kv)
                .chosen(selection)
                .integer(span)
                .tensor(gates)
                .tensor(out)
                .address(parts)
                .address(sums)
                .launch(kernel, splits, shape.kvHeads() * Math.ceilDiv(group, 16), queries.rows(), 128, shared);
        if (splits > 1) {
            launcher.begin()
                    .address(parts)
                    .address(sums)
                    .integer(splits)
                    .integer(size)
                    .tensor(gates)
                    .integer(size)
                    .tensor(out)
                    .launch(merge, heads, 128);
        }
    }
}
