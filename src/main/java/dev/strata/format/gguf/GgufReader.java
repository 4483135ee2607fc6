package dev.strata.format.gguf;

import dev.strata.format.MappedFile;
import dev.strata.format.TensorEntry;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Reads and checks what stands before the data of one GGUF file. */
public final class GgufReader {
    static final int MAGIC = 0x46554747; // "GGUF"
    static final String ALIGNMENT_KEY = "general.alignment";
    static final long DEFAULT_ALIGNMENT = 32;

    private static final int LEAST_PAIR_BYTES = 8 + 4 + 1;

    private GgufReader() {}

    /**
     * Reads the header of a mapped file.
     *
     * @throws dev.strata.format.ModelFormatException naming file, key or tensor and offset at the first fault
     */
    public static GgufHeader read(MappedFile file) {
        GgufCursor cursor = new GgufCursor(file);
        if (file.size() == 0) {
            throw cursor.error("the file has 0 bytes; download or convert it again");
        }
        int magic = cursor.int32("the magic");
        if (magic != MAGIC) {
            throw cursor.error(
                    String.format("the magic at offset 0 is 0x%08x, not that of GGUF; is this a GGUF file?", magic));
        }
        int version = cursor.int32("the version");
        if (version != 2 && version != 3) {
            boolean swapped = Integer.reverseBytes(version) == 2 || Integer.reverseBytes(version) == 3;
            throw cursor.error("version " + Integer.toUnsignedString(version) + " at offset 4 is not supported"
                    + (swapped ? " (a big-endian file)" : "; versions 2 and 3, little endian, are"));
        }
        long tensorCount = cursor.int64("tensor count");
        long pairCount = cursor.count("kv count", LEAST_PAIR_BYTES);
        if (tensorCount < 0 || tensorCount > cursor.remaining() / GgufTensorReader.LEAST_INFO_BYTES) {
            throw cursor.error("tensor count " + Long.toUnsignedString(tensorCount)
                    + " at offset 8 does not fit into a file of " + file.size() + " bytes");
        }
        Map<String, Object> metadata = GgufMetadataReader.read(cursor, pairCount);
        long alignment = alignment(cursor, metadata);
        List<TensorEntry> tensors = new GgufTensorReader(cursor, file.path()).read(tensorCount, alignment, file.size());
        return new GgufHeader(Collections.unmodifiableMap(metadata), Collections.unmodifiableList(tensors));
    }

    private static long alignment(GgufCursor cursor, Map<String, Object> metadata) {
        Object value = metadata.getOrDefault(ALIGNMENT_KEY, DEFAULT_ALIGNMENT);
        if (!(value instanceof Long alignment) || alignment <= 0 || alignment % 8 != 0 || alignment > 1 << 30) {
            throw cursor.error(
                    "key " + ALIGNMENT_KEY + " has the value " + value + "; a positive multiple of 8 is needed");
        }
        return alignment;
    }
}
