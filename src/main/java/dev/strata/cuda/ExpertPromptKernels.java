package dev.strata.cuda;

import dev.strata.device.ExpertLayout;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.format.QuantType;

/** Launches the kernels of experts_prompt.cu, and the products over groups of rows. */
final class ExpertPromptKernels {
    /** Up to this many rows an expert, on average, its blob is read anew for every row, unless it is of a type that short prompts read as stored. */
    private static final int FEW_ROWS = 3;

    /**
     * Up to this many rows the same holds of all types, and where experts come in several runs. Every run of kernels by pairs has a block for all pairs, most of
     * which find that their expert is in another run; with more rows such runs take longer than the blobs take to cross the link.
     */
    static final int ROWS_BY_PAIR = 16;

    private static final long EXPANDED_BYTES = 320L << 20;

    /** Blocks that expand the experts of a run, and the fewest for one of them. */
    private static final int BLOCKS_A_MULTIPROCESSOR = 32;

    private static final int LEAST_BLOCKS = 16;
    private static final int MOST_EXPERTS_AT_ONCE = 512;

    private final Launcher launcher;
    private final Scratch scratch;
    private final StoredTypes types;
    private final CudaOptions options;
    private final Kernel zero;
    private final Kernel count;
    private final Kernel place;
    private final Kernel group;
    private final Kernel combine;
    private final TileProducts tiles;
    private final StoredGroups stored;

    ExpertPromptKernels(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StoredTypes types,
            TileProducts tiles,
            CudaOptions options) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.types = types;
        this.options = options;
        this.zero = kernels.get("zero_words");
        this.count = kernels.get("count_pairs");
        this.place = kernels.get("place_pairs");
        this.group = kernels.get("group_pairs");
        this.combine = kernels.get("combine_pairs");
        this.tiles = tiles;
        this.stored = new StoredGroups(launcher, types, options);
    }

    /**
     * Whether the rows are grouped by expert for the tensor cores.
     *
     * @param split whether the experts come in several runs
     */
    boolean grouped(ExpertLayout layout, int rows, int used, boolean split) {
        long pairs = (long) rows * used;
        return options.precision() == Precision.MIXED
                && (options.deterministic()
                        || rows > ROWS_BY_PAIR && (split || stored.suits(layout, pairs))
                        || pairs >= (long) FEW_ROWS * layout.experts());
    }

    /** The sum over no experts. */
    void clear(Tensor out) {
        long words = (long) out.rows() * out.columns();
        launcher.begin().address(out.address()).address(words).launchOver(zero, words);
    }

    /** Groups the rows' pairs by expert. */
    Grouping group(Routing routing, int rows, int experts) {
        int pairs = rows * routing.used();
        long counts = scratch.address("pairs of experts", 4L * experts);
        long starts = scratch.address("first pairs of experts", 4L * (experts + 1));
        long sources = scratch.address("rows by expert", 4L * pairs);
        long places = scratch.address("places of pairs", 4L * pairs);
        launcher.begin()
                .address(routing.ids().address())
                .integer(pairs)
                .address(counts)
                .launch(count, experts, 256);
        int most = StoredGroups.mostTiles(pairs, rows, experts);
        long tileStarts = scratch.address("first tiles of experts", 4L * (experts + 1));
        long tileList = scratch.address("tiles of experts", 4L * most);
        launcher.begin()
                .address(counts)
                .integer(experts)
                .integer(StoredGroups.ROWS)
                .address(starts)
                .address(tileStarts)
                .address(tileList)
                .launch(place, 1, 1024);
        launcher.begin()
                .address(routing.ids().address())
                .integer(pairs)
                .integer(routing.used())
                .address(starts)
                .address(sources)
                .address(places)
                .launch(group, experts, 256);
        return new Grouping(rows, pairs, counts, starts, tileStarts, tileList, sources, places);
    }

    /** Addresses of what {@link #group} made. */
    record Grouping(
            int rows, int pairs, long counts, long starts, long tileStarts, long tiles, long sources, long places) {}

    /**
     * The products of experts {@code first .. first + number - 1} with all their rows: float16 results by place, [pairs, hidden].
     *
     * @param rounded rounded activations of all rows
     */
    void multiplyGroups(
            ExpertLayout layout, long table, Grouping grouping, long rounded, int first, int number, long results) {
        int hidden = layout.hidden();
        int intermediate = layout.intermediate();
        int paddedHidden = Activations.padded(hidden);
        int paddedIntermediate = Activations.padded(intermediate);
        if (stored.suits(layout, grouping.pairs())) {
            long values = values(grouping, layout);
            stored.gateUp(layout, table, grouping, first, number, rounded, values);
            stored.down(layout, table, grouping, first, number, values, results);
            return;
        }
        int gateUpRows = 2 * Math.ceilDiv(intermediate, 8) * 8;
        long gateUpValues = (long) gateUpRows * paddedHidden;
        long downValues = (long) hidden * paddedIntermediate;
        int atOnce = Math.clamp(EXPANDED_BYTES / (2 * Math.max(gateUpValues, downValues)), 1, MOST_EXPERTS_AT_ONCE);
        atOnce = Math.min(atOnce, number);
        long expanded = scratch.address("expanded experts", 2 * Math.max(gateUpValues, downValues) * atOnce);
        long values = values(grouping, layout);
        long left = rounded;
        long sources = grouping.sources();
        if (tiles.gathers()) {
            left = scratch.address("gathered activations", 2L * grouping.pairs() * paddedHidden);
            tiles.gather(rounded, grouping, first, number, paddedHidden, left);
            sources = 0;
        }
        long tail = layout.scaled() ? layout.tailOffset() : 0;
        for (int from = first; from < first + number; from += atOnce) {
            int here = Math.min(atOnce, first + number - from);
            expand(
                    layout.gateType(),
                    table,
                    grouping,
                    from,
                    here,
                    0,
                    tail,
                    intermediate,
                    hidden,
                    expanded,
                    gateUpValues,
                    1);
            expand(
                    layout.upType(),
                    table,
                    grouping,
                    from,
                    here,
                    layout.upOffset(),
                    tail == 0 ? 0 : tail + 4,
                    intermediate,
                    hidden,
                    expanded,
                    gateUpValues,
                    2);
            tiles.grouped(
                    left,
                    sources,
                    grouping,
                    from,
                    here,
                    expanded,
                    gateUpRows,
                    paddedHidden,
                    values,
                    paddedIntermediate,
                    intermediate,
                    ProductMode.SWIGLU_F16);
            expand(
                    layout.downType(),
                    table,
                    grouping,
                    from,
                    here,
                    layout.downOffset(),
                    tail == 0 ? 0 : tail + 8,
                    hidden,
                    intermediate,
                    expanded,
                    downValues,
                    0);
            tiles.grouped(
                    values,
                    0,
                    grouping,
                    from,
                    here,
                    expanded,
                    hidden,
                    paddedIntermediate,
                    results,
                    hidden,
                    hidden,
                    ProductMode.STORE_F16);
        }
    }

    /** Room for the gated values of all pairs, zeros behind their columns. */
    private long values(Grouping grouping, ExpertLayout layout) {
        int padded = Activations.padded(layout.intermediate());
        long values = scratch.address("expert values", 2L * grouping.pairs() * padded);
        if (padded != layout.intermediate()) {
            long words = 2L * grouping.pairs() * padded / 4;
            launcher.begin().address(values).address(words).launchOver(zero, words);
        }
        return values;
    }

    private void expand(
            QuantType type,
            long table,
            Grouping grouping,
            int first,
            int number,
            long offset,
            long tail,
            int rows,
            int columns,
            long target,
            long stride,
            int interleave) {
        int padded = Activations.padded(columns);
        // Most experts of a short prompt's range have no row, and a block that finds that out still takes its turn.
        long busy = Math.ceilDiv((long) BLOCKS_A_MULTIPROCESSOR * tiles.multiprocessors(), number);
        long blocks = Math.clamp(Math.ceilDiv((long) rows * padded / 8, 256), 1, Math.max(busy, LEAST_BLOCKS));
        launcher.begin()
                .address(table)
                .address(grouping.counts())
                .integer(first)
                .address(offset)
                .address(tail)
                .address(0)
                .address(type.bytes(columns))
                .integer(rows)
                .integer(columns)
                .integer(padded)
                .address(target)
                .address(stride)
                .real(1)
                .integer(interleave)
                .launch(types.of(type).expand(), blocks, number, 1, 256, 0);
    }

    /** @param others float32 results by pair of experts without an entry in the table, 0 when there are none */
    void combine(long results, boolean rounded, long places, Routing routing, long others, long table, Tensor out) {
        launcher.begin()
                .address(results)
                .flag(rounded)
                .address(places)
                .tensor(routing.weights())
                .integer(routing.used())
                .integer(out.columns())
                .address(others)
                .address(table)
                .address(routing.ids().address())
                .tensor(out)
                .launch(combine, out.rows(), 256);
    }
}
