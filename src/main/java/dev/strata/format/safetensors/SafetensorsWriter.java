package dev.strata.format.safetensors;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Writes a safetensors file with one float32 tensor, piece by piece. The file appears under its name when all of it has been written; what
 * was written before a failure is removed.
 */
public final class SafetensorsWriter implements AutoCloseable {
    /** Slices that are passed on to the channel; a byte buffer ends at 2 GiB. */
    private static final long SLICE = 64L << 20;

    private final Path target;
    private final Path partial;
    private final FileChannel channel;
    private long missing;

    private SafetensorsWriter(Path target, Path partial, FileChannel channel, long bytes) {
        this.target = target;
        this.partial = partial;
        this.channel = channel;
        this.missing = bytes;
    }

    /**
     * Begins a file.
     *
     * @param name the tensor's name, letters, digits, dots and underscores
     */
    public static SafetensorsWriter open(Path target, String name, List<Long> shape) throws IOException {
        long bytes = Float.BYTES;
        for (long dimension : shape) {
            bytes = Math.multiplyExact(bytes, dimension);
        }
        String header =
                "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0," + bytes + "]}}";
        // Readers like the data to begin at a multiple of 8.
        String padded = header + " ".repeat(Math.floorMod(-header.length(), 8));
        ByteBuffer start = ByteBuffer.allocate(8 + padded.length()).order(ByteOrder.LITTLE_ENDIAN);
        start.putLong(padded.length())
                .put(padded.getBytes(StandardCharsets.US_ASCII))
                .flip();
        Path partial = target.resolveSibling(target.getFileName() + ".partial");
        FileChannel channel = FileChannel.open(
                partial, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING);
        writeAll(channel, start);
        return new SafetensorsWriter(target, partial, channel, bytes);
    }

    /** Adds the next values, little endian float32. */
    public void write(MemorySegment values) throws IOException {
        if (values.byteSize() > missing) {
            throw new IllegalArgumentException(
                    target + ": " + values.byteSize() + " bytes where " + missing + " are missing");
        }
        for (long at = 0; at < values.byteSize(); at += SLICE) {
            MemorySegment slice = values.asSlice(at, Math.min(SLICE, values.byteSize() - at));
            // Only native memory and byte arrays can be seen as a buffer.
            writeAll(channel, slice.isNative() ? slice.asByteBuffer() : ByteBuffer.wrap(slice.toArray(JAVA_BYTE)));
        }
        missing -= values.byteSize();
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
        if (missing == 0) {
            Files.move(partial, target, StandardCopyOption.REPLACE_EXISTING);
        } else {
            Files.deleteIfExists(partial);
        }
    }
}
