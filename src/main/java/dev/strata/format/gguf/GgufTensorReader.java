package dev.strata.format.gguf;

import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Reads tensor infos and checks that the tensors they describe lie in the file, aligned and apart from each other. */
final class GgufTensorReader {
    /** Name length, dimension count, one dimension, type and offset: what an info takes at least. */
    static final int LEAST_INFO_BYTES = 8 + 4 + 8 + 4 + 8;

    private static final int MOST_DIMENSIONS = 4;

    /** An info as read: shape outermost first, the offset relative to the data section, and where in the file it stands. */
    private record Info(
            String name, QuantType type, List<Long> shape, long bytes, long offset, long shapeAt, long offsetAt) {}

    private final GgufCursor cursor;
    private final Path path;

    GgufTensorReader(GgufCursor cursor, Path path) {
        this.cursor = cursor;
        this.path = path;
    }

    List<TensorEntry> read(long count, long alignment, long fileBytes) {
        List<Info> infos = new ArrayList<>((int) count);
        Set<String> names = new HashSet<>();
        for (long i = 0; i < count; i++) {
            long at = cursor.position();
            Info info = info(i, count);
            if (!names.add(info.name)) {
                throw cursor.error("tensor " + info.name + " occurs twice, the second time at offset " + at);
            }
            infos.add(info);
        }
        long dataOffset = roundUp(cursor.position(), alignment);
        List<TensorEntry> tensors = new ArrayList<>(infos.size());
        for (Info info : infos) {
            tensors.add(place(info, alignment, dataOffset, fileBytes));
        }
        rejectOverlaps(tensors, infos);
        return tensors;
    }

    static long roundUp(long value, long multiple) {
        long over = value % multiple;
        return over == 0 ? value : Math.addExact(value, multiple - over);
    }

    private Info info(long index, long count) {
        String name = cursor.name("the name of tensor " + index + " of " + count);
        String what = "the info of tensor " + name;
        long shapeAt = cursor.position();
        int dimensions = cursor.int32(what);
        if (dimensions < 1 || dimensions > MOST_DIMENSIONS) {
            throw cursor.error("tensor " + name + " has " + Integer.toUnsignedString(dimensions)
                    + " dimensions at offset " + shapeAt + "; 1 to " + MOST_DIMENSIONS + " are possible");
        }
        List<Long> ggufShape = new ArrayList<>(dimensions);
        for (int d = 0; d < dimensions; d++) {
            ggufShape.add(cursor.int64(what));
        }
        long typeAt = cursor.position();
        int typeId = cursor.int32(what);
        long offsetAt = cursor.position();
        long offset = cursor.int64(what);
        QuantType type = QuantType.byId(typeId)
                .orElseThrow(() ->
                        cursor.error("tensor " + name + " has type " + Integer.toUnsignedString(typeId) + " at offset "
                                + typeAt + ", which is unknown; convert the model with types of the ggml list"));
        if (!type.divides(ggufShape.getFirst())) {
            throw cursor.error(
                    "tensor " + name + " has type " + type + " but row length " + ggufShape.getFirst() + ", block "
                            + type.blockElements() + "; rows must be whole blocks (info at offset " + shapeAt + ")");
        }
        return new Info(
                name,
                type,
                ggufShape.reversed().stream().toList(),
                bytes(name, type, ggufShape, shapeAt),
                offset,
                shapeAt,
                offsetAt);
    }

    private long bytes(String name, QuantType type, List<Long> ggufShape, long shapeAt) {
        for (long dimension : ggufShape) {
            if (dimension <= 0) {
                throw cursor.error(
                        "tensor " + name + " has the impossible shape " + ggufShape + " at offset " + shapeAt);
            }
        }
        try {
            long rows = 1;
            for (long dimension : ggufShape.subList(1, ggufShape.size())) {
                rows = Math.multiplyExact(rows, dimension);
            }
            Math.multiplyExact(rows, ggufShape.getFirst());
            return Math.multiplyExact(rows, type.bytes(ggufShape.getFirst()));
        } catch (ArithmeticException overflow) {
            throw cursor.error("tensor " + name + " has the shape " + ggufShape + " at offset " + shapeAt
                    + ", more elements than 64 bits count");
        }
    }

    private TensorEntry place(Info info, long alignment, long dataOffset, long fileBytes) {
        String name = info.name;
        if (info.offset < 0 || info.offset % alignment != 0) {
            throw cursor.error("tensor " + name + " has the offset " + Long.toUnsignedString(info.offset)
                    + " at offset " + info.offsetAt + ", not a multiple of the alignment " + alignment);
        }
        long available = Math.max(0, fileBytes - dataOffset);
        if (info.offset > available || info.bytes > available - info.offset) {
            throw cursor.error("tensor " + name + " with shape " + info.shape.reversed() + " needs " + info.bytes
                    + " bytes from data offset " + info.offset + " on, but the file size " + fileBytes
                    + " leaves " + Math.max(0, available - info.offset)
                    + " available; the file is damaged or its download is incomplete (info at offset "
                    + info.shapeAt + ")");
        }
        return new TensorEntry(
                name, info.type, info.type.name(), info.shape, path, dataOffset + info.offset, info.bytes);
    }

    private void rejectOverlaps(List<TensorEntry> tensors, List<Info> infos) {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            order.add(i);
        }
        order.sort(Comparator.comparingLong((Integer i) -> tensors.get(i).offset())
                .thenComparing(Comparator.naturalOrder()));
        for (int i = 1; i < order.size(); i++) {
            TensorEntry before = tensors.get(order.get(i - 1));
            TensorEntry after = tensors.get(order.get(i));
            if (after.offset() < before.offset() + before.bytes()) {
                throw cursor.error("tensor " + after.name() + " at offset " + after.offset() + " overlaps tensor "
                        + before.name() + " of " + before.bytes() + " bytes at offset " + before.offset()
                        + " (info at offset " + infos.get(order.get(i)).offsetAt + ")");
            }
        }
    }
}
