package dev.strata.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.safetensors.JsonFile;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class QuantsTest {
    static Stream<Map<String, Object>> blocks() throws IOException {
        try (InputStream stream = QuantsTest.class.getResourceAsStream("/quant/blocks.json")) {
            if (stream == null) {
                throw new IOException("no /quant/blocks.json");
            }
            String json = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
            List<Object> types = JsonFile.list(JsonFile.parse("blocks.json", json), "types");
            assertEquals(27, types.size());
            return types.stream().map(JsonFile::asObject);
        }
    }

    static Stream<QuantType> encodable() {
        return Arrays.stream(QuantType.values()).filter(Quants::canEncode);
    }

    /** Random blocks, among them extreme scales, against digests of ggml's values. */
    @ParameterizedTest
    @MethodSource("blocks")
    void valuesAreThoseOfTheReference(Map<String, Object> described) throws NoSuchAlgorithmException {
        QuantType type = QuantType.valueOf(JsonFile.text(described, "type"));
        byte[] blocks = Base64.getDecoder().decode(JsonFile.text(described, "blocks"));
        float[] values = new float[1024];
        Quants.decode(type, MemorySegment.ofArray(blocks), 0, values, 0, values.length);
        ByteBuffer bytes = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes.array());
        assertEquals(described.get("sha256"), HexFormat.of().formatHex(digest), type.name());
    }

    @ParameterizedTest
    @MethodSource("encodable")
    void zerosStayZeros(QuantType type) {
        float[] decoded = roundTrip(type, new float[512]);
        for (float value : decoded) {
            assertEquals(0, Math.abs(value), type.name());
        }
    }

    /** What was decoded once can be stored again in the same type with next to no further error. */
    @ParameterizedTest
    @MethodSource("encodable")
    void encodingIsNearlyIdempotent(QuantType type) {
        Random random = new Random(7);
        float[] source = new float[1024];
        for (int i = 0; i < source.length; i++) {
            source[i] = (float) random.nextGaussian() * 0.02f;
        }
        float[] once = roundTrip(type, source);
        float[] twice = roundTrip(type, once);
        assertTrue(distance(once, twice) <= 0.5 * distance(source, once) + 1e-12, type.name());
        assertTrue(distance(source, once) < squares(source), type.name());
    }

    @ParameterizedTest
    @MethodSource("encodable")
    void tinyAndHugeNumbersStayFinite(QuantType type) {
        for (float scale : new float[] {1e-30f, 1e-6f, 3e4f}) {
            float[] source = new float[512];
            for (int i = 0; i < source.length; i++) {
                source[i] = scale * (i % 7 - 3) / 3;
            }
            for (float value : roundTrip(type, source)) {
                assertTrue(Float.isFinite(value), () -> type + " at " + scale + ": " + value);
            }
        }
    }

    @Test
    void bfloat16RoundsToEven() {
        float[] values = {1.00390625f, 1.01171875f, Float.NaN, Float.NEGATIVE_INFINITY};
        float[] decoded = roundTrip(QuantType.BF16, values);
        assertArrayEquals(new float[] {1f, 1.015625f, Float.NaN, Float.NEGATIVE_INFINITY}, decoded);
    }

    @Test
    void partialBlocksAreRefused() {
        MemorySegment bytes = MemorySegment.ofArray(new byte[100]);
        assertThrows(
                IllegalArgumentException.class, () -> Quants.decode(QuantType.Q8_0, bytes, 0, new float[40], 0, 40));
        assertThrows(
                IllegalArgumentException.class, () -> Quants.encode(QuantType.IQ1_S, new float[256], 0, 256, bytes, 0));
    }

    private static float[] roundTrip(QuantType type, float[] source) {
        MemorySegment blocks = MemorySegment.ofArray(new byte[Math.toIntExact(type.bytes(source.length))]);
        Quants.encode(type, source, 0, source.length, blocks, 0);
        float[] decoded = new float[source.length];
        Quants.decode(type, blocks, 0, decoded, 0, decoded.length);
        return decoded;
    }

    private static double distance(float[] one, float[] other) {
        double sum = 0;
        for (int i = 0; i < one.length; i++) {
            sum += (double) (one[i] - other[i]) * (one[i] - other[i]);
        }
        return sum;
    }

    private static double squares(float[] values) {
        return distance(values, new float[values.length]);
    }
}
