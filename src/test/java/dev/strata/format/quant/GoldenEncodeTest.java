package dev.strata.format.quant;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.Shared;
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

/** The error of encoding ggml's test matrix, against the error of ggml's own quantizer on it. */
class GoldenEncodeTest {
    /** How much worse than ggml's quantizer is accepted. */
    private static final double SLACK = 1.0005;

    static Stream<Map<String, Object>> types() {
        List<Object> types = JsonFile.list(JsonFile.read(Shared.require("golden/quant/index.json")), "types");
        return types.stream()
                .map(JsonFile::asObject)
                .filter(type -> Quants.canEncode(QuantType.valueOf(JsonFile.text(type, "type"))));
    }

    @ParameterizedTest
    @MethodSource("types")
    void errorIsNoLargerThanThatOfTheReference(Map<String, Object> described) {
        QuantType type = QuantType.valueOf(JsonFile.text(described, "type"));
        Path path = Shared.require("golden/quant/" + described.get("file"));
        double reference = described.get("rmse_vs_source") instanceof Double value ? value : Double.NaN;
        float[] source;
        try (ModelFiles file = SafetensorsModelFiles.open(path)) {
            source = TensorValues.floats(file, "source");
        }
        byte[] blocks = new byte[Math.toIntExact(type.bytes(source.length))];
        Quants.encode(type, source, 0, source.length, MemorySegment.ofArray(blocks), 0);
        float[] decoded = new float[source.length];
        Quants.decode(type, MemorySegment.ofArray(blocks), 0, decoded, 0, decoded.length);
        double sum = 0;
        for (int i = 0; i < source.length; i++) {
            double difference = source[i] - decoded[i];
            sum += difference * difference;
        }
        double error = Math.sqrt(sum / source.length);
        assertTrue(error <= reference * SLACK, () -> type + ": rmse " + error + " and reference " + reference);
    }
}
