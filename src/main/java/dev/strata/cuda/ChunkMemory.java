package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.PromptMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where activations and workspaces of passes lie: those of few rows in memory of their own, those of many rows in pieces of what is lent.
 * A piece's size is a straight line through what was measured at two numbers of rows; planning and laying out are the same sums.
 */
final class ChunkMemory implements PromptMemory, AutoCloseable {
    private static final long UNIT = 256;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Map<String, Piece> pieces = new LinkedHashMap<>();
    private final List<TensorPiece> tensors = new ArrayList<>();
    private int smallRows = Integer.MAX_VALUE;
    private int mostRows;
    private int measuring;
    private int fewest;
    private int most;
    private int laidOut;
    private boolean large;
    private long base;

    ChunkMemory(CudaDevice device, CudaStream stream) {
        this.device = device;
        this.stream = stream;
    }

    /** One activation or workspace. */
    private static final class Piece {
        private long atFewest;
        private long atMost;
        private long offset;
        private long room;
        private @Nullable Buffer own;

        void note(long bytes, boolean few) {
            if (few) {
                atFewest = Math.max(atFewest, bytes);
            }
            atMost = Math.max(atMost, bytes);
        }
    }

    @Override
    public void separate(int few, int rows) {
        smallRows = few;
        mostRows = rows;
    }

    /** Whether passes of {@code rows} rows use lent memory. */
    boolean lends(int rows) {
        return rows > smallRows;
    }

    /** Whether a tensor of {@code rows} rows is one whose memory depends on the pass. */
    boolean splits(int rows) {
        return smallRows < mostRows && rows >= mostRows;
    }

    /** Memory of a tensor: {@code rows} rows while it is lent, as many less as passes of few rows are smaller otherwise. */
    Buffer buffer(String purpose, int rows, long rowBytes) {
        Buffer few = device.allocate((rows - mostRows + smallRows) * rowBytes, purpose);
        String name = "tensor " + purpose;
        Piece piece = new Piece();
        pieces.put(name, piece);
        tensors.add(new TensorPiece(name, rows - mostRows, rowBytes));
        return new Switched(piece, few, rows * rowBytes);
    }

    private record TensorPiece(String name, int moreRows, long rowBytes) {}

    @Override
    public void measure(int rows) {
        measured();
        if (fewest == 0) {
            fewest = rows;
        } else {
            pieces.values().forEach(piece -> piece.atMost = piece.atFewest);
        }
        measuring = rows;
        most = rows;
        for (TensorPiece tensor : tensors) {
            piece(tensor.name(), (rows + tensor.moreRows()) * tensor.rowBytes());
        }
    }

    @Override
    public void measured() {
        if (measuring == 0) {
            return;
        }
        stream.synchronize();
        measuring = 0;
        large = false;
        for (Piece piece : pieces.values()) {
            if (piece.own != null) {
                piece.own.close();
                piece.own = null;
            }
        }
    }

    @Override
    public long bytes(int rows) {
        long end = 0;
        for (Piece piece : pieces.values()) {
            end += room(piece, rows);
        }
        return end;
    }

    @Override
    public void layOut(int rows) {
        long end = 0;
        for (Piece piece : pieces.values()) {
            piece.offset = end;
            piece.room = room(piece, rows);
            end += piece.room;
        }
        laidOut = rows;
    }

    private long room(Piece piece, int rows) {
        double slope = most == fewest ? 0 : (piece.atMost - piece.atFewest) / (double) (most - fewest);
        long bytes = most == fewest ? piece.atMost : piece.atFewest + (long) Math.ceil(slope * (rows - fewest));
        return Math.ceilDiv(Math.max(bytes, 0), UNIT) * UNIT;
    }

    /**
     * The next passes have {@code rows} rows.
     *
     * @param lent address of what was lent for them, 0 when nothing was
     */
    void enter(int rows, long lent) {
        large = lends(rows);
        if (!large || measuring > 0) {
            return;
        }
        if (lent == 0 || rows > laidOut) {
            throw new IllegalStateException(
                    "memory for a pass of " + rows + " rows was not lent; it is laid out for " + laidOut + " rows");
        }
        base = lent;
    }

    /** Whether captured passes hold other addresses than those of passes of few rows. */
    int generation() {
        return large ? 1 << 20 : 0;
    }

    /** Address of a workspace for this pass, 0 when it has none in lent memory. */
    long scratch(String name, long bytes) {
        if (!large) {
            return 0;
        }
        if (measuring > 0) {
            return piece(name, bytes).address();
        }
        Piece piece = pieces.get(name);
        return piece == null || piece.room < bytes ? 0 : base + piece.offset;
    }

    private Buffer piece(String name, long bytes) {
        Piece piece = pieces.computeIfAbsent(name, key -> new Piece());
        piece.note(bytes, measuring == fewest);
        Buffer own = piece.own;
        if (own == null || own.bytes() < bytes) {
            if (own != null) {
                stream.synchronize();
                own.close();
                piece.own = null;
            }
            own = device.allocate(Math.ceilDiv(bytes, UNIT) * UNIT, "measured " + name);
            // Passes without experts read results that nobody wrote: they have to be numbers.
            device.fill(own, 0, own.bytes(), 0, stream);
            piece.own = own;
        }
        return own;
    }

    private long address(Piece piece, Buffer few) {
        if (!large) {
            return few.address();
        }
        Buffer own = piece.own;
        return own != null ? own.address() : base + piece.offset;
    }

    @Override
    public void close() {
        measured();
    }

    /** Memory that moves with the pass. */
    private final class Switched implements Buffer {
        private final Piece piece;
        private final Buffer few;
        private final long bytes;

        Switched(Piece piece, Buffer few, long bytes) {
            this.piece = piece;
            this.few = few;
            this.bytes = bytes;
        }

        @Override
        public long bytes() {
            return bytes;
        }

        @Override
        public long address() {
            return ChunkMemory.this.address(piece, few);
        }

        @Override
        public MemorySegment host() {
            return few.host();
        }

        @Override
        public boolean hostVisible() {
            return few.hostVisible();
        }

        @Override
        public void close() {
            few.close();
        }
    }
}
