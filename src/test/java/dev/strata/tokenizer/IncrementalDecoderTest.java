package dev.strata.tokenizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class IncrementalDecoderTest {
    @Test
    void neverGivesHalfACharacter() {
        byte[] bytes = "aé日😀".getBytes(StandardCharsets.UTF_8);
        IncrementalDecoder decoder = new IncrementalDecoder();
        StringBuilder text = new StringBuilder();
        for (byte value : bytes) {
            String piece = decoder.push(new byte[] {value});
            assertFalse(piece.contains("\uFFFD"));
            text.append(piece);
        }
        assertEquals("aé日😀", text.toString());
        assertFalse(decoder.holds());
    }

    @Test
    void randomBytesDecodeAsTheJdkDoesHoweverTheyAreCut() {
        Random random = new Random(3);
        byte[] likely = {
            'a',
            (byte) 0xC3,
            (byte) 0xA9,
            (byte) 0xE0,
            (byte) 0xA0,
            (byte) 0xED,
            (byte) 0x9F,
            (byte) 0xF0,
            (byte) 0x9F,
            (byte) 0x98,
            (byte) 0x80,
            (byte) 0xF4,
            (byte) 0x8F,
            (byte) 0xFF,
            (byte) 0xC0
        };
        for (int round = 0; round < 8_000; round++) {
            byte[] bytes = new byte[random.nextInt(12)];
            for (int index = 0; index < bytes.length; index++) {
                bytes[index] =
                        random.nextInt(4) == 0 ? (byte) random.nextInt(256) : likely[random.nextInt(likely.length)];
            }
            if (hasSurrogate(bytes)) {
                continue;
            }
            IncrementalDecoder decoder = new IncrementalDecoder();
            StringBuilder text = new StringBuilder();
            for (int at = 0; at < bytes.length; ) {
                int next = Math.min(bytes.length, at + random.nextInt(1, 4));
                text.append(decoder.push(Arrays.copyOfRange(bytes, at, next)));
                at = next;
            }
            text.append(decoder.replaceRest());
            assertEquals(new String(bytes, StandardCharsets.UTF_8), text.toString(), () -> Arrays.toString(bytes));
        }
    }

    /** The JDK takes an encoded surrogate as one unit where Unicode recommends one replacement for each byte. */
    private static boolean hasSurrogate(byte[] bytes) {
        for (int index = 0; index + 1 < bytes.length; index++) {
            if (bytes[index] == (byte) 0xED && (bytes[index + 1] & 0xE0) == 0xA0) {
                return true;
            }
        }
        return false;
    }

    @Test
    void whatWasCutIsDropped() {
        IncrementalDecoder decoder = new IncrementalDecoder();
        assertEquals("x", decoder.push(new byte[] {'x', (byte) 0xF0, (byte) 0x9F}));
        assertTrue(decoder.holds());
        decoder.dropRest();
        assertEquals("y", decoder.push(new byte[] {'y'}));
    }

    @Test
    void garbageCannotStallTheText() {
        IncrementalDecoder decoder = new IncrementalDecoder();
        for (int round = 0; round < 1000; round++) {
            assertEquals("\uFFFD", decoder.push(new byte[] {(byte) 0x80}));
        }
    }
}
