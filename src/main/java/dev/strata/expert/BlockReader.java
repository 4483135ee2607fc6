package dev.strata.expert;

import dev.strata.os.BlockFile;
import dev.strata.os.HostPages;
import dev.strata.os.Unreadable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Reads batches of slices: all requests of a batch are on their way before any is waited for. Aligned ranges are read into huge-page
 * buffers and cut from there; what is whole blocks in file and memory is read to where it goes. A request that comes back short is continued; one that fails is tried once more; a file that changed
 * since it was opened is reported and never served.
 */
final class BlockReader implements AutoCloseable {
    private static final Thread ANY_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private final List<Path> paths;
    private final List<BlockFile> files;
    private final List<Object> stamps = new ArrayList<>();
    private final int[] alignments;
    private final ExecutorService readers;
    private final BlockingQueue<HostPages> buffers = new LinkedBlockingQueue<>();
    private final List<HostPages> allBuffers = new ArrayList<>();
    private final int mostBuffers;
    private final ReadCounters counters = new ReadCounters();

    private BlockReader(List<Path> paths, List<BlockFile> files, int depth) {
        this.paths = List.copyOf(paths);
        this.files = List.copyOf(files);
        alignments = files.stream().mapToInt(BlockFile::alignment).toArray();
        mostBuffers = depth;
        readers = Executors.newFixedThreadPool(
                depth, Thread.ofPlatform().daemon().name("expert-reader-", 0).factory());
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

    ReadCounters counters() {
        return counters;
    }

    boolean isDirect() {
        return files.stream().allMatch(BlockFile::isDirect);
    }

    /**
     * Reads everything that is wanted.
     *
     * @throws UncheckedIOException naming file and offset
     */
    void read(List<ReadPlan.Wanted> wanted) {
        List<ReadPlan.Request> requests = ReadPlan.merge(wanted, alignments);
        checkStamps(requests);
        if (wanted.stream().allMatch(part -> part.target().isAccessibleBy(ANY_THREAD))) {
            serveAll(requests);
        } else {
            // Memory of one thread: that thread reads, one request after the other.
            requests.forEach(this::serve);
        }
        checkStamps(requests);
        long useful = 0;
        for (ReadPlan.Wanted part : wanted) {
            useful += part.slice().bytes();
        }
        counters.useful(useful);
    }

    private void serveAll(List<ReadPlan.Request> requests) {
        List<Future<?>> running = new ArrayList<>();
        for (ReadPlan.Request request : requests) {
            running.add(readers.submit(() -> serve(request)));
        }
        RuntimeException failure = null;
        for (Future<?> future : running) {
            try {
                future.get();
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                failure = Unreadable.because("reading experts was interrupted");
            } catch (ExecutionException failed) {
                failure = failed.getCause() instanceof RuntimeException cause
                        ? cause
                        : new IllegalStateException("reading experts failed", failed);
            }
        }
        if (failure != null) {
            throw failure;
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

    private void serve(ReadPlan.Request request) {
        if (request.straight()) {
            ReadPlan.Wanted part = request.parts().getFirst();
            counted(request, part.target().asSlice(part.targetOffset(), request.bytes()));
            return;
        }
        HostPages buffer = take(request.bytes());
        try {
            MemorySegment memory = buffer.memory().asSlice(0, request.bytes());
            long start = request.offset();
            counted(request, memory);
            for (ReadPlan.Wanted part : request.parts()) {
                MemorySegment.copy(
                        memory,
                        part.slice().offset() - start,
                        part.target(),
                        part.targetOffset(),
                        part.slice().bytes());
            }
        } finally {
            buffers.add(buffer);
        }
    }

    private void counted(ReadPlan.Request request, MemorySegment memory) {
        long begun = counters.begin();
        long got = 0;
        try {
            got = fill(request, memory, needed(request));
        } finally {
            counters.end(begun, got, files.get(request.file()).isDirect());
        }
    }

    /** Bytes from the request's start that its parts reach. */
    private static long needed(ReadPlan.Request request) {
        long end = 0;
        for (ReadPlan.Wanted part : request.parts()) {
            end = Math.max(end, part.slice().offset() + part.slice().bytes());
        }
        return end - request.offset();
    }

    private long fill(ReadPlan.Request request, MemorySegment memory, long needed) {
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

    private HostPages take(long bytes) {
        HostPages buffer = buffers.poll();
        if (buffer == null) {
            synchronized (allBuffers) {
                if (allBuffers.size() < mostBuffers) {
                    buffer = HostPages.allocate(Math.max(bytes, HostPages.HUGE_PAGE), "read buffer");
                    allBuffers.add(buffer);
                    return buffer;
                }
            }
            try {
                buffer = buffers.take();
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                throw Unreadable.because("reading experts was interrupted");
            }
        }
        if (buffer.bytes() >= bytes) {
            return buffer;
        }
        synchronized (allBuffers) {
            allBuffers.remove(buffer);
            buffer.close();
            HostPages larger = HostPages.allocate(
                    Math.min(ReadPlan.MOST_REQUEST + (64 << 10), Math.max(bytes, 2 * bytes)), "read buffer");
            allBuffers.add(larger);
            return larger.bytes() >= bytes ? larger : replace(larger, bytes);
        }
    }

    private HostPages replace(HostPages small, long bytes) {
        allBuffers.remove(small);
        small.close();
        HostPages exact = HostPages.allocate(bytes, "read buffer");
        allBuffers.add(exact);
        return exact;
    }

    @Override
    public void close() {
        readers.shutdown();
        try {
            readers.awaitTermination(10, java.util.concurrent.TimeUnit.SECONDS);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        synchronized (allBuffers) {
            allBuffers.forEach(HostPages::close);
            allBuffers.clear();
        }
        for (BlockFile file : files) {
            try {
                file.close();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }
}
