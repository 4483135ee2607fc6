package dev.strata.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Texts become the JSON that Jackson makes of them, and chunks have the right frames wherever they are put. */
final class PendingBytesTest {
    @Test
    void textIsWrittenAsJacksonWritesIt() {
        PendingBytes bytes = new PendingBytes();
        for (int unit = 0; unit <= 0xffff; unit++) {
            // Halves of pairs alone, too.
            check(bytes, "a" + (char) unit);
        }
        Random random = new Random(7);
        for (int i = 0; i < 1000; i++) {
            StringBuilder text = new StringBuilder();
            random.ints(random.nextInt(200))
                    .forEach(any -> text.appendCodePoint(
                            any % 3 == 0
                                    ? random.nextInt(0x80)
                                    : any % 3 == 1 ? random.nextInt(0x110000) : 0xd800 + random.nextInt(0x800)));
            check(bytes, text.toString());
        }
    }

    private static void check(PendingBytes bytes, String text) {
        bytes.addJson(text);
        assertArrayEquals(Json.bytes(text), bytes.take());
    }

    @Test
    void numbersAreDecimal() {
        PendingBytes bytes = new PendingBytes();
        for (int number : new int[] {0, 9, 10, 99, 100, 1_234_567, Integer.MAX_VALUE}) {
            bytes.addNumber(number);
            assertEquals(Integer.toString(number), new String(bytes.take(), StandardCharsets.US_ASCII));
        }
    }

    @Test
    void chunksHaveFrames() {
        for (int size : new int[] {1, 9, 10, 15, 16, 255, 256, 4095, 4096, 100_000}) {
            byte[] content = "x".repeat(size).getBytes(StandardCharsets.US_ASCII);
            byte[] chunk = (Integer.toHexString(size) + "\r\n" + "x".repeat(size) + "\r\n")
                    .getBytes(StandardCharsets.US_ASCII);
            PendingBytes bytes = new PendingBytes();
            bytes.add(content);
            ByteBuf out = Unpooled.buffer();
            bytes.moveAsChunk(out);
            assertArrayEquals(chunk, ByteBufUtil.getBytes(out));
            bytes.add(content);
            ByteBuffer memory = ByteBuffer.allocateDirect(3 + size + PendingBytes.FRAME);
            assertEquals(chunk.length, bytes.moveAsChunk(memory, 3));
            byte[] moved = new byte[chunk.length];
            memory.get(3, moved);
            assertArrayEquals(chunk, moved);
            assertEquals(0, bytes.size());
        }
    }

    @Test
    void borrowedMemoryLosesNothing() {
        byte[] shared = new byte[1000];
        for (int size : new int[] {0, 3, 700, 988, 989, 1000, 5000}) {
            byte[] content = "y".repeat(size).getBytes(StandardCharsets.US_ASCII);
            PendingBytes bytes = new PendingBytes();
            bytes.borrow(shared);
            bytes.add(content);
            bytes.giveBack();
            Arrays.fill(shared, (byte) 0);
            bytes.add(new byte[] {'z'});
            assertEquals("y".repeat(size) + "z", new String(bytes.take(), StandardCharsets.US_ASCII));
        }
    }
}
