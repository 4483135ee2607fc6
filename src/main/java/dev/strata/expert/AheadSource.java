package dev.strata.expert;

import dev.strata.device.BlobParts;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Experts read from files, with those that are expected next read ahead into a few buffers while the drive is idle, one after the other
 * so that what is needed now never waits for more than one of them. Guesses cost reads when they are wrong and never change what is
 * served; a gate turns them off where steps are not faster with them.
 */
public final class AheadSource implements ExpertSource, FileReads {
    private static final long MOST_BYTES = 256L << 20;
    private static final int MOST_SLOTS = 64;

    private enum State {
        FREE,
        READING,
        READY
    }

    private static final class Slot {
        final MemorySegment memory;
        State state = State.FREE;
        int layer;
        int expert;
        int users;

        Slot(MemorySegment memory) {
            this.memory = memory;
        }

        boolean holds(int wantedLayer, int wantedExpert) {
            return state != State.FREE && layer == wantedLayer && expert == wantedExpert;
        }
    }

    private final FileExpertSource files;
    private final HostPages memory;
    private final List<Slot> slots = new ArrayList<>();
    private final Thread reader;
    private final AheadGate gate;
    private final Object lock = new Object();
    private int next;
    private int reads;
    private int @Nullable [] expected;
    private int expectedFrom;
    private int expectedLayer;
    private boolean closed;
    private long guessed;
    private long used;

    private AheadSource(FileExpertSource files, AheadGate gate, HostPages memory, int count, long stride) {
        this.files = files;
        this.gate = gate;
        this.memory = memory;
        for (int i = 0; i < count; i++) {
            slots.add(new Slot(memory.memory().asSlice(i * stride, stride)));
        }
        reader = Thread.ofPlatform().daemon().name("expert-ahead").unstarted(this::run);
    }

    /** Takes {@code files} over and starts the thread that reads ahead, always. */
    public static AheadSource start(FileExpertSource files) {
        return start(files, AheadGate.open());
    }

    /** The same as long as {@code gate} says that it pays. */
    public static AheadSource start(FileExpertSource files, AheadGate gate) {
        long stride = 1;
        for (int layer = 0; layer < files.layers(); layer++) {
            stride = Math.max(stride, ArenaLayout.stride(files.layout(layer)));
        }
        int count = (int) Math.clamp(MOST_BYTES / stride, 8, MOST_SLOTS);
        AheadSource source =
                new AheadSource(files, gate, HostPages.allocate(count * stride, "experts read ahead"), count, stride);
        source.reader.start();
        return source;
    }

    @Override
    public int layers() {
        return files.layers();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return files.layout(layer);
    }

    @Override
    public boolean readsAhead() {
        return true;
    }

    /** Replaces what was expected before. */
    @Override
    public void expect(int layer, int[] experts, int count) {
        synchronized (lock) {
            if (!gate.passes(layer, System.nanoTime())) {
                expected = null;
                return;
            }
            expectedLayer = layer;
            expected = java.util.Arrays.copyOf(experts, Math.min(count, slots.size() / 2));
            expectedFrom = 0;
            lock.notifyAll();
        }
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        copyBlobs(layer, new int[] {expert}, 1, new MemorySegment[] {target});
    }

    @Override
    public void copyBlobs(int layer, int[] experts, int count, MemorySegment[] targets) {
        copy(layer, experts, count, targets, null, 0);
    }

    @Override
    public long partsBytes(int layer) {
        return files.partsBytes(layer);
    }

    @Override
    public void copyInParts(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts[] parts, long turn) {
        copy(layer, experts, count, targets, parts, turn);
    }

    /** @param parts null when blobs have to be whole */
    private void copy(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts @Nullable [] parts, long turn) {
        Slot[] found = new Slot[count];
        BlobBatch missing = new BlobBatch(count, parts != null);
        synchronized (lock) {
            reads++;
            for (int i = 0; i < count; i++) {
                Slot slot = find(layer, experts[i]);
                if (slot == null) {
                    missing.add(i, experts, targets, parts);
                } else {
                    slot.users++;
                    found[i] = slot;
                }
            }
        }
        try {
            missing.copy(files, layer, turn);
            BlobBatch failed = new BlobBatch(count, parts != null);
            long bytes = layout(layer).blobBytes();
            for (int i = 0; i < count; i++) {
                if (found[i] == null) {
                    continue;
                }
                if (!take(found[i], layer, experts[i], targets[i], bytes)) {
                    failed.add(i, experts, targets, parts);
                } else if (parts != null) {
                    parts[i].whole(bytes);
                }
            }
            failed.copy(files, layer, turn);
        } finally {
            synchronized (lock) {
                reads--;
                for (Slot slot : found) {
                    if (slot != null) {
                        slot.users--;
                    }
                }
                lock.notifyAll();
            }
        }
    }

    private @Nullable Slot find(int layer, int expert) {
        for (Slot slot : slots) {
            if (slot.holds(layer, expert)) {
                return slot;
            }
        }
        return null;
    }

    /** Copies a blob that was read ahead, or is being read; false when that failed. */
    private boolean take(Slot slot, int layer, int expert, MemorySegment target, long bytes) {
        synchronized (lock) {
            while (slot.state == State.READING && !closed) {
                try {
                    lock.wait();
                } catch (InterruptedException stop) {
                    Thread.currentThread().interrupt();
                    return false;
                }
            }
            if (slot.state != State.READY || !slot.holds(layer, expert)) {
                return false;
            }
            used++;
        }
        // Nobody fills a slot again while it has users.
        MemorySegment.copy(slot.memory, 0, target, 0, bytes);
        return true;
    }

    private void run() {
        while (true) {
            Slot slot;
            synchronized (lock) {
                while (!closed && (expected == null || reads > 0)) {
                    try {
                        lock.wait();
                    } catch (InterruptedException stop) {
                        return;
                    }
                }
                if (closed) {
                    return;
                }
                slot = claim();
            }
            if (slot != null) {
                read(slot);
            }
        }
    }

    /** A slot for the next of the expected experts that is not here yet; null when there is none. */
    private @Nullable Slot claim() {
        int[] experts = java.util.Objects.requireNonNull(expected);
        while (expectedFrom < experts.length) {
            int expert = experts[expectedFrom++];
            if (find(expectedLayer, expert) != null) {
                continue;
            }
            for (int tries = 0; tries < slots.size(); tries++) {
                Slot slot = slots.get(next);
                next = (next + 1) % slots.size();
                if (slot.users == 0 && slot.state != State.READING) {
                    slot.state = State.READING;
                    slot.layer = expectedLayer;
                    slot.expert = expert;
                    return slot;
                }
            }
        }
        expected = null;
        return null;
    }

    private void read(Slot slot) {
        State state = State.READY;
        try {
            files.copyBlob(slot.layer, slot.expert, slot.memory);
        } catch (RuntimeException failed) {
            // Whoever needs the blob reads it again and reports it.
            state = State.FREE;
        }
        synchronized (lock) {
            slot.state = state;
            guessed += state == State.READY ? 1 : 0;
            lock.notifyAll();
        }
    }

    /** What was found out about reading ahead; empty while it is not known. */
    public java.util.OptionalDouble ratio() {
        synchronized (lock) {
            return gate.ratio();
        }
    }

    /** Blobs that were read ahead. */
    public long guessed() {
        synchronized (lock) {
            return guessed;
        }
    }

    /** Blobs of them that were asked for. */
    public long used() {
        synchronized (lock) {
            return used;
        }
    }

    @Override
    public void waited(long nanos) {
        counters().waited(nanos);
    }

    @Override
    public boolean isUnbuffered() {
        return files.isUnbuffered();
    }

    @Override
    public ReadCounters counters() {
        return files.counters();
    }

    @Override
    public void close() {
        synchronized (lock) {
            closed = true;
            lock.notifyAll();
        }
        try {
            reader.join();
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        files.close();
        memory.close();
    }
}
