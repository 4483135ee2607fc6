package dev.strata.format.convert;

import dev.strata.format.ModelFormatException;
import dev.strata.format.Quants;
import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.TensorSink;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Encodes tensors in pieces of about a million elements on several threads and writes each piece where it belongs. */
final class TensorEncoder implements AutoCloseable {
    private static final int PIECE_ELEMENTS = 1 << 20;

    private final TensorSink writer;
    private final Conversion.Progress progress;
    private final ExecutorService pool;
    private final Semaphore pending;
    private final int threads;
    private final AtomicLong written = new AtomicLong();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    TensorEncoder(TensorSink writer, int threads, Conversion.Progress progress) {
        this.writer = writer;
        this.progress = progress;
        this.threads = threads;
        this.pool = Executors.newFixedThreadPool(
                threads, Thread.ofPlatform().name("convert-", 0).daemon().factory());
        this.pending = new Semaphore(2 * threads);
    }

    /** Hands a tensor to the threads; returns when most of it is done. */
    void encode(int index, Rows rows) {
        GgufTensor tensor = writer.tensors().get(index);
        long step = Math.max(1, PIECE_ELEMENTS / rows.width());
        for (long first = 0; first < rows.count(); first += step) {
            long from = first;
            long count = Math.min(step, rows.count() - first);
            pending.acquireUninterruptibly();
            if (failure.get() != null) {
                pending.release();
                return;
            }
            pool.execute(() -> {
                try {
                    piece(index, tensor, rows, from, (int) count);
                } catch (Throwable throwable) {
                    failure.compareAndSet(null, throwable);
                } finally {
                    pending.release();
                }
            });
        }
    }

    private void piece(int index, GgufTensor tensor, Rows rows, long first, int count) throws IOException {
        MemorySegment stored = rows.stored(tensor.type(), first, count);
        ByteBuffer bytes;
        if (stored != null && unscaled(rows, first, count)) {
            bytes = stored.asByteBuffer();
        } else {
            float[] values = new float[Math.multiplyExact(count, rows.width())];
            for (int row = 0; row < count; row++) {
                rows.read(first + row, values, row * rows.width());
            }
            for (int i = 0; i < values.length; i++) {
                if (!Float.isFinite(values[i])) {
                    throw new ModelFormatException("tensor " + tensor.name() + " has the value " + values[i]
                            + " in row " + (first + i / rows.width()) + "; the source is damaged");
                }
            }
            byte[] encoded = new byte[Math.toIntExact(count * tensor.rowBytes())];
            Quants.encode(tensor.type(), values, 0, values.length, MemorySegment.ofArray(encoded), 0);
            bytes = ByteBuffer.wrap(encoded);
        }
        long length = bytes.remaining();
        writer.write(index, first * tensor.rowBytes(), bytes);
        progress.written(written.addAndGet(length), tensor.name());
    }

    private static boolean unscaled(Rows rows, long first, int count) {
        for (long row = first; row < first + count; row++) {
            if (rows.storedFactor(row) != 1) {
                return false;
            }
        }
        return true;
    }

    /**
     * Waits for everything that was handed over.
     *
     * @throws IOException or what else went wrong on a thread
     */
    void finish() throws IOException {
        pending.acquireUninterruptibly(2 * threads);
        pending.release(2 * threads);
        Throwable thrown = failure.get();
        switch (thrown) {
            case null -> {}
            case IOException exception -> throw exception;
            case RuntimeException exception -> throw exception;
            case Error error -> throw error;
            default -> throw new UncheckedIOException(new IOException(thrown));
        }
    }

    @Override
    public void close() {
        pool.shutdownNow();
    }
}
