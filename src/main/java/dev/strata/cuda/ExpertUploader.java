package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Puts all experts of a layer into device memory: several threads fill pinned buffers, whose copies run while the next ones are filled.
 */
final class ExpertUploader implements AutoCloseable {
    private static final long PIECE_BYTES = 32L << 20;
    private static final int PIECES = 4;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Transcoder transcoder;
    private final List<Buffer> pieces = new ArrayList<>();
    private final List<CudaEvent> events = new ArrayList<>();
    private @Nullable ExecutorService workers;
    private int next;

    ExpertUploader(CudaDevice device, CudaStream stream, Transcoder transcoder) {
        this.device = device;
        this.stream = stream;
        this.transcoder = transcoder;
    }

    CudaExpertLayer upload(ExpertSource source, int layer) {
        ExpertLayout stored = source.layout(layer);
        ExpertLayout layout = transcoder.onCard(stored);
        long stride = Math.ceilDiv(layout.blobBytes(), 256L) * 256;
        Buffer blobs = device.allocate(stride * layout.experts(), "experts of layer " + layer);
        ensurePieces(stride);
        int atOnce = (int) Math.max(1, pieces.getFirst().bytes() / stride);
        for (int first = 0; first < layout.experts(); first += atOnce) {
            int count = Math.min(atOnce, layout.experts() - first);
            Buffer piece = pieces.get(next);
            events.get(next).synchronize();
            fill(source, layer, stored, layout, first, count, stride, piece.host());
            device.copyToDevice(piece.host().asSlice(0, stride * count), blobs, stride * first, stream);
            events.get(next).record(stream);
            next = (next + 1) % pieces.size();
        }
        Buffer table = device.allocate(8L * layout.experts(), "expert addresses of layer " + layer);
        events.get(next).synchronize();
        MemorySegment addresses = pieces.get(next).host();
        for (int expert = 0; expert < layout.experts(); expert++) {
            addresses.setAtIndex(JAVA_LONG, expert, blobs.address() + stride * expert);
        }
        device.copyToDevice(addresses.asSlice(0, 8L * layout.experts()), table, 0, stream);
        events.get(next).record(stream);
        next = (next + 1) % pieces.size();
        return new CudaExpertLayer(layer, layout, blobs, table, null);
    }

    private void fill(
            ExpertSource source,
            int layer,
            ExpertLayout stored,
            ExpertLayout layout,
            int first,
            int count,
            long stride,
            MemorySegment target) {
        ExecutorService pool = workers();
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int expert = first + i;
            MemorySegment slot = target.asSlice(stride * i, stride);
            running.add(pool.submit(() -> fillOne(source, layer, stored, layout, expert, slot)));
        }
        for (Future<?> one : running) {
            try {
                one.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while experts were loaded", e);
            } catch (ExecutionException e) {
                if (e.getCause() instanceof RuntimeException cause) {
                    throw cause;
                }
                throw new IllegalStateException("experts of layer " + layer + " could not be loaded", e);
            }
        }
    }

    private void fillOne(
            ExpertSource source, int layer, ExpertLayout stored, ExpertLayout layout, int expert, MemorySegment slot) {
        boolean same = stored.equals(layout);
        ExpertView view = source.view(layer, expert);
        if (view != null) {
            matrices(stored, view.gate(), 0, view.up(), 0, view.down(), 0, layout, slot);
            if (layout.scaled()) {
                float[] scales = {view.gateScale(), view.upScale(), view.downScale(), 0};
                MemorySegment.copy(
                        scales, 0, slot, java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED, layout.tailOffset(), 4);
            }
        } else if (same) {
            source.copyBlob(layer, expert, slot);
        } else {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment blob = arena.allocate(stored.blobBytes(), 64);
                source.copyBlob(layer, expert, blob);
                matrices(stored, blob, 0, blob, stored.upOffset(), blob, stored.downOffset(), layout, slot);
                if (layout.scaled()) {
                    MemorySegment.copy(blob, stored.tailOffset(), slot, layout.tailOffset(), ExpertLayout.TAIL);
                }
            }
        }
    }

    private void matrices(
            ExpertLayout stored,
            MemorySegment gate,
            long gateAt,
            MemorySegment up,
            long upAt,
            MemorySegment down,
            long downAt,
            ExpertLayout layout,
            MemorySegment slot) {
        int hidden = layout.hidden();
        int intermediate = layout.intermediate();
        transcoder.copy(stored.gateType(), gate, gateAt, layout.gateType(), slot, 0, intermediate, hidden);
        transcoder.copy(stored.upType(), up, upAt, layout.upType(), slot, layout.upOffset(), intermediate, hidden);
        transcoder.copy(
                stored.downType(), down, downAt, layout.downType(), slot, layout.downOffset(), hidden, intermediate);
    }

    private ExecutorService workers() {
        ExecutorService pool = workers;
        if (pool == null) {
            pool = Executors.newFixedThreadPool(
                    Math.min(16, Runtime.getRuntime().availableProcessors()),
                    Thread.ofPlatform().daemon().name("expert-upload-", 0).factory());
            workers = pool;
        }
        return pool;
    }

    private void ensurePieces(long stride) {
        if (!pieces.isEmpty() && pieces.getFirst().bytes() >= stride) {
            return;
        }
        release();
        for (int i = 0; i < PIECES; i++) {
            pieces.add(device.allocatePinned(Math.max(PIECE_BYTES, stride), "staging for experts"));
            events.add(CudaEvent.create());
        }
    }

    /** Gives back pinned buffers and threads; a later upload makes them anew. */
    void release() {
        events.forEach(event -> {
            event.synchronize();
            event.close();
        });
        pieces.forEach(Buffer::close);
        events.clear();
        pieces.clear();
        next = 0;
        if (workers != null) {
            workers.shutdown();
            workers = null;
        }
    }

    @Override
    public void close() {
        release();
    }
}
