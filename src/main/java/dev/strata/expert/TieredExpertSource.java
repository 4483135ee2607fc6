package dev.strata.expert;

import dev.strata.device.BlobParts;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Experts in RAM over another source: some in a compact arena, the rest wherever {@code rest} has them. With every expert in the arena
 * there is no rest; with none there is no arena.
 */
public final class TieredExpertSource implements ExpertSource {
    private final ArenaLayout layout;
    private final @Nullable ExpertArena arena;
    private final int[][] places;
    private final @Nullable ExpertSource rest;
    private @Nullable ResidentChoice choice;

    private TieredExpertSource(
            ArenaLayout layout, @Nullable ExpertArena arena, int[][] places, @Nullable ExpertSource rest) {
        this.layout = layout;
        this.arena = arena;
        this.places = places;
        this.rest = rest;
    }

    /** Every expert in {@code arena}, which it then owns. */
    public static TieredExpertSource resident(ExpertArena arena) {
        ArenaLayout layout = arena.arenaLayout();
        int[][] places = places(layout, -1);
        for (int[] layer : places) {
            Arrays.setAll(layer, expert -> expert);
        }
        return new TieredExpertSource(layout, arena, places, null);
    }

    /** No expert in RAM. */
    public static TieredExpertSource file(ExpertSource rest) {
        ArenaLayout layout = ArenaLayout.of(rest);
        return new TieredExpertSource(layout, null, places(layout, -1), rest);
    }

    /**
     * The first of {@code ranking} that fit into {@code budget} bytes are copied into RAM.
     *
     * @param threads readers
     */
    public static TieredExpertSource budget(
            ExpertSource rest, List<ExpertKey> ranking, long budget, int threads, LoadProgress progress) {
        return budget(rest, ranking, budget, threads, progress, arena -> LayerGate.OPEN);
    }

    /**
     * The same.
     *
     * @param gates makes what readers pass before they write into the arena
     */
    public static TieredExpertSource budget(
            ExpertSource rest,
            List<ExpertKey> ranking,
            long budget,
            int threads,
            LoadProgress progress,
            Function<ExpertArena, LayerGate> gates) {
        ArenaLayout layout = ArenaLayout.of(rest);
        boolean[][] chosen = choose(layout, ranking, budget);
        int[][] places = places(layout, -1);
        List<ExpertLayout> compact = new ArrayList<>();
        List<int[]> members = new ArrayList<>();
        for (int layer = 0; layer < layout.layers(); layer++) {
            int count = 0;
            int[] experts = new int[layout.experts(layer)];
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                if (chosen[layer][expert]) {
                    experts[count] = expert;
                    places[layer][expert] = count++;
                }
            }
            members.add(Arrays.copyOf(experts, count));
            compact.add(withExperts(layout.layout(layer), count));
        }
        ArenaLayout small = new ArenaLayout(compact);
        ExpertArena arena = ExpertArena.allocate(small);
        try {
            ArenaLoader.fill(new Members(rest, small, members), arena, threads, progress, gates.apply(arena));
        } catch (RuntimeException failed) {
            arena.close();
            throw failed;
        }
        return new TieredExpertSource(layout, arena, places, rest);
    }

    private static boolean[][] choose(ArenaLayout layout, List<ExpertKey> ranking, long budget) {
        boolean[][] chosen = new boolean[layout.layers()][];
        for (int layer = 0; layer < chosen.length; layer++) {
            chosen[layer] = new boolean[layout.experts(layer)];
        }
        long left = budget - layout.maxStride() - layout.layers() * 4096L;
        for (ExpertKey key : ranking) {
            left -= layout.stride(key.layer());
            if (left < 0) {
                break;
            }
            chosen[key.layer()][key.expert()] = true;
        }
        return chosen;
    }

    private static ExpertLayout withExperts(ExpertLayout layout, int experts) {
        return new ExpertLayout(
                layout.layer(),
                experts,
                layout.hidden(),
                layout.intermediate(),
                layout.gateType(),
                layout.upType(),
                layout.downType(),
                layout.scaled());
    }

    private static int[][] places(ArenaLayout layout, int value) {
        int[][] places = new int[layout.layers()][];
        for (int layer = 0; layer < places.length; layer++) {
            places[layer] = new int[layout.experts(layer)];
            Arrays.fill(places[layer], value);
        }
        return places;
    }

    /** Some experts of a source under the numbers that they have in the compact arena. */
    private record Members(ExpertSource source, ArenaLayout layout, List<int[]> members) implements ExpertSource {
        @Override
        public int layers() {
            return layout.layers();
        }

        @Override
        public ExpertLayout layout(int layer) {
            return layout.layout(layer);
        }

        @Override
        public void copyBlob(int layer, int expert, MemorySegment target) {
            source.copyBlob(layer, members.get(layer)[expert], target);
        }

        @Override
        public void copyBlobs(int layer, int[] experts, int count, MemorySegment[] targets) {
            int[] ids = members.get(layer);
            int[] originals = new int[count];
            Arrays.setAll(originals, i -> ids[experts[i]]);
            source.copyBlobs(layer, originals, count, targets);
        }

        @Override
        public void close() {}
    }

    /**
     * From now on steps decide which experts lie in RAM, with {@code settings} for how counts decay. Only for a reader that asks before every
     * use where an expert lies, as the processor does.
     */
    public void followUse(ExpertProfile profile, SlotAdaptation settings) {
        if (arena != null && rest != null) {
            choice = new ResidentChoice(layout, places, profile, settings);
        }
    }

    /** What steps have used, null when they do not decide what lies in RAM. */
    public @Nullable ResidentFigures figures() {
        ResidentChoice now = choice;
        return now == null ? null : new ResidentFigures(now.usage(), now.swaps());
    }

    /** What was learned, for the next start; null when nothing was. */
    public @Nullable ExpertProfile profile() {
        ResidentChoice now = choice;
        return now == null ? null : now.usage().profile((layer, expert) -> places[layer][expert] >= 0);
    }

    /**
     * @param usage counts, and lookups that found their expert in RAM
     * @param swaps experts that took the place of others
     */
    public record ResidentFigures(ExpertUsage usage, long swaps) {}

    @Override
    public void waited(long nanos) {
        if (rest != null) {
            rest.waited(nanos);
        }
    }

    @Override
    public boolean adapts() {
        return choice != null;
    }

    @Override
    public void used(int layer, int[] choices, int count) {
        if (choice != null) {
            choice.used(layer, choices, count);
        }
    }

    @Override
    public @Nullable Admitted admit(int layer, int expert) {
        if (choice == null || arena == null) {
            return null;
        }
        int place = choice.admit(layer, expert);
        if (place < 0) {
            return null;
        }
        arena.forgetView(layer, place);
        return new Admitted(choice.lost(), arena.blob(layer, place));
    }

    @Override
    public void settle(int layer, int expert, boolean read) {
        if (choice != null) {
            choice.settle(layer, expert, read);
        }
    }

    /** Sizes of all experts, whether in RAM or not. */
    public ArenaLayout arenaLayout() {
        return layout;
    }

    /** The arena with what is in RAM, or null when nothing is. */
    public @Nullable ExpertArena arena() {
        return arena;
    }

    /** Number of the expert in the arena's layer, -1 when it is not in RAM. */
    public int place(int layer, int expert) {
        return places[layer][expert];
    }

    /** Bytes of the experts in RAM. */
    public long residentBytes() {
        return arena == null ? 0 : arena.totalBytes();
    }

    /** Where the experts lie that are not in RAM, or null when all are. */
    public @Nullable ExpertSource rest() {
        return rest;
    }

    @Override
    public int layers() {
        return layout.layers();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layout.layout(layer);
    }

    @Override
    public @Nullable ExpertView view(int layer, int expert) {
        int place = places[layer][expert];
        if (place >= 0 && arena != null) {
            return arena.view(layer, place);
        }
        return rest == null ? null : rest.view(layer, expert);
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        int place = places[layer][expert];
        if (place >= 0 && arena != null) {
            arena.copyBlob(layer, place, target);
        } else if (rest != null) {
            rest.copyBlob(layer, expert, target);
        }
    }

    @Override
    public boolean readsAhead() {
        return rest != null && rest.readsAhead();
    }

    @Override
    public void expect(int layer, int[] experts, int count) {
        if (rest == null) {
            return;
        }
        int[] missing = new int[count];
        int found = 0;
        for (int i = 0; i < count; i++) {
            if (places[layer][experts[i]] < 0) {
                missing[found++] = experts[i];
            }
        }
        if (found > 0) {
            rest.expect(layer, missing, found);
        }
    }

    @Override
    public void copyBlobs(int layer, int[] experts, int count, MemorySegment[] targets) {
        copy(layer, experts, count, targets, null, 0);
    }

    @Override
    public long partsBytes(int layer) {
        return rest == null ? layout(layer).blobBytes() : rest.partsBytes(layer);
    }

    @Override
    public void copyInParts(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts[] parts, long turn) {
        copy(layer, experts, count, targets, parts, turn);
    }

    /**
     * Copies those in RAM one by one and reads the others as one batch.
     *
     * @param parts null when blobs have to be whole
     */
    private void copy(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts @Nullable [] parts, long turn) {
        BlobBatch missing = new BlobBatch(count, parts != null);
        for (int i = 0; i < count; i++) {
            int place = places[layer][experts[i]];
            if (place < 0 || arena == null) {
                missing.add(i, experts, targets, parts);
                continue;
            }
            arena.copyBlob(layer, place, targets[i]);
            if (parts != null) {
                parts[i].whole(layout(layer).blobBytes());
            }
        }
        if (rest != null) {
            missing.copy(rest, layer, turn);
        }
    }

    @Override
    public void close() {
        if (arena != null) {
            arena.close();
        }
        if (rest != null) {
            rest.close();
        }
    }
}
