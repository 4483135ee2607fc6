package dev.strata.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufValueType;
import dev.strata.format.gguf.GgufWriter;
import dev.strata.format.safetensors.SafetensorsModelFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files cut anywhere and with any byte changed are read, or refused with an error that names them; nothing else happens. */
class DamagedFilesTest {
    @TempDir
    private Path folder = Path.of("");

    private Path gguf(String name, Map<String, GgufValue> more, String... tensors) throws IOException {
        Map<String, GgufValue> metadata = new LinkedHashMap<>();
        metadata.put("general.architecture", GgufValue.string("test"));
        metadata.put("test.words", GgufValue.array(GgufValueType.STRING, List.of("one", "two", "three")));
        metadata.putAll(more);
        List<GgufTensor> list = Arrays.stream(tensors)
                .map(tensor -> new GgufTensor(tensor, QuantType.Q8_0, List.of(2L, 32L)))
                .toList();
        Path path = folder.resolve(name);
        try (GgufWriter writer = GgufWriter.create(path, true, metadata, list)) {
            writer.commit();
        }
        return path;
    }

    private Path safetensors() throws IOException {
        byte[] header = ("{\"__metadata__\":{\"format\":\"pt\"},"
                        + "\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                        + "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]}}")
                .getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length + 22).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(header.length).put(header);
        return Files.write(folder.resolve("model.safetensors"), bytes.array());
    }

    @Test
    void damagedGgufFiles() throws IOException {
        Path path = gguf("good.gguf", Map.of(), "a.weight", "b.weight");
        byte[] good = Files.readAllBytes(path);
        try (ModelFiles files = ModelFileOpener.open(path)) {
            // What follows the last tensor is padding, which may be missing.
            TensorEntry last = files.tensors().getLast();
            good = Arrays.copyOf(good, Math.toIntExact(last.offset() + last.bytes()));
        }
        damage(good, bad -> ModelFileOpener.open(bad).close(), "bad.gguf");
    }

    @Test
    void damagedSafetensorsFiles() throws IOException {
        damage(
                Files.readAllBytes(safetensors()),
                path -> SafetensorsModelFiles.open(path).close(),
                "bad.safetensors");
    }

    private interface Opener {
        void open(Path path);
    }

    private void damage(byte[] good, Opener opener, String name) throws IOException {
        Path path = folder.resolve(name);
        for (int length = 0; length < good.length; length++) {
            Files.write(path, Arrays.copyOf(good, length));
            ModelFormatException error = assertThrows(ModelFormatException.class, () -> opener.open(path));
            assertTrue(String.valueOf(error.getMessage()).contains(path.toString()), error.getMessage());
        }
        Random random = new Random(3);
        int refused = 0;
        for (int at = 0; at < good.length; at++) {
            byte[] changed = good.clone();
            changed[at] = (byte) (changed[at] ^ 1 + random.nextInt(255));
            Files.write(path, changed);
            try {
                opener.open(path);
            } catch (ModelFormatException error) {
                assertTrue(String.valueOf(error.getMessage()).contains(path.toString()), error.getMessage());
                refused++;
            }
        }
        assertTrue(refused > good.length / 8, refused + " of " + good.length + " changes were noticed");
    }

    private static Map<String, GgufValue> split(long number, long count) {
        Map<String, GgufValue> keys = new LinkedHashMap<>();
        keys.put("split.no", GgufValue.of(GgufValueType.UINT16, number));
        keys.put("split.count", GgufValue.of(GgufValueType.UINT16, count));
        keys.put("split.tensors.count", GgufValue.of(GgufValueType.INT32, 2L));
        return keys;
    }

    @Test
    void splitFilesAreFoundFromAnyShardThroughLinks() throws IOException {
        Path stored = Files.createDirectory(folder.resolve("stored"));
        Path first = Files.move(gguf("1.gguf", split(0, 2), "a.weight"), stored.resolve("0a1b"));
        Path second = Files.move(gguf("2.gguf", split(1, 2), "b.weight"), stored.resolve("2c3d"));
        Path one = Files.createSymbolicLink(folder.resolve("m-00001-of-00002.gguf"), first);
        Path two = Files.createSymbolicLink(folder.resolve("m-00002-of-00002.gguf"), second);
        for (Path given : List.of(one, two)) {
            try (ModelFiles files = ModelFileOpener.open(given)) {
                assertEquals(List.of(one, two), files.files());
                assertEquals(2, files.tensors().size());
            }
        }
        Files.delete(two);
        refused(one, "m-00002-of-00002.gguf");
        Files.move(gguf("3.gguf", split(1, 3), "b.weight"), two);
        refused(one, "split.count", "3 and 2");
        Files.move(gguf("4.gguf", split(1, 2), "a.weight"), two, StandardCopyOption.REPLACE_EXISTING);
        refused(one, "a.weight");
    }

    private static void refused(Path path, String... parts) {
        String message = String.valueOf(assertThrows(
                        ModelFormatException.class,
                        () -> ModelFileOpener.open(path).close())
                .getMessage());
        for (String part : parts) {
            assertTrue(message.contains(part), message);
        }
    }
}
