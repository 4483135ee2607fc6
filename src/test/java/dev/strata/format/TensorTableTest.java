package dev.strata.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufWriter;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Views of a model's files: those of experts close and open alone. */
class TensorTableTest {
    private static final List<String> NAMES = List.of(
            "token_embd.weight", "blk.0.ffn_gate_exps.weight", "blk.0.attn_q.weight", "blk.1.ffn_gate_exps.weight");

    @TempDir
    Path folder;

    private Path write() throws IOException {
        Path path = folder.resolve("model.gguf");
        List<GgufTensor> tensors = NAMES.stream()
                .map(name -> new GgufTensor(name, QuantType.I8, List.of(4L, 5000L)))
                .toList();
        try (GgufWriter writer =
                GgufWriter.create(path, false, Map.of("general.architecture", GgufValue.infer("none")), tensors)) {
            for (int i = 0; i < NAMES.size(); i++) {
                byte[] bytes = new byte[20_000];
                java.util.Arrays.fill(bytes, (byte) (i + 1));
                writer.write(i, 0, ByteBuffer.wrap(bytes));
            }
            writer.commit();
        }
        return path;
    }

    private static byte first(ModelFiles files, String name) {
        return files.data(files.find(name).orElseThrow()).get(ValueLayout.JAVA_BYTE, 0);
    }

    private static long mappings(Path path) throws IOException {
        String name = path.toRealPath().toString();
        return Files.readAllLines(Path.of("/proc/self/maps")).stream()
                .filter(line -> line.endsWith(name))
                .count();
    }

    @Test
    void viewsOfExpertsAreClosedAndComeBack() throws IOException {
        Path path = write();
        try (ModelFiles files = ModelFileOpener.open(path)) {
            for (int i = 0; i < NAMES.size(); i++) {
                assertEquals(i + 1, first(files, NAMES.get(i)));
            }
            assertEquals(4, mappings(path));
            MemorySegment expert = files.data(files.find(NAMES.get(1)).orElseThrow());
            MemorySegment dense = files.data(files.find(NAMES.get(2)).orElseThrow());
            assertEquals(40_000, files.closeExpertViews());
            assertEquals(2, mappings(path));
            assertThrows(IllegalStateException.class, () -> expert.get(ValueLayout.JAVA_BYTE, 0));
            assertEquals(3, dense.get(ValueLayout.JAVA_BYTE, 0));
            assertEquals(2, first(files, NAMES.get(1)));
            assertEquals(3, mappings(path));
        }
        assertEquals(0, mappings(path));
    }

    @Test
    void aFileThatChangedAfterItsHeadWasReadIsNotMapped() throws IOException {
        Path path = write();
        try (ModelFiles files = ModelFileOpener.open(path)) {
            try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                file.setLength(file.length() - 5000);
            }
            ModelFormatException refused =
                    assertThrows(ModelFormatException.class, () -> first(files, NAMES.getFirst()));
            assertTrue(String.valueOf(refused.getMessage()).contains("model.gguf: changed"));
        }
    }
}
