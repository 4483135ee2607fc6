package dev.strata.decode;

import dev.strata.device.BlobParts;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.FileReads;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.SlotCache;
import dev.strata.expert.TieredExpertSource;
import dev.strata.prefill.BlobPlaces;
import dev.strata.prefill.StageSource;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Where every blob is: in a slot, in registered RAM, in other RAM, or in a file. */
final class PlacedBlobs implements BlobPlaces, StageSource {
    private final TieredExpertSource source;
    private final PinnedRanges pinned;
    private final SlotCache cache;
    private ReadCounters.@Nullable Snapshot told;

    PlacedBlobs(TieredExpertSource source, PinnedRanges pinned, SlotCache cache) {
        this.source = source;
        this.pinned = pinned;
        this.cache = cache;
    }

    @Override
    public ArenaLayout layout() {
        return source.arenaLayout();
    }

    @Override
    public boolean isResident(int layer, int expert) {
        return cache.isResident(layer, expert);
    }

    @Override
    public int pinnedRange(int layer, int expert) {
        int place = source.place(layer, expert);
        return place < 0 ? -1 : pinned.range(layer, place);
    }

    /** What was read from files since this was asked last; empty when nothing is. */
    Optional<String> reads() {
        if (!(source.rest() instanceof FileReads reads)) {
            return Optional.empty();
        }
        ReadCounters.Snapshot now = reads.counters().snapshot();
        ReadCounters.Snapshot before = told;
        told = now;
        return Optional.of((before == null ? now : now.since(before)).text());
    }

    /** Passes on what will probably be needed soon. */
    void expect(int layer, int[] experts) {
        if (experts.length > 0) {
            source.expect(layer, experts, experts.length);
        }
    }

    /** Whether {@link #expect} does anything. */
    boolean readsAhead() {
        return source.readsAhead();
    }

    /** The address by which kernels read the blob now, 0 when they cannot. */
    long address(int layer, int expert) {
        long slot = cache.address(layer, expert);
        int place = source.place(layer, expert);
        return slot != 0 || place < 0 ? slot : pinned.deviceAddress(layer, place);
    }

    /** Where the blob lies in RAM, 0 when it does not. */
    long hostAddress(int layer, int expert) {
        ExpertArena arena = source.arena();
        int place = source.place(layer, expert);
        return arena == null || place < 0
                ? 0
                : arena.memory().address() + arena.arenaLayout().offset(layer, place);
    }

    @Override
    public MemorySegment direct(int layer, long offset, long bytes) {
        ExpertArena arena = source.arena();
        if (arena == null) {
            throw new IllegalStateException("nothing is registered without an arena");
        }
        return arena.memory().asSlice(arenaOffset(arena, layer, offset), bytes);
    }

    private long arenaOffset(ExpertArena arena, int layer, long offset) {
        long stride = layout().stride(layer);
        int expert = (int) (offset / stride);
        return arena.arenaLayout().offset(layer, source.place(layer, expert)) + offset % stride;
    }

    /** Only when every expert lies in the arena at its own number, so that neighbours are neighbours in memory. */
    @Override
    public boolean piecesAllowed() {
        return source.rest() == null;
    }

    @Override
    public void copy(int layer, long[] offsets, int[] bytes, int first, int count, MemorySegment[] targets) {
        ExpertArena arena = source.arena();
        if (source.rest() == null && arena != null) {
            for (int i = 0; i < count; i++) {
                long from = arena.arenaLayout().offset(layer) + offsets[first + i];
                MemorySegment.copy(arena.memory(), from, targets[i], 0, bytes[first + i]);
            }
            return;
        }
        source.copyBlobs(layer, experts(layer, offsets, first, count), count, targets);
    }

    @Override
    public void stage(
            int layer,
            long[] offsets,
            int[] bytes,
            int first,
            int count,
            MemorySegment[] targets,
            BlobParts[] parts,
            long turn) {
        if (piecesAllowed()) {
            StageSource.super.stage(layer, offsets, bytes, first, count, targets, parts, turn);
            return;
        }
        BlobParts[] some = Arrays.copyOfRange(parts, first, first + count);
        source.copyInParts(layer, experts(layer, offsets, first, count), count, targets, some, turn);
    }

    /** The experts whose blobs start at some of {@code offsets}. */
    private int[] experts(int layer, long[] offsets, int first, int count) {
        int[] experts = new int[count];
        Arrays.setAll(experts, i -> (int) (offsets[first + i] / layout().stride(layer)));
        return experts;
    }
}
