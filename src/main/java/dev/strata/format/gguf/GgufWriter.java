package dev.strata.format.gguf;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/**
 * Writes a GGUF version 3 file: the head at once, tensor data in any order and from any thread. Everything goes to a file beside the
 * target, which takes its name at {@link #commit}; without that {@link #close} removes it.
 */
public final class GgufWriter implements TensorSink, AutoCloseable {
    private final Path target;
    private final Path temporary;
    private final FileChannel channel;
    private final List<GgufTensor> tensors;
    private final long[] offsets;
    private boolean committed;

    private GgufWriter(Path target, Path temporary, FileChannel channel, List<GgufTensor> tensors, long[] offsets) {
        this.target = target;
        this.temporary = temporary;
        this.channel = channel;
        this.tensors = tensors;
        this.offsets = offsets;
    }

    /**
     * Starts a file with the default alignment of 32, or that of {@code general.alignment}.
     *
     * @throws FileAlreadyExistsException when the target is there and {@code overwrite} is not set
     */
    public static GgufWriter create(
            Path target, boolean overwrite, Map<String, GgufValue> metadata, List<GgufTensor> tensors)
            throws IOException {
        if (!overwrite && Files.exists(target)) {
            throw new FileAlreadyExistsException(target.toString());
        }
        GgufValue alignmentValue = metadata.get(GgufReader.ALIGNMENT_KEY);
        long alignment =
                alignmentValue == null ? GgufReader.DEFAULT_ALIGNMENT : ((Number) alignmentValue.value()).longValue();
        long[] offsets = new long[tensors.size()];
        long end = 0;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = end;
            end = GgufTensorReader.roundUp(Math.addExact(end, tensors.get(i).bytes()), alignment);
        }
        byte[] head = head(metadata, tensors, offsets);
        long dataOffset = GgufTensorReader.roundUp(head.length, alignment);
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] += dataOffset;
        }
        Path temporary = target.resolveSibling(target.getFileName() + ".part");
        FileChannel channel = FileChannel.open(
                temporary, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        GgufWriter writer = new GgufWriter(target, temporary, channel, List.copyOf(tensors), offsets);
        try {
            writer.writeAll(ByteBuffer.wrap(head), 0);
            if (dataOffset + end > head.length) {
                writer.writeAll(ByteBuffer.allocate(1), dataOffset + end - 1);
            }
            return writer;
        } catch (IOException exception) {
            writer.close();
            throw exception;
        }
    }

    private static byte[] head(Map<String, GgufValue> metadata, List<GgufTensor> tensors, long[] offsets) {
        GgufValue.Bytes bytes = new GgufValue.Bytes();
        bytes.int32(GgufReader.MAGIC);
        bytes.int32(3);
        bytes.int64(tensors.size());
        bytes.int64(metadata.size());
        metadata.forEach((key, value) -> {
            bytes.string(key);
            bytes.add(value.encoded());
        });
        for (int i = 0; i < offsets.length; i++) {
            GgufTensor tensor = tensors.get(i);
            bytes.string(tensor.name());
            bytes.int32(tensor.shape().size());
            tensor.shape().reversed().forEach(bytes::int64);
            bytes.int32(tensor.type().id());
            bytes.int64(offsets[i]);
        }
        return bytes.toArray();
    }

    @Override
    public List<GgufTensor> tensors() {
        return tensors;
    }

    @Override
    public void write(int index, long offset, ByteBuffer bytes) throws IOException {
        if (offset < 0 || bytes.remaining() > tensors.get(index).bytes() - offset) {
            throw new IllegalArgumentException(bytes.remaining() + " bytes at " + offset + " do not fit into tensor "
                    + tensors.get(index).name());
        }
        writeAll(bytes, offsets[index] + offset);
    }

    private void writeAll(ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
    }

    /** Finishes the file and gives it its name. */
    public void commit() throws IOException {
        channel.force(true);
        channel.close();
        Files.move(temporary, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        committed = true;
    }

    @Override
    public void close() throws IOException {
        channel.close();
        if (!committed) {
            Files.deleteIfExists(temporary);
        }
    }
}
