package dev.strata.format.quant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.Shared;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorValues;
import dev.strata.format.safetensors.JsonFile;
import dev.strata.format.safetensors.SafetensorsModelFiles;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Real and random blocks of every type against ggml's own decoder. */
class GoldenDecodeTest {
    static Stream<Map<String, Object>> types() {
        Path index = Shared.require("golden/quant/index.json");
        List<Object> types = JsonFile.list(JsonFile.read(index), "types");
        assertTrue(types.size() >= 26, "index lists " + types.size() + " types");
        return types.stream().map(GoldenDecodeTest::object);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @ParameterizedTest
    @MethodSource("types")
    void decodesBitForBit(Map<String, Object> described) {
        QuantType type = QuantType.valueOf(JsonFile.text(described, "type"));
        assertEquals((long) type.id(), described.get("ggml_type_id"));
        assertEquals((long) type.blockBytes(), described.get("block_bytes"));
        assertEquals((long) type.blockElements(), described.get("block_elements"));
        Path path = Shared.require("golden/quant/" + described.get("file"));
        try (ModelFiles file = SafetensorsModelFiles.open(path)) {
            for (String kind : List.of("q", "r")) {
                TensorEntry blocks = file.find(kind + "_blocks").orElseThrow();
                float[] expected = TensorValues.floats(file, kind + "_dequant");
                assertEquals(type.bytes(expected.length), blocks.bytes());
                MemorySegment bytes = file.data(blocks);
                float[] actual = new float[expected.length];
                Quants.decode(type, bytes, 0, actual, 0, actual.length);
                for (int i = 0; i < expected.length; i++) {
                    int at = i;
                    assertEquals(
                            Float.floatToRawIntBits(expected[i]),
                            Float.floatToRawIntBits(actual[i]),
                            () -> type + " " + kind + " element " + at + ": " + expected[at] + " and " + actual[at]);
                }
            }
        }
    }
}
