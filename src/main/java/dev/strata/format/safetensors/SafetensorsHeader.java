package dev.strata.format.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.strata.format.MappedFile;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The header of one safetensors file: eight bytes of length, then a JSON object of tensors, then data without holes.
 *
 * @param tensors in the order of their data, with absolute offsets
 */
public record SafetensorsHeader(List<TensorEntry> tensors) {
    private static final ValueLayout.OfLong LENGTH = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int LENGTH_BYTES = 8;

    /** The format's own limit. */
    private static final long LONGEST = 100_000_000;

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private record Described(
            @Nullable String dtype,
            @Nullable List<Long> shape,
            @Nullable List<Long> offsets) {}

    /**
     * Reads and checks a header.
     *
     * @throws ModelFormatException naming file, tensor and offsets at the first fault
     */
    public static SafetensorsHeader read(MappedFile file) {
        if (file.size() < LENGTH_BYTES) {
            throw error(file, "the file has " + file.size() + " bytes, too few for a safetensors header");
        }
        long length = file.bytes().get(LENGTH, 0);
        if (length < 2 || length > LONGEST || length > file.size() - LENGTH_BYTES) {
            throw error(
                    file,
                    "header length " + Long.toUnsignedString(length) + " at offset 0 is impossible with the file size "
                            + file.size() + " (limit " + LONGEST
                            + "); the file is damaged or its download is incomplete");
        }
        byte[] json = new byte[(int) length];
        java.lang.foreign.MemorySegment.copy(file.bytes(), ValueLayout.JAVA_BYTE, LENGTH_BYTES, json, 0, json.length);
        List<TensorEntry> tensors = new ArrayList<>();
        try (JsonParser parser = JSON.createParser(json)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw error(file, "the header at offset 8 is not a JSON object");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                parser.nextToken();
                if (name.equals("__metadata__")) {
                    checkMetadata(file, parser);
                } else {
                    tensors.add(entry(file, name, describe(file, name, parser), LENGTH_BYTES + length));
                }
            }
        } catch (JsonProcessingException exception) {
            throw error(
                    file,
                    "the header is not valid JSON " + position(exception) + ": " + exception.getOriginalMessage());
        } catch (IOException exception) {
            throw error(file, "the header cannot be parsed: " + exception.getMessage());
        }
        tensors.sort(Comparator.comparingLong(TensorEntry::offset).thenComparingLong(TensorEntry::bytes));
        rejectOverlapsAndHoles(file, tensors, LENGTH_BYTES + length);
        return new SafetensorsHeader(Collections.unmodifiableList(tensors));
    }

    private static String position(JsonProcessingException exception) {
        long offset = exception.getLocation() == null
                ? 0
                : Math.max(0, exception.getLocation().getByteOffset());
        return "at JSON position " + offset + " (file offset " + (LENGTH_BYTES + offset) + ")";
    }

    private static void checkMetadata(MappedFile file, JsonParser parser) throws IOException {
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw error(file, "__metadata__ is not a JSON object");
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String key = parser.currentName();
            if (!parser.nextToken().isScalarValue()) {
                throw error(file, "__metadata__ key " + key + " is not a string");
            }
        }
    }

    private static Described describe(MappedFile file, String name, JsonParser parser) throws IOException {
        String dtype = null;
        List<Long> shape = null;
        List<Long> offsets = null;
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw error(file, "tensor " + name + " is not described by a JSON object");
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String field = parser.currentName();
            JsonToken token = parser.nextToken();
            switch (field) {
                case "dtype" -> dtype = token == JsonToken.VALUE_STRING ? parser.getText() : null;
                case "shape" -> shape = numbers(file, name, field, parser);
                case "data_offsets" -> offsets = numbers(file, name, field, parser);
                default -> parser.skipChildren();
            }
        }
        return new Described(dtype, shape, offsets);
    }

    private static List<Long> numbers(MappedFile file, String name, String field, JsonParser parser)
            throws IOException {
        List<Long> values = new ArrayList<>(4);
        if (parser.currentToken() != JsonToken.START_ARRAY) {
            throw error(file, "tensor " + name + ": " + field + " is not a list");
        }
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT
                    || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                    || parser.getLongValue() < 0) {
                throw error(
                        file,
                        "tensor " + name + ": " + field + " holds " + parser.getText()
                                + " where a number of 0 to 2^63-1 is needed");
            }
            values.add(parser.getLongValue());
        }
        return List.copyOf(values);
    }

    private static ModelFormatException misplaced(
            MappedFile file, TensorEntry tensor, String how, @Nullable TensorEntry before, long dataOffset) {
        long end = before == null ? 0 : before.offset() + before.bytes() - dataOffset;
        return error(
                file,
                "the offsets of tensor " + tensor.name() + " begin at " + (tensor.offset() - dataOffset) + ", " + how
                        + " " + (before == null ? "the header" : "tensor " + before.name()) + ", which ends at " + end);
    }

    private static TensorEntry entry(MappedFile file, String name, Described tensor, long dataOffset) {
        if (tensor.dtype == null || tensor.shape == null || tensor.offsets == null || tensor.offsets.size() != 2) {
            throw error(file, "tensor " + name + " lacks its dtype, shape or pair of data_offsets");
        }
        String dtype = tensor.dtype;
        SafetensorsType type = SafetensorsType.byName(dtype)
                .orElseThrow(() -> error(file, "tensor " + name + " has the unknown dtype " + dtype));
        long begin = tensor.offsets.getFirst();
        long end = tensor.offsets.getLast();
        long available = file.size() - dataOffset;
        if (begin > end || end > available) {
            throw error(
                    file,
                    "tensor " + name + " has the data offsets " + tensor.offsets + ", impossible in a data section of "
                            + available + " bytes");
        }
        long needed;
        try {
            needed = type.bytes();
            for (long dimension : tensor.shape) {
                needed = Math.multiplyExact(needed, dimension);
            }
        } catch (ArithmeticException overflow) {
            throw error(file, "tensor " + name + " has the shape " + tensor.shape + ", more bytes than 64 bits count");
        }
        if (needed != end - begin) {
            throw error(
                    file,
                    "tensor " + name + ": shape " + tensor.shape + " of " + dtype + " needs " + needed
                            + " bytes, its offsets " + tensor.offsets + " span " + (end - begin));
        }
        return new TensorEntry(name, type.carrier(), dtype, tensor.shape, file.path(), dataOffset + begin, end - begin);
    }

    private static void rejectOverlapsAndHoles(MappedFile file, List<TensorEntry> tensors, long dataOffset) {
        // A tensor that lies over another one left a hole where it belongs; the overlap names the one at fault.
        for (int i = 1; i < tensors.size(); i++) {
            TensorEntry before = tensors.get(i - 1);
            if (tensors.get(i).offset() < before.offset() + before.bytes()) {
                throw misplaced(file, tensors.get(i), "inside", before, dataOffset);
            }
        }
        long end = dataOffset;
        for (int i = 0; i < tensors.size(); i++) {
            TensorEntry tensor = tensors.get(i);
            if (tensor.offset() != end) {
                throw misplaced(file, tensor, "leaving a hole after", i == 0 ? null : tensors.get(i - 1), dataOffset);
            }
            end = tensor.offset() + tensor.bytes();
        }
        if (end != file.size()) {
            throw error(
                    file,
                    "the file size is " + file.size() + " but "
                            + (tensors.isEmpty()
                                    ? "the header"
                                    : "tensor " + tensors.getLast().name()) + " ends at " + end
                            + "; the bytes after it belong to no tensor");
        }
    }

    private static ModelFormatException error(MappedFile file, String message) {
        return new ModelFormatException(file.path() + ": " + message);
    }
}
