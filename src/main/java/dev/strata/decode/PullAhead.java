package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.MissShare;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.SlotCache;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Brings experts that the next layers of a step will probably miss, while a layer computes. The card applies the routers of the next layer and of the one
 * behind it to a layer's row and writes the products to mapped memory; a thread takes the best experts without a slot and queues copies of their blobs to
 * spare slots of its own, by the card's copy engine, which takes nothing from the kernels. Entries that say what is coming go ahead of the blobs: the
 * kernel that shares out a layer's misses takes experts for hits when it finds their entries, and for misses when those came too late. Behind every blob
 * goes its ticket, for which the card waits. Guesses change no result.
 */
final class PullAhead implements AutoCloseable {
    private static final VarHandle PRODUCT = JAVA_LONG.varHandle();

    /** Copies that may be under way: about what a layer has time for. */
    private static final int UNDER_WAY = MissShare.MOST_COMING;

    /** The same where the processor computes a part: a further one would keep the next layer's question and blobs from the link. */
    private static final int BESIDE_MEETINGS = 1;

    /** Entries that wait for their copies, by far more than can be under way. */
    private static final int RECORDS = 64;

    private static final long TICKET_ROOM = 64;

    private static final int NOTHING = -1;

    /** Looks at products that have not come. */
    private static final int PATIENCE = 100_000;

    private final Device device;
    private final SlotCache cache;
    private final ArenaLayout layout;
    private final PlacedBlobs blobs;
    private final Buffer memory;
    private final long base;
    private final int firstPlace;
    private final int[] contents;
    private final Buffer products;
    private final Buffer entries;
    private final Buffer arrived;
    private final Buffer records;
    private final Stream stream;
    private final Stream told;
    private final Stream landed;
    private final Event[] done;
    private final NumberWatch guesses;
    private final List<AutoCloseable> owned;
    private final GuessGate gate = new GuessGate();
    private long found;
    private long foundBefore;
    private int judged;
    private final int[] numbers;
    private final int[] counts;
    private final int[][] coming;
    private final float[] logits;
    private final float[] best;
    private final int[] ranked;
    private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
    private volatile int used = 1;
    private volatile int limit = UNDER_WAY;
    private boolean attached;
    private int handled;
    private int tickets;
    private int next;

    /**
     * Makes one that has not begun yet.
     *
     * @param base where the spare slots start in {@code memory}
     * @param firstPlace the first spare slot that is this one's; {@code places} of them are
     */
    PullAhead(Device device, SlotCache cache, PlacedBlobs blobs, Buffer memory, long base, int firstPlace, int places) {
        this.device = device;
        this.cache = cache;
        this.layout = cache.layout();
        this.blobs = blobs;
        this.memory = memory;
        this.base = base;
        this.firstPlace = firstPlace;
        contents = new int[places];
        Arrays.fill(contents, NOTHING);
        int experts = 1;
        for (int layer = 0; layer < layout.layers(); layer++) {
            experts = Math.max(experts, layout.experts(layer));
        }
        numbers = new int[layout.layers()];
        counts = new int[layout.layers()];
        coming = new int[layout.layers()][MissShare.MOST_COMING];
        logits = new float[experts];
        best = new float[experts];
        ranked = new int[experts];
        done = new Event[UNDER_WAY];
        List<AutoCloseable> made = new ArrayList<>();
        try {
            products = own(made, device.allocatePinned(8L * experts * MissShare.GUESSED_LAYERS, "guessed experts"));
            products.host().fill((byte) 0);
            records = own(made, device.allocatePinned(RECORDS * MissShare.ENTRY_BYTES, "experts that are coming"));
            entries = own(made, device.allocate(MissShare.COMING_BYTES * layout.layers(), "experts that are coming"));
            arrived = own(made, device.allocate(TICKET_ROOM, "experts that are there"));
            stream = own(made, device.newStream("experts ahead"));
            told = own(made, device.newStream("experts that are coming"));
            landed = own(made, device.newStream("experts that are there"));
            for (int i = 0; i < done.length; i++) {
                done[i] = own(made, device.newEvent());
            }
            device.fill(entries, 0, entries.bytes(), 0, stream);
            device.fill(arrived, 0, TICKET_ROOM, 0, stream);
            stream.synchronize();
            guesses = own(made, new NumberWatch("experts ahead", products.host(), 4, this::guessed));
        } catch (RuntimeException failed) {
            Closing.all(made);
            throw failed;
        }
        owned = made;
    }

    private static <T extends AutoCloseable> T own(List<AutoCloseable> owned, T made) {
        owned.add(made);
        return made;
    }

    void start() {
        guesses.start();
    }

    /** What kernels of a layer read and write; the last layer guesses nothing. */
    MissShare.Guess guess(int layer, int usedExperts) {
        used = usedExperts;
        return new MissShare.Guess(
                Math.min(MissShare.GUESSED_LAYERS, layout.layers() - 1 - layer),
                products,
                entries.address() + layer * MissShare.COMING_BYTES,
                arrived);
    }

    /**
     * A pass that may guess begins.
     *
     * @param meets whether its layers ask the processor
     */
    void begin(boolean meets) {
        limit = meets ? BESIDE_MEETINGS : UNDER_WAY;
        if (gate.open()) {
            guesses.begin();
        }
    }

    /** The last step used a blob that had been brought ahead. */
    void found() {
        found++;
    }

    /** Blobs that had been brought ahead and the last step used, of those that have been told. */
    int foundInStep() {
        return (int) (found - foundBefore);
    }

    /** The last step is over, and all that it used has been told. */
    void stepEnded() {
        skip();
        int now = brought();
        gate.step(now - judged, foundInStep());
        judged = now;
        foundBefore = found;
    }

    /**
     * The results of all passes have been waited for.
     *
     * @throws RuntimeException what went wrong in one of them
     */
    void settle() {
        guesses.settle();
        RuntimeException failed = failure.getAndSet(null);
        if (failed != null) {
            throw failed;
        }
    }

    /** Missed experts that had been brought ahead. */
    long foreseen() {
        return found;
    }

    /** Nothing is brought any more for what has been guessed so far, so that places stay as they are until something new is guessed. */
    private synchronized void skip() {
        handled = guesses.number();
    }

    /** Lets others have the places, behind the copies that are under way. */
    synchronized void leave(Stream other) {
        handled = guesses.number();
        Arrays.fill(contents, NOTHING);
        for (Event event : done) {
            other.waitFor(event);
        }
    }

    /** Whether a spare slot of this one still holds what was brought there; those of others do. */
    synchronized boolean holds(int place, int layer, int expert) {
        return place < firstPlace || contents[place - firstPlace] == key(layer, expert);
    }

    private static int key(int layer, int expert) {
        return (layer << 16) | expert;
    }

    private synchronized void guessed(int tag) {
        if (tag == handled) {
            return;
        }
        try {
            if (!attached) {
                device.attachThread();
                attached = true;
            }
            int layer = tag & ((1 << MissShare.GUESSED_LAYER_BITS) - 1);
            if (layer < layout.layers()) {
                bring(tag, 0, layer, tag);
            }
            if (limit > BESIDE_MEETINGS && layer + 1 < layout.layers()) {
                bring(tag, 1, layer + 1, tag + (1 << MissShare.GUESSED_LAYER_BITS) + 1);
            }
        } catch (RuntimeException failed) {
            failure.compareAndSet(null, failed);
        }
    }

    /** Waits for the products of a guess, which come in any order; false when those of another one came. */
    private boolean collect(int tag, int behind, int experts) {
        long half = products.bytes() / MissShare.GUESSED_LAYERS;
        MemorySegment all = products.host().asSlice(behind * half, half);
        int patience = PATIENCE;
        for (int expert = 0; expert < experts; expert++) {
            long product = (long) PRODUCT.getAcquire(all, 8L * expert);
            while ((int) (product >>> 32) != tag) {
                if (guesses.number() != tag || --patience == 0) {
                    return false;
                }
                Thread.onSpinWait();
                product = (long) PRODUCT.getAcquire(all, 8L * expert);
            }
            logits[expert] = Float.intBitsToFloat((int) product);
        }
        return true;
    }

    /** Fills {@code ranked} with the experts of the largest products and returns their number. */
    private int rank(int experts) {
        int most = Math.min(used, experts);
        int count = 0;
        for (int expert = 0; expert < experts; expert++) {
            float value = logits[expert];
            if (count == most && value <= best[most - 1]) {
                continue;
            }
            int at = count < most ? count++ : most - 1;
            while (at > 0 && best[at - 1] < value) {
                best[at] = best[at - 1];
                ranked[at] = ranked[at - 1];
                at--;
            }
            best[at] = value;
            ranked[at] = expert;
        }
        return count;
    }

    /**
     * Brings what a layer will probably miss and is not coming yet.
     *
     * @param behind which of the guessed layers it is
     * @param number that the layer's entries get
     */
    private void bring(int tag, int behind, int layer, int number) {
        int free = limit - underWay();
        if (free <= 0 || !collect(tag, behind, layout.experts(layer))) {
            return;
        }
        if (numbers[layer] != number) {
            numbers[layer] = number;
            counts[layer] = 0;
        }
        int ranks = rank(layout.experts(layer));
        int first = counts[layer];
        for (int i = 0; i < ranks && free > 0 && counts[layer] < MissShare.MOST_COMING; i++) {
            int expert = ranked[i];
            if (!cache.isResident(layer, expert) && blobs.address(layer, expert) != 0 && !isComing(layer, expert)) {
                coming[layer][counts[layer]++] = expert;
                free--;
            }
        }
        queue(layer, first);
    }

    private boolean isComing(int layer, int expert) {
        for (int i = 0; i < counts[layer]; i++) {
            if (coming[layer][i] == expert) {
                return true;
            }
        }
        return false;
    }

    private int underWay() {
        int count = 0;
        for (Event event : done) {
            count += event.isDone() ? 0 : 1;
        }
        return count;
    }

    /** Queues the layer's entries from {@code first} on, which are not kept waiting by blobs, then every blob with its ticket behind it. */
    private void queue(int layer, int first) {
        int ticket = tickets;
        int place = next;
        for (int i = first; i < counts[layer]; i++) {
            MemorySegment entry = entry(++ticket);
            entry.setAtIndex(JAVA_INT, 0, numbers[layer]);
            entry.setAtIndex(JAVA_INT, 1, coming[layer][i] | ((firstPlace + place) << 16));
            entry.setAtIndex(JAVA_INT, 2, ticket);
            entry.setAtIndex(JAVA_INT, 3, numbers[layer]);
            contents[place] = key(layer, coming[layer][i]);
            place = (place + 1) % contents.length;
            long at = layer * MissShare.COMING_BYTES + i * MissShare.ENTRY_BYTES;
            device.copyToDevice(entry, entries, at, told);
        }
        long bytes = layout.layout(layer).blobBytes();
        for (int i = first; i < counts[layer]; i++) {
            MemorySegment blob = blobs.direct(layer, coming[layer][i] * layout.stride(layer), bytes);
            device.copyToDevice(blob, memory, base + (firstPlace + next) * layout.maxStride(), stream);
            Event copied = done[++tickets % UNDER_WAY];
            copied.record(stream);
            // In another stream, so that it waits for the blob's last byte: copies of one stream may overlap.
            landed.waitFor(copied);
            device.copyToDevice(entry(tickets).asSlice(8, 4), arrived, 0, landed);
            next = (next + 1) % contents.length;
        }
    }

    private MemorySegment entry(int ticket) {
        return records.host().asSlice((ticket % RECORDS) * MissShare.ENTRY_BYTES, MissShare.ENTRY_BYTES);
    }

    /** Blobs that were brought so far. */
    synchronized int brought() {
        return tickets;
    }

    @Override
    public void close() {
        guesses.close();
        stream.synchronize();
        told.synchronize();
        landed.synchronize();
        Closing.all(owned);
    }
}
