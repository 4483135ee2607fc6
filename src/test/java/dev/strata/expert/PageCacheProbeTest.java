package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The guess about the page cache. */
class PageCacheProbeTest {
    private static final ExpertLayout LAYOUT =
            new ExpertLayout(0, 16, 64, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);

    @Test
    void aFileThatWasJustWrittenIsWarm(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("experts.bin");
        Files.write(file, new byte[(int) (16 * LAYOUT.downBytes())]);
        try (FileChannel channel = FileChannel.open(file);
                Arena arena = Arena.ofConfined()) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            TensorEntry tensor =
                    new TensorEntry("down", QuantType.Q8_0, "Q8_0", List.of(16L, 64L, 32L), file, 0, channel.size());
            StoredMatrices matrices = new StoredMatrices.Stacked(
                    tensor.type(), tensor, mapped, 0, LAYOUT.downBytes(), LAYOUT.downBytes());
            double share = PageCacheProbe.cachedShare(
                    List.of(new StoredExperts(LAYOUT, matrices, matrices, matrices, List.of())), entry -> mapped);
            assertTrue(share > 0.5, "share " + share);
            List<TensorEntry> asked = new ArrayList<>();
            StoredMatrices made = new StoredMatrices.Converted(QuantType.Q8_0, LAYOUT.downBytes(), new From(tensor));
            share = PageCacheProbe.cachedShare(
                    List.of(new StoredExperts(LAYOUT, made, made, made, List.of())), entry -> {
                        asked.add(entry);
                        return mapped;
                    });
            assertTrue(share > 0.5, "share " + share);
            assertEquals(tensor, asked.getFirst(), "what matrices are made from is looked at");
        }
    }

    @Test
    void whatIsMadeCountsAsWarm() {
        StoredMatrices made = new StoredMatrices.Converted(
                QuantType.Q8_0, LAYOUT.downBytes(), (expert, target) -> target.fill((byte) expert));
        assertEquals(
                1,
                PageCacheProbe.cachedShare(List.of(new StoredExperts(LAYOUT, made, made, made, List.of())), entry -> {
                    throw new AssertionError(entry);
                }));
    }

    /** Makes matrices from one tensor. */
    private record From(TensorEntry tensor) implements StoredMatrices.Converter {
        @Override
        public void write(int expert, MemorySegment target) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<TensorEntry> sources(int expert) {
            return List.of(tensor);
        }
    }
}
