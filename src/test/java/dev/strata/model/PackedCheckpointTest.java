package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.MappedExpertSource;
import dev.strata.expert.StoredExperts;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.TypePlan;
import dev.strata.format.pack.PackLayout;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * FP8 and NVFP4 checkpoints: a model whose matrices are packed gives the logits of one that stores what the packed values stand for.
 */
class PackedCheckpointTest {
    private static final float[] E2M1 = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    private static final Path ORIGINAL = GoldenModels.folder("qwen3_5_moe");
    private static final int[] PROMPT = {161, 176, 229, 149, 199, 213, 59};

    @TempDir
    Path folder;

    enum Fp8Scales {
        TENSOR,
        ROW,
        TILE
    }

    @ParameterizedTest
    @EnumSource
    void fp8(Fp8Scales kind) throws IOException {
        SafetensorsFolder packed = SafetensorsFolder.read(ORIGINAL);
        SafetensorsFolder plain = SafetensorsFolder.read(ORIGINAL);
        for (String name : List.copyOf(plain.tensors.keySet())) {
            if (isMatrix(name)) {
                packFp8(name, kind, packed, plain);
            }
        }
        assertSameLogits(packed, plain);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void nvfp4(boolean modelOpt) throws IOException {
        SafetensorsFolder packed = SafetensorsFolder.read(ORIGINAL);
        SafetensorsFolder plain = SafetensorsFolder.read(ORIGINAL);
        int count = 0;
        for (String name : List.copyOf(plain.tensors.keySet())) {
            // Rows of the other matrices are shorter than a block of 64.
            if (isMatrix(name) && plain.tensor(name).shape().getLast() % 64 == 0) {
                packNvfp4(name, modelOpt, packed, plain);
                count++;
            }
        }
        assertTrue(count > 60, "packed " + count);
        assertSameLogits(packed, plain);
    }

    private static boolean isMatrix(String name) {
        return name.endsWith("_proj.weight");
    }

    private static void packFp8(String name, Fp8Scales kind, SafetensorsFolder packed, SafetensorsFolder plain) {
        List<Long> shape = plain.tensor(name).shape();
        int rows = shape.getFirst().intValue();
        int columns = shape.getLast().intValue();
        int rowStep = kind == Fp8Scales.TILE ? 128 : kind == Fp8Scales.ROW ? 1 : rows;
        int tiles = kind == Fp8Scales.TILE ? Math.ceilDiv(columns, 128) : 1;
        int columnStep = kind == Fp8Scales.TILE ? 128 : columns;
        float[] scales = new float[Math.ceilDiv(rows, rowStep) * tiles];
        for (int i = 0; i < scales.length; i++) {
            scales[i] = 0.001f * (1 + i % 7);
        }
        float[] values = plain.floats(name);
        byte[] codes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            float scale = scales[i / columns / rowStep * tiles + i % columns / columnStep];
            int code = fp8(values[i] / scale);
            codes[i] = (byte) code;
            values[i] = fp8Value(code) * scale;
        }
        plain.putBf16(name, shape, values);
        packed.put(name, "F8_E4M3", shape, codes);
        List<Long> scaleShape = switch (kind) {
            case TENSOR -> List.of(1L);
            case ROW -> List.of((long) rows, 1L);
            case TILE -> List.of((long) scales.length / tiles, (long) tiles);
        };
        packed.putF32(name + (kind == Fp8Scales.TILE ? "_scale_inv" : "_scale"), scaleShape, scales);
    }

    /** The nearest E4M3 number. */
    private static int fp8(float value) {
        float size = Math.min(Math.abs(value), 448);
        int exponent = Math.max(Math.getExponent(size), -6);
        int steps = (int) Math.rint(Math.scalb(size, 3 - exponent));
        int code = exponent == -6 ? steps : (exponent + 7 << 3) + steps - 8;
        return value < 0 ? code | 128 : code;
    }

    private static float fp8Value(int code) {
        int exponent = code >> 3 & 15;
        double size = exponent == 0 ? (code & 7) / 512.0 : (1 + (code & 7) / 8.0) * Math.pow(2, exponent - 7);
        return (float) (code >= 128 ? -size : size);
    }

    private static void packNvfp4(String name, boolean modelOpt, SafetensorsFolder packed, SafetensorsFolder plain) {
        List<Long> shape = plain.tensor(name).shape();
        float[] values = plain.floats(name);
        byte[] codes = new byte[values.length / 2];
        byte[] scales = new byte[values.length / 16];
        float factor = 0.0078125f;
        for (int group = 0; group < scales.length; group++) {
            float largest = 0;
            for (int i = 0; i < 16; i++) {
                largest = Math.max(largest, Math.abs(values[group * 16 + i]));
            }
            scales[group] = (byte) fp8(largest / 6 / factor);
            float scale = fp8Value(scales[group]) * factor;
            for (int i = 0; i < 16; i++) {
                int at = group * 16 + i;
                int code = e2m1(values[at] / scale);
                codes[at / 2] |= (byte) (code << 4 * (at % 2));
                values[at] = (code > 7 ? -E2M1[code - 8] : E2M1[code]) * scale;
            }
        }
        long rows = shape.getFirst();
        long columns = shape.getLast();
        plain.putF32(name, shape, values);
        packed.tensors.remove(name);
        packed.put(name + (modelOpt ? "" : "_packed"), "U8", List.of(rows, columns / 2), codes);
        packed.put(name + "_scale", "F8_E4M3", List.of(rows, columns / 16), scales);
        if (modelOpt) {
            packed.putF32(name + "_scale_2", List.of(), factor);
        } else {
            packed.putF32(name + "_global_scale", List.of(1L), 1 / factor);
        }
    }

    private static int e2m1(float value) {
        int best = 0;
        for (int i = 1; i < 8; i++) {
            if (Math.abs(E2M1[i] - Math.abs(value)) < Math.abs(E2M1[best] - Math.abs(value))) {
                best = i;
            }
        }
        return value < 0 ? best + 8 : best;
    }

    private void assertSameLogits(SafetensorsFolder packed, SafetensorsFolder plain) throws IOException {
        float[][] expected = logits(plain.write(folder.resolve("plain"), ORIGINAL));
        float[][] actual = logits(packed.write(folder.resolve("packed"), ORIGINAL));
        for (int i = 0; i < expected.length; i++) {
            assertArrayEquals(expected[i], actual[i], 2e-5f, "position " + i);
        }
        assertConvertedAlike(expected);
        assertReadFromFiles(folder.resolve("packed"));
    }

    /** Blobs made from reads of the files are those made from the mapped tensors. */
    static void assertReadFromFiles(Path model) {
        try (ModelFiles files = ModelFileOpener.open(model);
                Arena arena = Arena.ofShared()) {
            List<StoredExperts> stored = ExpertTensors.find(files, ModelConfigReader.hyperparameters(files));
            MappedExpertSource mapped = new MappedExpertSource(stored);
            List<BlobSlices> slices = stored.stream()
                    .map(layer -> BlobSlices.of(layer, files.files()))
                    .toList();
            try (FileExpertSource read = FileExpertSource.open(files.files(), slices, true, 4)) {
                for (int layer = 0; layer < mapped.layers(); layer++) {
                    int experts = mapped.layout(layer).experts();
                    MemorySegment[] targets = new MemorySegment[experts];
                    for (int expert = 0; expert < experts; expert++) {
                        targets[expert] = arena.allocate(mapped.layout(layer).blobBytes(), 64);
                    }
                    read.copyBlobs(layer, 0, experts, targets);
                    for (int expert = 0; expert < experts; expert++) {
                        MemorySegment blob = arena.allocate(mapped.layout(layer).blobBytes(), 64);
                        mapped.copyBlob(layer, expert, blob);
                        assertEquals(-1, blob.mismatch(targets[expert]), "layer " + layer + ", expert " + expert);
                    }
                }
                assertTrue(read.counters().requests() > 0);
            }
        }
    }

    /** Packed matrices are converted to what they stand for; NVFP4 experts keep their blocks and factors. */
    private void assertConvertedAlike(float[][] expected) throws IOException {
        Path target = folder.resolve("converted.gguf");
        boolean nvfp4;
        try (ModelFiles files = ModelFileOpener.open(folder.resolve("packed"))) {
            nvfp4 = files.tensors().stream().anyMatch(tensor -> tensor.dtype().equals("U8"));
            TypePlan types = TypePlan.parse(nvfp4 ? "F32,experts=keep" : "keep");
            Conversion.of(files, types).run(target, false, 2, (bytes, tensor) -> {});
        }
        try (ModelFiles files = ModelFileOpener.open(target)) {
            assertEquals(nvfp4, files.find("blk.0.ffn_up_exps.scale").isPresent());
        }
        float[][] actual = logits(target);
        for (int i = 0; i < expected.length; i++) {
            assertArrayEquals(expected[i], actual[i], 2e-4f, "converted, position " + i);
        }
        assertPackedAlike(target, actual);
    }

    /** A pack holds the same matrices and factors, an expert's together. */
    private void assertPackedAlike(Path model, float[][] expected) throws IOException {
        Path pack = folder.resolve("pack.gguf");
        try (ModelFiles files = ModelFileOpener.open(model)) {
            Conversion.of(files, TypePlan.parse("keep")).pack(pack, false, 2, (bytes, tensor) -> {});
        }
        float[][] actual = logits(pack);
        for (int i = 0; i < expected.length; i++) {
            assertArrayEquals(expected[i], actual[i], "packed, position " + i);
        }
        assertReadFromFiles(pack);
        try (ModelFiles files = ModelFileOpener.open(pack)) {
            TensorEntry experts = files.find(PackLayout.name(0)).orElseThrow();
            assertEquals(0, experts.offset() % PackLayout.BORDER);
            assertEquals(0, experts.rowElements() % PackLayout.BORDER);
            assertThrows(ModelFormatException.class, () -> Conversion.of(files, TypePlan.parse("keep")));
        }
    }

    private static float[][] logits(Path model) {
        try (ModelFiles files = ModelFileOpener.open(model);
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model loaded = ModelLoader.load(files, backend, new ModelOptions(8, 1, 1, KvFormat.F32, false))) {
            return new LogitsRunner(loaded).append(PROMPT, 8);
        }
    }

    @Test
    void missingScalesAreNamed() throws IOException {
        SafetensorsFolder packed = SafetensorsFolder.read(ORIGINAL);
        String name = "model.layers.0.mlp.experts.2.up_proj.weight";
        packFp8(name, Fp8Scales.TENSOR, packed, SafetensorsFolder.read(ORIGINAL));
        packed.tensors.remove(name + "_scale");
        Path model = packed.write(folder.resolve("broken"), ORIGINAL);
        ModelFormatException refused = assertThrows(ModelFormatException.class, () -> logits(model));
        assertTrue(String.valueOf(refused.getMessage()).contains(name));
    }
}
