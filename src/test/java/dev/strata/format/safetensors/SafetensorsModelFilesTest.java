package dev.strata.format.safetensors;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.format.ModelFiles;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files one path stands for. */
class SafetensorsModelFilesTest {
    @TempDir
    Path folder = Path.of("");

    @BeforeEach
    void writeShards() throws IOException {
        for (String name : List.of("first", "second", "other")) {
            try (SafetensorsWriter writer =
                    SafetensorsWriter.open(folder.resolve(name + ".safetensors"), "of " + name, List.of(1L))) {
                writer.write(MemorySegment.ofArray(new float[] {1}));
            }
        }
        Files.writeString(
                folder.resolve(SafetensorsIndex.FILE_NAME),
                "{\"weight_map\": {\"of first\": \"first.safetensors\", \"of second\": \"second.safetensors\"}}");
    }

    @Test
    void aFolderItsIndexAndAnyShardStandForAllShards() {
        for (Path path :
                List.of(folder, folder.resolve(SafetensorsIndex.FILE_NAME), folder.resolve("second.safetensors"))) {
            assertEquals(List.of("of first", "of second"), tensors(path), path.toString());
        }
    }

    @Test
    void aFileThatTheIndexDoesNotNameStandsForItself() {
        assertEquals(List.of("of other"), tensors(folder.resolve("other.safetensors")));
    }

    private static List<String> tensors(Path path) {
        try (ModelFiles files = SafetensorsModelFiles.open(path)) {
            return Stream.of("of first", "of second", "of other")
                    .filter(name -> files.find(name).isPresent())
                    .toList();
        }
    }
}
