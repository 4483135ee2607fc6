package dev.strata.prefill;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pinned buffers between memory that the device cannot read and the device. The issuer publishes jobs in the order in which it will
 * copy them; {@link StagerWorker}s claim and fill them; the issuer queues the copy of the oldest filled job. Job {@code j} uses buffer
 * {@code j mod buffers}, which is free again when the copy of job {@code j - buffers} has been queued and has happened.
 *
 * <p>Nothing here blocks, so that tests can run any interleaving step by step. Methods without another word belong to the issuer.
 */
final class Stager implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Stager.class);
    private static final int EMPTY = 0;
    private static final int FILLED = 1;
    private static final int FAILED = 2;
    private static final int LEAST_AHEAD = 512;

    private final StageSource source;
    private final int buffers;
    private final int batch;
    private final int bufferBytes;
    private final List<Buffer> pinned;
    private final List<AutoCloseable> pageable;
    private final MemorySegment[] memory;
    private final Event[] copied;
    private final StageClaims claims;
    private final int capacity;
    private final int[] layers;
    private final long[] offsets;
    private final int[] bytes;
    private final AtomicIntegerArray states;
    private final AtomicLong issued = new AtomicLong();
    private final AtomicLong finished = new AtomicLong();
    private final AtomicLong stagedBytes = new AtomicLong();
    private final AtomicLong busyNanos = new AtomicLong();
    private long published;
    private long dropped;
    private volatile @Nullable RuntimeException failure;

    private Stager(
            StageSource source,
            StagerSizing sizing,
            List<Buffer> pinned,
            List<AutoCloseable> pageable,
            MemorySegment[] memory,
            Event[] copied) {
        this.source = source;
        this.pinned = pinned;
        this.pageable = pageable;
        this.memory = memory;
        this.copied = copied;
        buffers = memory.length;
        batch = Math.min(sizing.batch(), buffers);
        bufferBytes = Math.toIntExact(sizing.bufferBytes());
        capacity = buffers * Math.ceilDiv(LEAST_AHEAD, buffers);
        claims = new StageClaims(capacity);
        layers = new int[capacity];
        offsets = new long[capacity];
        bytes = new int[capacity];
        states = new AtomicIntegerArray(capacity);
    }

    /**
     * Allocates the pinned buffers. When no more can be pinned it goes on with what it has, or with pageable memory when that is nothing,
     * and says so once.
     */
    static Stager create(Device device, StageSource source, StagerSizing sizing) {
        List<Buffer> pinned = new ArrayList<>();
        List<AutoCloseable> pageable = new ArrayList<>();
        List<MemorySegment> memory = new ArrayList<>();
        List<Event> events = new ArrayList<>();
        try {
            for (int i = 0; i < sizing.buffers(); i++) {
                Buffer buffer = pin(device, sizing, i);
                if (buffer == null) {
                    break;
                }
                pinned.add(buffer);
                memory.add(buffer.host());
            }
            if (pinned.isEmpty()) {
                for (int i = 0; i < sizing.buffers(); i++) {
                    HostPages pages = HostPages.allocate(sizing.bufferBytes(), "staging buffer");
                    pageable.add(pages);
                    memory.add(pages.memory());
                }
            }
            for (int i = 0; i < memory.size(); i++) {
                events.add(device.newEvent());
            }
        } catch (RuntimeException failed) {
            events.forEach(Event::close);
            pinned.forEach(Buffer::close);
            pageable.forEach(Stager::closeQuietly);
            throw failed;
        }
        return new Stager(
                source, sizing, pinned, pageable, memory.toArray(MemorySegment[]::new), events.toArray(Event[]::new));
    }

    private static @Nullable Buffer pin(Device device, StagerSizing sizing, int index) {
        try {
            return device.allocatePinned(sizing.bufferBytes(), "staging buffer");
        } catch (DeviceException refused) {
            if (refused.kind() != DeviceException.Kind.OUT_OF_MEMORY) {
                throw refused;
            }
            LOG.warn(
                    "stager: only {} of {} buffers of {} KiB could be pinned ({}){}",
                    index,
                    sizing.buffers(),
                    sizing.bufferBytes() >> 10,
                    refused.getMessage(),
                    index == 0 ? "; pageable buffers are used, prompts will be slow" : "");
            return null;
        }
    }

    private static void closeQuietly(AutoCloseable pages) {
        try {
            pages.close();
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Bytes that one job may have. */
    int bufferBytes() {
        return bufferBytes;
    }

    int buffers() {
        return buffers;
    }

    /** Jobs that can be published now. */
    int room() {
        return (int) (capacity - (published - issued.get()));
    }

    /** Opens a job: bytes of a layer to bring into a buffer. */
    void publish(int layer, long offset, int length) {
        int slot = (int) (published % claims.cycle()) % capacity;
        layers[slot] = layer;
        offsets[slot] = offset;
        bytes[slot] = length;
        states.set(slot, EMPTY);
        published++;
        claims.publish(1);
    }

    /** Whether the oldest job that was not issued has been filled. */
    boolean filled() {
        return issued.get() < published && states.get(oldest()) == FILLED;
    }

    /** What went wrong with it, or null. */
    @Nullable RuntimeException failed() {
        return issued.get() < published && states.get(oldest()) == FAILED ? failure : null;
    }

    /** The bytes of the oldest job, once filled. */
    MemorySegment filledBytes() {
        return memory[buffer(issued.get())].asSlice(0, bytes[oldest()]);
    }

    /** The copy of the oldest job was queued on {@code stream}. */
    void issued(Stream stream) {
        copied[buffer(issued.get())].record(stream);
        issued.incrementAndGet();
    }

    /** Drops what was not claimed; {@link #drained} tells when the rest is over. */
    void restart() {
        dropped += claims.restart();
    }

    /** Whether no worker holds a job any more; then the sequence continues behind everything that was published. */
    boolean drained() {
        if (finished.get() < published - dropped) {
            return false;
        }
        issued.set(published);
        return true;
    }

    private int oldest() {
        return (int) (issued.get() % claims.cycle()) % capacity;
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
        long done = issued.get();
        for (int i = StageClaims.count(claim) - 1; i >= 0; i--) {
            int job = (StageClaims.first(claim) + i) % claims.cycle();
            int ahead = Math.floorMod(job - (int) (done % claims.cycle()), claims.cycle());
            if (ahead >= buffers || !copied[job % capacity % buffers].isDone()) {
                return false;
            }
        }
        return true;
    }

    /** Worker: fills the buffers of a claim. */
    void fill(long claim, MemorySegment[] targets) {
        int count = StageClaims.count(claim);
        int outcome = FILLED;
        long start = System.nanoTime();
        try {
            for (int i = 0; i < count; ) {
                int first = slot(claim, i);
                int run = 1;
                targets[0] = memory[first % buffers];
                while (i + run < count && slot(claim, i + run) == first + run && layers[first + run] == layers[first]) {
                    targets[run] = memory[(first + run) % buffers];
                    run++;
                }
                source.copy(layers[first], offsets, bytes, first, run, targets);
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
            int slot = slot(claim, i);
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

    private int slot(long claim, int index) {
        return (StageClaims.first(claim) + index) % claims.cycle() % capacity;
    }

    /** Gives buffers and events back; the copies out of them must be done and no worker may be left. */
    @Override
    public void close() {
        for (Event event : copied) {
            event.close();
        }
        pinned.forEach(Buffer::close);
        pageable.forEach(Stager::closeQuietly);
    }
}
