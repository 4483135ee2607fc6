package dev.strata.prefill;

import dev.strata.device.BlobParts;
import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pinned buffers between memory that the device cannot read and the device. The issuer publishes jobs in the order in which it will
 * copy them; {@link StagerWorker}s claim and fill them; the issuer queues the copies of filled jobs, neighbours in one copy, since the
 * gap between two copies costs more than a piece of a few hundred KiB. Job {@code j} uses buffer {@code j mod buffers}, which is free
 * again when the copy of job {@code j - buffers} has happened; only the issuer asks the device about that.
 *
 * <p>Nothing here blocks, so that tests can run any interleaving step by step. Methods without another word belong to the issuer.
 */
final class Stager implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Stager.class);
    private static final int EMPTY = 0;
    private static final int FILLED = 1;
    private static final int FAILED = 2;
    private static final int LEAST_AHEAD = 512;
    private static final int MOST_AT_ONCE = 8;

    private final StageSource source;
    private final int buffers;
    private final int batch;
    private final int bufferBytes;
    private final int ahead;
    private final long[] runEnds;
    private long runsIssued;
    private long runsCopied;
    private final AutoCloseable block;
    private final MemorySegment all;
    private final MemorySegment[] memory;
    private final Event[] copied;
    private final StageClaims claims;
    private final int capacity;
    private final int[] layers;
    private final long[] offsets;
    private final int[] bytes;
    private final BlobParts[] parts;
    private final AtomicIntegerArray states;
    private final AtomicLong copiedJobs = new AtomicLong();
    private final AtomicLong finished = new AtomicLong();
    private final AtomicLong stagedBytes = new AtomicLong();
    private final AtomicLong busyNanos = new AtomicLong();
    private long published;
    private long issued;
    private long dropped;
    private volatile @Nullable RuntimeException failure;

    private Stager(
            StageSource source,
            StagerSizing sizing,
            AutoCloseable block,
            MemorySegment all,
            int buffers,
            Event[] copied) {
        this.source = source;
        this.block = block;
        this.all = all;
        this.copied = copied;
        this.buffers = buffers;
        memory = new MemorySegment[buffers];
        for (int i = 0; i < buffers; i++) {
            memory[i] = all.asSlice(i * sizing.bufferBytes(), sizing.bufferBytes());
        }
        batch = Math.min(sizing.batch(), buffers);
        bufferBytes = Math.toIntExact(sizing.bufferBytes());
        ahead = sizing.ahead();
        runEnds = new long[buffers];
        capacity = buffers * Math.ceilDiv(LEAST_AHEAD, buffers);
        claims = new StageClaims(capacity);
        layers = new int[capacity];
        offsets = new long[capacity];
        bytes = new int[capacity];
        parts = new BlobParts[capacity];
        Arrays.setAll(parts, slot -> new BlobParts());
        states = new AtomicIntegerArray(capacity);
    }

    /**
     * Allocates the buffers in one pinned block. When so much cannot be pinned it takes half as many buffers, and so on, and pageable
     * memory when not even one can be; it says so once.
     */
    static Stager create(Device device, StageSource source, StagerSizing sizing) {
        int count = sizing.buffers();
        Buffer pinned = null;
        String reason = "";
        while (pinned == null && count > 0) {
            try {
                pinned = device.allocatePinned(count * sizing.bufferBytes(), "staging buffers");
            } catch (DeviceException refused) {
                if (refused.kind() != DeviceException.Kind.OUT_OF_MEMORY) {
                    throw refused;
                }
                reason = String.valueOf(refused.getMessage());
                count /= 2;
            }
        }
        if (!reason.isEmpty()) {
            LOG.warn(
                    "stager: only {} of {} buffers of {} KiB could be pinned ({}){}",
                    count,
                    sizing.buffers(),
                    sizing.bufferBytes() >> 10,
                    reason,
                    count == 0 ? "; pageable buffers are used, prompts will be slow" : "");
        }
        if (pinned != null) {
            return over(device, source, sizing, pinned, pinned.host(), count);
        }
        HostPages pages = HostPages.allocate(sizing.buffers() * sizing.bufferBytes(), "staging buffers");
        return over(device, source, sizing, pages, pages.memory(), sizing.buffers());
    }

    private static Stager over(
            Device device, StageSource source, StagerSizing sizing, AutoCloseable block, MemorySegment all, int count) {
        Event[] events = new Event[count];
        int made = 0;
        try {
            for (; made < count; made++) {
                events[made] = device.newEvent();
            }
            return new Stager(source, sizing, block, all, count, events);
        } catch (RuntimeException failed) {
            for (int i = 0; i < made; i++) {
                events[i].close();
            }
            closeQuietly(block);
            throw failed;
        }
    }

    private static void closeQuietly(AutoCloseable memory) {
        try {
            memory.close();
        } catch (RuntimeException failure) {
            throw failure;
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Bytes that one job may have. */
    int bufferBytes() {
        return bufferBytes;
    }

    /** Jobs that can be published now. */
    int room() {
        return (int) (capacity - (published - issued));
    }

    /** Adds a job: bytes of a layer to bring into a buffer; {@link #open} lets workers have it. */
    void publish(int layer, long offset, int length) {
        int slot = slot(published);
        layers[slot] = layer;
        offsets[slot] = offset;
        bytes[slot] = length;
        states.set(slot, EMPTY);
        published++;
    }

    /** Opens the {@code jobs} added last, all at once: a worker that found one of them alone would make a small request of it. */
    void open(int jobs) {
        claims.publish(jobs);
    }

    /** Whether the oldest job that was not issued has been filled and its copy may be queued. */
    boolean filled() {
        return issued < published && runsIssued - runsCopied < ahead && states.get(oldest()) == FILLED;
    }

    /** What went wrong with it, or null. */
    @Nullable
    RuntimeException failed() {
        return issued < published && states.get(oldest()) == FAILED ? failure : null;
    }

    /**
     * Filled jobs from the oldest on that one copy can take: neighbours in the block, all but the last full, together at most
     * {@code mostBytes}, which end with a job.
     */
    int filledRun(long mostBytes) {
        int first = buffer(issued);
        int run = 1;
        long length = bytes[oldest()];
        while (run < MOST_AT_ONCE
                && first + run < buffers
                && issued + run < published
                && bytes[slot(issued + run - 1)] == bufferBytes
                && states.get(slot(issued + run)) == FILLED
                && length + bytes[slot(issued + run)] <= mostBytes) {
            length += bytes[slot(issued + run)];
            run++;
        }
        return run;
    }

    /** The bytes of the oldest {@code run} jobs, once filled. */
    MemorySegment filledBytes(int run) {
        long length = (run - 1L) * bufferBytes + bytes[slot(issued + run - 1)];
        return all.asSlice((long) buffer(issued) * bufferBytes, length);
    }

    /** Where the parts of the oldest job's bytes lie in its buffer, once filled. */
    BlobParts filledParts() {
        return parts[oldest()];
    }

    /** Bytes of its buffer. */
    MemorySegment filledBuffer() {
        return memory[buffer(issued)];
    }

    /** Bytes of the oldest job. */
    int jobBytes() {
        return bytes[oldest()];
    }

    /** The copy of the oldest {@code run} jobs was queued on {@code stream}. */
    void issued(int run, Stream stream) {
        copied[buffer(issued + run - 1)].record(stream);
        issued += run;
        runEnds[(int) (runsIssued++ % buffers)] = issued;
    }

    /** Looks which copies have happened; their buffers are free for workers then. */
    boolean collect() {
        long before = runsCopied;
        while (runsCopied < runsIssued) {
            long end = runEnds[(int) (runsCopied % buffers)];
            if (!copied[buffer(end - 1)].isDone()) {
                break;
            }
            copiedJobs.set(end);
            runsCopied++;
        }
        return runsCopied > before;
    }

    /** Drops what was not claimed; {@link #drained} tells when the rest is over. */
    void restart() {
        dropped += claims.restart();
    }

    /** Whether no worker holds a job and no copy is on its way any more; then the sequence continues behind everything published. */
    boolean drained() {
        collect();
        if (finished.get() < published - dropped || copiedJobs.get() < issued) {
            return false;
        }
        issued = published;
        copiedJobs.set(published);
        return true;
    }

    private int oldest() {
        return slot(issued);
    }

    private int slot(long job) {
        return (int) (job % claims.cycle()) % capacity;
    }

    private int buffer(long job) {
        return (int) (job % claims.cycle()) % buffers;
    }

    /** Bytes filled so far; any thread. */
    long stagedBytes() {
        return stagedBytes.get();
    }

    /** Time that workers spent filling; any thread. */
    long busyNanos() {
        return busyNanos.get();
    }

    /** Worker: takes the next run of jobs. */
    long claim() {
        return claims.claim(batch);
    }

    /** Worker: whether a claim still counts. */
    boolean current(long claim) {
        return claims.generation() == StageClaims.generation(claim);
    }

    /** Worker: whether the buffers of all jobs of a claim are free. */
    boolean buffersFree(long claim) {
        long copied = copiedJobs.get();
        return job(StageClaims.first(claim) + StageClaims.count(claim) - 1, copied) - copied < buffers;
    }

    /** Number of a job that is not copied yet, through all cycles of the claims. */
    private long job(int claimed, long copied) {
        return copied + Math.floorMod(claimed - (int) (copied % claims.cycle()), claims.cycle());
    }

    /** Worker: fills the buffers of a claim. */
    void fill(long claim, MemorySegment[] targets) {
        int count = StageClaims.count(claim);
        int outcome = FILLED;
        long turn = job(StageClaims.first(claim), copiedJobs.get());
        long start = System.nanoTime();
        try {
            for (int i = 0; i < count; ) {
                int first = claimed(claim, i);
                int run = 1;
                targets[0] = memory[first % buffers];
                while (i + run < count
                        && claimed(claim, i + run) == first + run
                        && layers[first + run] == layers[first]) {
                    targets[run] = memory[(first + run) % buffers];
                    run++;
                }
                source.stage(layers[first], offsets, bytes, first, run, targets, parts, turn);
                i += run;
            }
        } catch (RuntimeException failed) {
            failure = failed;
            outcome = FAILED;
        } catch (Error failed) {
            failure = new IllegalStateException("staging expert blobs failed", failed);
            outcome = FAILED;
        }
        busyNanos.addAndGet(System.nanoTime() - start);
        for (int i = 0; i < count; i++) {
            int slot = claimed(claim, i);
            if (outcome == FILLED) {
                stagedBytes.addAndGet(bytes[slot]);
            }
            states.set(slot, outcome);
        }
        finished.addAndGet(count);
    }

    /** Worker: gives up a claim of an earlier generation. */
    void abandon(long claim) {
        finished.addAndGet(StageClaims.count(claim));
    }

    int batch() {
        return batch;
    }

    private int claimed(long claim, int index) {
        return (StageClaims.first(claim) + index) % claims.cycle() % capacity;
    }

    /** Gives buffers and events back; the copies out of them must be done and no worker may be left. */
    @Override
    public void close() {
        for (Event event : copied) {
            event.close();
        }
        closeQuietly(block);
    }
}
