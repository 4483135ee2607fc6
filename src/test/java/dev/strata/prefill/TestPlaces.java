package dev.strata.prefill;

import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.PatternSource;
import java.lang.foreign.MemorySegment;

/** Experts in an arena, with residency and pinning as a test likes it. */
final class TestPlaces implements BlobPlaces, StageSource, AutoCloseable {
    final ExpertArena arena;
    final int[][] pinned;
    final boolean[][] resident;
    private final boolean pieces;

    TestPlaces(ArenaLayout layout, boolean pieces) {
        this.pieces = pieces;
        arena = ExpertArena.allocate(layout);
        PatternSource pattern = new PatternSource(layout);
        pinned = new int[layout.layers()][];
        resident = new boolean[layout.layers()][];
        for (int layer = 0; layer < layout.layers(); layer++) {
            pinned[layer] = new int[layout.experts(layer)];
            java.util.Arrays.fill(pinned[layer], -1);
            resident[layer] = new boolean[layout.experts(layer)];
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                pattern.copyBlob(layer, expert, arena.blob(layer, expert));
            }
        }
    }

    @Override
    public ArenaLayout layout() {
        return arena.arenaLayout();
    }

    @Override
    public boolean isResident(int layer, int expert) {
        return resident[layer][expert];
    }

    @Override
    public int pinnedRange(int layer, int expert) {
        return pinned[layer][expert];
    }

    @Override
    public MemorySegment direct(int layer, long offset, long bytes) {
        return arena.layer(layer).asSlice(offset, bytes);
    }

    @Override
    public boolean piecesAllowed() {
        return pieces;
    }

    @Override
    public void copy(int layer, long[] offsets, int[] bytes, int first, int count, MemorySegment[] targets) {
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(arena.layer(layer), offsets[first + i], targets[i], 0, bytes[first + i]);
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
