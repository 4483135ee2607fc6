package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.ExpertView;
import dev.strata.format.QuantType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The arena: where blobs lie, and that a load puts every one there. */
class ArenaTest {
    @Test
    void stridesPagesAndGuard() {
        ArenaLayout layout = Layouts.mixed(5);
        for (int layer = 0; layer < 3; layer++) {
            assertEquals(0, layout.stride(layer) % 256);
            assertEquals(0, layout.offset(layer) % 4096);
            assertTrue(layout.stride(layer) >= layout.layout(layer).blobBytes());
            assertEquals(layout.offset(layer) + 4 * layout.stride(layer), layout.offset(layer, 4));
        }
        assertEquals(layout.dataBytes() + layout.maxStride(), layout.totalBytes());
        assertEquals(15, layout.totalExperts());
    }

    @Test
    void everyBlobIsLoadedAndEveryLayerAnnounced() {
        ArenaLayout layout = Layouts.mixed(9);
        PatternSource source = new PatternSource(layout);
        BitSet entered = new BitSet();
        AtomicLong last = new AtomicLong();
        try (ExpertArena arena = ExpertArena.allocate(layout)) {
            ArenaLoader.fill(
                    source, arena, 3, (done, total, seconds) -> last.accumulateAndGet(done, Math::max), layer -> {
                        synchronized (entered) {
                            entered.set(layer);
                        }
                    });
            assertEquals(3, entered.cardinality());
            assertEquals(source.totalBytes(), last.get());
            for (int layer = 0; layer < 3; layer++) {
                for (int expert = 0; expert < 9; expert++) {
                    assertTrue(PatternSource.holds(layout.layout(layer), layer, expert, arena.blob(layer, expert)));
                }
            }
        }
    }

    @Test
    void viewsCutTheBlobAndReadItsFactors() {
        ArenaLayout layout = Layouts.of(1, 2, 64, 32, QuantType.Q4_0, true);
        try (ExpertArena arena = ExpertArena.allocate(layout)) {
            BlobViews.writeTail(layout.layout(0), arena.blob(0, 1), 2f, 3f, 4f);
            ExpertView view = arena.view(0, 1);
            assertSame(view, arena.view(0, 1));
            assertEquals(2f, view.gateScale());
            assertEquals(3f, view.upScale());
            assertEquals(4f, view.downScale());
            assertEquals(
                    arena.blob(0, 1).address() + layout.layout(0).downOffset(),
                    view.down().address());
            assertEquals(layout.layout(0).downBytes(), view.down().byteSize());
        }
    }

    @Test
    void aFailedReadStopsTheLoad() {
        ArenaLayout layout = Layouts.small(2, 8);
        PatternSource broken = new PatternSource(layout);
        try (ExpertArena arena = ExpertArena.allocate(layout)) {
            UncheckedIOException failure = assertThrows(
                    UncheckedIOException.class,
                    () -> ArenaLoader.fill(new Failing(broken, 1, 3), arena, 2, LoadProgress.NONE, layer -> {}));
            assertTrue(String.valueOf(failure.getCause()).endsWith("layer 1 expert 3"), failure.toString());
        }
    }

    /** Fails for one blob. */
    private record Failing(PatternSource source, int layer, int expert) implements dev.strata.device.ExpertSource {
        @Override
        public int layers() {
            return source.layers();
        }

        @Override
        public dev.strata.device.ExpertLayout layout(int index) {
            return source.layout(index);
        }

        @Override
        public @org.jspecify.annotations.Nullable ExpertView view(int index, int id) {
            return null;
        }

        @Override
        public void copyBlob(int index, int id, MemorySegment target) {
            if (index == layer && id == expert) {
                throw new UncheckedIOException(new IOException("layer " + layer + " expert " + expert));
            }
            source.copyBlob(index, id, target);
        }

        @Override
        public void close() {}
    }
}
