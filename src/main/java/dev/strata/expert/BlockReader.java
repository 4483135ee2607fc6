package dev.strata.expert;

import dev.strata.os.BlockFile;
import dev.strata.os.HostPages;
import dev.strata.os.Unreadable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads batches of slices: all requests of a batch are on their way before any is waited for. Slices that lie in memory as they lie in
 * the file's blocks are read to where they go, the others as aligned ranges into huge-page buffers, from where they are copied. A request
 * that comes back short is continued; one that fails is tried once more; a file that changed since it was opened is reported and never
 * served.
 */
final class BlockReader implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BlockReader.class);
    private static final Thread ANY_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private final List<Path> paths;
    private final List<BlockFile> files;
    private final List<Object> stamps = new ArrayList<>();
    private final int[] alignments;
    private final int alignment;
    private final ExecutorService readers;
    private final AtomicLong batches = new AtomicLong();
    private final ReadBuffers buffers;
    private final ReadCounters counters;

    private BlockReader(List<Path> paths, List<BlockFile> files, int depth) {
        this.paths = List.copyOf(paths);
        this.files = List.copyOf(files);
        alignments = files.stream().mapToInt(BlockFile::alignment).toArray();
        alignment = Arrays.stream(alignments).max().orElse(1);
        // Readers go on with other buffers while those that they have filled are emptied.
        buffers = new ReadBuffers(2 * depth);
        counters = new ReadCounters(depth);
        readers = new ThreadPoolExecutor(
                depth,
                depth,
                0,
                TimeUnit.SECONDS,
                new PriorityBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("expert-reader-", 0).factory());
    }

    /**
     * Takes opened files over.
     *
     * @param depth requests that run at the same time
     */
    static BlockReader of(List<Path> paths, List<BlockFile> files, int depth) throws IOException {
        BlockReader reader = new BlockReader(paths, files, depth);
        for (BlockFile file : files) {
            reader.stamps.add(file.stamp());
        }
        return reader;
    }

    /** Positions and addresses that differ by a multiple of this are alike for every file. */
    int alignment() {
        return alignment;
    }

    ReadCounters counters() {
        return counters;
    }

    boolean isDirect() {
        return files.stream().allMatch(BlockFile::isDirect);
    }

    /**
     * Reads everything that is wanted.
     *
     * @param turn requests of batches with a lower one go first, then those of batches that came first
     * @throws UncheckedIOException naming file and offset
     */
    void read(List<ReadPlan.Wanted> wanted, long turn) {
        List<ReadPlan.Request> requests = ReadPlan.merge(wanted, alignments);
        checkStamps(requests);
        if (wanted.stream().allMatch(part -> part.target().isAccessibleBy(ANY_THREAD))) {
            serveAll(requests, turn);
        } else {
            // Memory of one thread: that thread reads, one request after the other.
            requests.forEach(request -> read(request).run());
        }
        checkStamps(requests);
        long useful = 0;
        for (ReadPlan.Wanted part : wanted) {
            useful += part.slice().bytes();
        }
        counters.useful(useful);
    }

    private void serveAll(List<ReadPlan.Request> requests, long turn) {
        BlockingQueue<QueuedRead> ended = new LinkedBlockingQueue<>();
        long batch = batches.getAndIncrement();
        for (ReadPlan.Request request : requests) {
            readers.execute(new QueuedRead(turn, batch, () -> read(request), ended));
        }
        RuntimeException failure = null;
        boolean interrupted = false;
        // All are waited for whatever happens, since the system writes to their targets until they have ended.
        for (int left = requests.size(); left > 0; ) {
            try {
                RuntimeException one = finish(ended.take());
                failure = one == null ? failure : one;
                left--;
            } catch (InterruptedException stop) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
            failure = failure == null ? Unreadable.because("reading experts was interrupted") : failure;
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Does what is left to do for a request that has ended; returns what went wrong with it, or null. */
    private static @Nullable RuntimeException finish(QueuedRead read) {
        if (read.state() == Future.State.FAILED) {
            Throwable failure = read.exceptionNow();
            return failure instanceof RuntimeException cause
                    ? cause
                    : new IllegalStateException("reading experts failed", failure);
        }
        try {
            read.resultNow().run();
            return null;
        } catch (RuntimeException failed) {
            return failed;
        }
    }

    private void checkStamps(List<ReadPlan.Request> requests) {
        int checked = -1;
        for (ReadPlan.Request request : requests) {
            if (request.file() == checked) {
                continue;
            }
            checked = request.file();
            try {
                if (!files.get(checked).stamp().equals(stamps.get(checked))) {
                    throw Unreadable.because(paths.get(checked)
                            + " changed while it was served: restart the server with an unchanged file");
                }
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }

    /** Reads a request; what it returns copies the bytes to where they go, unless they are there. */
    private Runnable read(ReadPlan.Request request) {
        if (request.inPlace() && scatter(request)) {
            return () -> {};
        }
        HostPages buffer = buffers.take(request.bytes());
        boolean filled = false;
        try {
            MemorySegment memory = buffer.memory().asSlice(0, request.bytes());
            counted(request, () -> fill(request, memory));
            filled = true;
            return () -> empty(request, buffer);
        } finally {
            if (!filled) {
                buffers.give(buffer);
            }
        }
    }

    private void empty(ReadPlan.Request request, HostPages buffer) {
        try {
            for (ReadPlan.Wanted part : request.parts()) {
                MemorySegment.copy(
                        buffer.memory(),
                        part.from() - request.offset(),
                        part.target(),
                        part.targetOffset(),
                        part.slice().bytes());
            }
        } finally {
            buffers.give(buffer);
        }
    }

    /** Reads to where the bytes go; false when that failed or came back short: then the request is tried once more by copying. */
    private boolean scatter(ReadPlan.Request request) {
        int unit = alignments[request.file()];
        HostPages scratch = buffers.take(Scatter.scratchBytes(request, unit));
        try {
            Scatter scatter = Scatter.of(request, unit, scratch.memory());
            if (counted(request, () -> readInPlace(request, scatter)) < request.needed()) {
                counters.retried();
                return false;
            }
            scatter.copyEdges();
            return true;
        } finally {
            buffers.give(scratch);
        }
    }

    private long readInPlace(ReadPlan.Request request, Scatter scatter) {
        try {
            return files.get(request.file()).read(scatter.targets(), request.offset());
        } catch (IOException failed) {
            LOG.debug("{}: reading at {} is tried again: {}", paths.get(request.file()), request.offset(), failed);
            return 0;
        }
    }

    private long counted(ReadPlan.Request request, LongSupplier read) {
        long begun = counters.begin();
        long got = 0;
        try {
            got = read.getAsLong();
        } finally {
            counters.end(begun, got, files.get(request.file()).isDirect());
        }
        return got;
    }

    private long fill(ReadPlan.Request request, MemorySegment memory) {
        long needed = request.needed();
        BlockFile file = files.get(request.file());
        int unit = file.alignment();
        long done = 0;
        boolean retried = false;
        while (done < needed) {
            String reason;
            try {
                int got = file.read(memory.asSlice(done), request.offset() + done);
                if (got > 0) {
                    // A short read is continued at the last whole block, as unbuffered reads have to start on one.
                    long next = done + got;
                    if (next < needed) {
                        counters.retried();
                        long whole = next / unit * unit;
                        if (whole > done) {
                            retried = false;
                            done = whole;
                            continue;
                        }
                        reason = "the file ends early";
                    } else {
                        return next;
                    }
                } else {
                    reason = "the file ends early";
                }
            } catch (IOException failed) {
                reason = failed.toString();
            }
            if (retried) {
                throw Unreadable.because(paths.get(request.file()) + ": reading " + (needed - done)
                        + " bytes at offset " + (request.offset() + done) + " failed: " + reason);
            }
            retried = true;
            counters.retried();
        }
        return done;
    }

    @Override
    public void close() {
        readers.shutdown();
        try {
            readers.awaitTermination(10, TimeUnit.SECONDS);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        buffers.close();
        for (BlockFile file : files) {
            try {
                file.close();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }
}
