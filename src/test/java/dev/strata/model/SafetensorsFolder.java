package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import dev.strata.format.safetensors.SafetensorsModelFiles;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Tensors to be changed and written as a model folder. */
final class SafetensorsFolder {
    /** One tensor's bytes. */
    record Stored(String dtype, List<Long> shape, byte[] bytes) {}

    final Map<String, Stored> tensors = new LinkedHashMap<>();

    /** All tensors of a folder's single file. */
    static SafetensorsFolder read(Path folder) {
        SafetensorsFolder result = new SafetensorsFolder();
        try (ModelFiles file = SafetensorsModelFiles.open(folder.resolve("model.safetensors"))) {
            for (TensorEntry entry : file.tensors()) {
                result.tensors.put(
                        entry.name(),
                        new Stored(
                                entry.dtype(), entry.shape(), file.data(entry).toArray(JAVA_BYTE)));
            }
        }
        return result;
    }

    void put(String name, String dtype, List<Long> shape, byte[] bytes) {
        tensors.put(name, new Stored(dtype, shape, bytes));
    }

    void putBf16(String name, List<Long> shape, float[] values) {
        ByteBuffer bytes = ByteBuffer.allocate(2 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            int bits = Float.floatToRawIntBits(value);
            bytes.putShort((short) (bits + 0x7FFF + (bits >>> 16 & 1) >>> 16));
        }
        put(name, "BF16", shape, bytes.array());
    }

    void putF32(String name, List<Long> shape, float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            bytes.putFloat(value);
        }
        put(name, "F32", shape, bytes.array());
    }

    /** The tensor of this name, which has to be there. */
    Stored tensor(String name) {
        return Objects.requireNonNull(tensors.get(name), name);
    }

    /** Values of a BF16 tensor. */
    float[] floats(String name) {
        ByteBuffer bytes = ByteBuffer.wrap(tensor(name).bytes()).order(ByteOrder.LITTLE_ENDIAN);
        float[] values = new float[bytes.capacity() / 2];
        for (int i = 0; i < values.length; i++) {
            values[i] = Float.intBitsToFloat(bytes.getShort() << 16);
        }
        return values;
    }

    /** Writes model.safetensors and copies config.json from {@code original}. */
    Path write(Path folder, Path original) throws IOException {
        return write(folder, Files.readString(original.resolve("config.json")));
    }

    Path write(Path folder, String config) throws IOException {
        Files.createDirectories(folder);
        Map<String, Object> header = new LinkedHashMap<>();
        long offset = 0;
        for (Map.Entry<String, Stored> entry : tensors.entrySet()) {
            Stored tensor = entry.getValue();
            long end = offset + tensor.bytes().length;
            header.put(
                    entry.getKey(),
                    Map.of("dtype", tensor.dtype(), "shape", tensor.shape(), "data_offsets", List.of(offset, end)));
            offset = end;
        }
        byte[] json = new ObjectMapper().writeValueAsString(header).getBytes(StandardCharsets.UTF_8);
        try (OutputStream out = Files.newOutputStream(folder.resolve("model.safetensors"))) {
            out.write(ByteBuffer.allocate(8)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(json.length)
                    .array());
            out.write(json);
            for (Stored tensor : tensors.values()) {
                out.write(tensor.bytes());
            }
        }
        Files.writeString(folder.resolve("config.json"), config);
        return folder;
    }
}
