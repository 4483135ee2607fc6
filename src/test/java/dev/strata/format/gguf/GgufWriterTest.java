package dev.strata.format.gguf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GgufWriterTest {
    @TempDir
    private Path folder = Path.of("");

    private static Map<String, GgufValue> metadata() {
        Map<String, GgufValue> metadata = new LinkedHashMap<>();
        metadata.put("general.architecture", GgufValue.string("test"));
        metadata.put("a.u32", GgufValue.uint32(0xfffffffeL));
        metadata.put("a.u64", GgufValue.of(GgufValueType.UINT64, Long.MIN_VALUE));
        metadata.put("a.i8", GgufValue.of(GgufValueType.INT8, -3L));
        metadata.put("a.u16", GgufValue.of(GgufValueType.UINT16, 65535L));
        metadata.put("a.f32", GgufValue.float32(1e-6));
        metadata.put("a.f64", GgufValue.of(GgufValueType.FLOAT64, 0.1));
        metadata.put("a.bool", GgufValue.bool(true));
        metadata.put("a.words", GgufValue.array(GgufValueType.STRING, List.of("Ġthe", "", "日本")));
        metadata.put("a.numbers", GgufValue.array(GgufValueType.INT32, List.of(-1L, 2L)));
        return metadata;
    }

    @Test
    void whatIsWrittenIsRead() throws IOException {
        Path path = folder.resolve("model.gguf");
        List<GgufTensor> tensors = List.of(
                new GgufTensor("one.weight", QuantType.Q8_0, List.of(3L, 32L)),
                new GgufTensor("two", QuantType.F32, List.of(5L)),
                new GgufTensor("three.weight", QuantType.I8, List.of(2L, 2L, 3L)));
        byte[] one = new byte[3 * 34];
        byte[] three = new byte[12];
        Random random = new Random(1);
        random.nextBytes(one);
        random.nextBytes(three);
        try (GgufWriter writer = GgufWriter.create(path, false, metadata(), tensors)) {
            writer.write(2, 0, ByteBuffer.wrap(three));
            writer.write(0, 34, ByteBuffer.wrap(one, 34, 68));
            writer.write(0, 0, ByteBuffer.wrap(one, 0, 34));
            assertFalse(Files.exists(path));
            writer.commit();
        }
        try (ModelFiles files = ModelFileOpener.open(path)) {
            Map<String, Object> read = files.metadata();
            assertEquals(0xfffffffeL, read.get("a.u32"));
            assertEquals(Long.MIN_VALUE, read.get("a.u64"));
            assertEquals(-3L, read.get("a.i8"));
            assertEquals(65535L, read.get("a.u16"));
            assertEquals((double) 1e-6f, read.get("a.f32"));
            assertEquals(0.1, read.get("a.f64"));
            assertEquals(true, read.get("a.bool"));
            assertEquals(List.of("Ġthe", "", "日本"), read.get("a.words"));
            assertEquals(List.of(-1L, 2L), read.get("a.numbers"));
            assertEquals(List.of(3L, 32L), files.tensors().get(0).shape());
            assertArrayEquals(one, bytes(files, "one.weight"));
            assertArrayEquals(new byte[20], bytes(files, "two"));
            assertArrayEquals(three, bytes(files, "three.weight"));
            for (TensorEntry tensor : files.tensors()) {
                assertEquals(0, tensor.offset() % 32);
            }
        }
        try (var entries = Files.list(folder)) {
            assertEquals(List.of(path), entries.toList());
        }
    }

    @Test
    void nothingIsLeftOfAnAbandonedFile() throws IOException {
        Path path = folder.resolve("model.gguf");
        try (GgufWriter writer = GgufWriter.create(path, false, metadata(), List.of())) {
            assertTrue(writer.tensors().isEmpty());
        }
        try (var entries = Files.list(folder)) {
            assertTrue(entries.findAny().isEmpty());
        }
    }

    @Test
    void anExistingFileIsKept() throws IOException {
        Path path = Files.writeString(folder.resolve("model.gguf"), "precious");
        assertThrows(FileAlreadyExistsException.class, () -> GgufWriter.create(path, false, metadata(), List.of()));
        assertEquals("precious", Files.readString(path));
    }

    @Test
    void writesBeyondATensorAreRefused() throws IOException {
        GgufTensor tensor = new GgufTensor("t", QuantType.F32, List.of(4L));
        try (GgufWriter writer = GgufWriter.create(folder.resolve("m.gguf"), false, metadata(), List.of(tensor))) {
            assertThrows(IllegalArgumentException.class, () -> writer.write(0, 8, ByteBuffer.allocate(12)));
        }
    }

    @Test
    void inferredTypesHoldTheirNumbers() {
        assertEquals(GgufValueType.UINT32, GgufValue.infer(4294967295L).type());
        assertEquals(GgufValueType.INT64, GgufValue.infer(4294967296L).type());
        assertEquals(GgufValueType.INT32, GgufValue.infer(-1L).type());
        assertEquals(GgufValueType.FLOAT32, GgufValue.infer(0.5).type());
        assertEquals(GgufValueType.FLOAT64, GgufValue.infer(0.1).type());
        assertEquals(GgufValueType.INT64, GgufValue.infer(List.of(1L, -1L)).element());
        assertEquals(GgufValueType.UINT32, GgufValue.infer(List.of(1L, 7L)).element());
    }

    private static byte[] bytes(ModelFiles files, String name) {
        return files.data(files.find(name).orElseThrow()).toArray(ValueLayout.JAVA_BYTE);
    }
}
