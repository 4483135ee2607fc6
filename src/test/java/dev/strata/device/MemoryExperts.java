package dev.strata.device;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Random experts of one layer in memory, shown in place or only given out as copies. */
public final class MemoryExperts implements ExpertSource {
    private final ExpertLayout layout;
    private final MemorySegment blobs;
    private final boolean visible;

    private MemoryExperts(ExpertLayout layout, MemorySegment blobs, boolean visible) {
        this.layout = layout;
        this.blobs = blobs;
        this.visible = visible;
    }

    static MemoryExperts random(OpFixture fixture, ExpertLayout layout, boolean visible) {
        return random(fixture.random(), fixture.arena(), layout, visible);
    }

    public static MemoryExperts random(Random random, Arena arena, ExpertLayout layout, boolean visible) {
        MemorySegment blobs = arena.allocate(layout.blobBytes() * layout.experts(), 64);
        for (int expert = 0; expert < layout.experts(); expert++) {
            MemorySegment blob = blobs.asSlice(expert * layout.blobBytes(), layout.blobBytes());
            int hidden = layout.hidden();
            int inner = layout.intermediate();
            copy(RandomBlocks.matrix(layout.gateType(), inner, hidden, random, arena), blob, 0);
            copy(RandomBlocks.matrix(layout.upType(), inner, hidden, random, arena), blob, layout.upOffset());
            copy(RandomBlocks.matrix(layout.downType(), hidden, inner, random, arena), blob, layout.downOffset());
            for (int part = 0; layout.scaled() && part < 3; part++) {
                blob.set(JAVA_FLOAT_UNALIGNED, layout.tailOffset() + 4L * part, 0.5f + random.nextFloat());
            }
        }
        return new MemoryExperts(layout, blobs, visible);
    }

    private static void copy(MemorySegment matrix, MemorySegment blob, long at) {
        MemorySegment.copy(matrix, 0, blob, at, matrix.byteSize());
    }

    @Override
    public int layers() {
        return 1;
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layout;
    }

    @Override
    public @Nullable ExpertView view(int layer, int expert) {
        if (!visible) {
            return null;
        }
        MemorySegment blob = blob(expert);
        return new ExpertView(
                blob.asSlice(0, layout.gateBytes()),
                blob.asSlice(layout.upOffset(), layout.upBytes()),
                blob.asSlice(layout.downOffset(), layout.downBytes()),
                factor(blob, 0),
                factor(blob, 1),
                factor(blob, 2));
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        MemorySegment.copy(blob(expert), 0, target, 0, layout.blobBytes());
    }

    private MemorySegment blob(int expert) {
        return blobs.asSlice(expert * layout.blobBytes(), layout.blobBytes());
    }

    private float factor(MemorySegment blob, int part) {
        return layout.scaled() ? blob.get(JAVA_FLOAT_UNALIGNED, layout.tailOffset() + 4L * part) : 1;
    }

    @Override
    public void close() {}
}
