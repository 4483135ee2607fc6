package dev.strata.format.safetensors;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.strata.format.ModelFiles;
import dev.strata.format.TensorValues;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SafetensorsWriterTest {
    @TempDir
    Path folder = Path.of("");

    @Test
    void whatIsWrittenInPiecesIsReadBack() throws IOException {
        Path file = folder.resolve("a.safetensors");
        try (SafetensorsWriter writer = SafetensorsWriter.open(file, "logits", List.of(2L, 3L))) {
            writer.write(MemorySegment.ofArray(new float[] {1, 2}));
            writer.write(MemorySegment.ofArray(new float[] {3, 4, 5, -6.5f}));
            assertFalse(Files.exists(file));
        }
        try (ModelFiles read = SafetensorsModelFiles.open(file)) {
            assertArrayEquals(new float[] {1, 2, 3, 4, 5, -6.5f}, TensorValues.floats(read, "logits"));
            assertEquals(List.of(2L, 3L), read.find("logits").orElseThrow().shape());
        }
    }

    @Test
    void anUnfinishedFileIsRemoved() throws IOException {
        Path file = folder.resolve("b.safetensors");
        SafetensorsWriter writer = SafetensorsWriter.open(file, "x", List.of(2L));
        writer.write(MemorySegment.ofArray(new float[] {1}));
        assertThrows(IllegalArgumentException.class, () -> writer.write(MemorySegment.ofArray(new float[] {1, 2})));
        writer.close();
        try (var left = Files.list(folder)) {
            assertEquals(0, left.count());
        }
    }
}
