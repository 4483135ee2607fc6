package dev.strata.format.gguf;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the key-value pairs at the head of a GGUF file. */
final class GgufMetadataReader {
    /** No known file nests arrays at all; the limit keeps a damaged one from exhausting the stack. */
    private static final int DEEPEST_NESTING = 4;

    private GgufMetadataReader() {}

    static Map<String, Object> read(GgufCursor cursor, long count) {
        Map<String, Object> metadata = new LinkedHashMap<>();
        for (long i = 0; i < count; i++) {
            long at = cursor.position();
            String key = cursor.name("key " + i + " of " + count);
            Object value = value(cursor, key, type(cursor, key), 0);
            if (metadata.putIfAbsent(key, value) != null) {
                throw cursor.error("key " + key + " occurs twice, the second time at offset " + at);
            }
        }
        return metadata;
    }

    private static GgufValueType type(GgufCursor cursor, String key) {
        long at = cursor.position();
        int id = cursor.int32("the type of key " + key);
        return GgufValueType.byId(id)
                .orElseThrow(() -> cursor.error("key " + key + " has the unknown value type "
                        + Integer.toUnsignedString(id) + " at offset " + at));
    }

    private static Object value(GgufCursor cursor, String key, GgufValueType type, int depth) {
        String what = "key " + key;
        return switch (type) {
            case UINT8 -> (long) (cursor.int8(what) & 0xff);
            case INT8 -> (long) cursor.int8(what);
            case UINT16 -> (long) (cursor.int16(what) & 0xffff);
            case INT16 -> (long) cursor.int16(what);
            case UINT32 -> Integer.toUnsignedLong(cursor.int32(what));
            case INT32 -> (long) cursor.int32(what);
            case UINT64, INT64 -> cursor.int64(what);
            case FLOAT32 -> (double) cursor.float32(what);
            case FLOAT64 -> cursor.float64(what);
            case BOOL -> cursor.int8(what) != 0;
            case STRING -> cursor.text(what);
            case ARRAY -> array(cursor, key, depth);
        };
    }

    private static List<Object> array(GgufCursor cursor, String key, int depth) {
        if (depth == DEEPEST_NESTING) {
            throw cursor.error("key " + key + " nests arrays too deeply at offset " + cursor.position());
        }
        GgufValueType type = type(cursor, key);
        long count = cursor.count("the array length of key " + key, type.leastBytes());
        if (count > Integer.MAX_VALUE - 16) {
            throw cursor.error("key " + key + " has an array of " + count + " elements, too many to hold");
        }
        List<Object> values = new ArrayList<>((int) count);
        for (long i = 0; i < count; i++) {
            values.add(value(cursor, key, type, depth + 1));
        }
        return Collections.unmodifiableList(values);
    }
}
