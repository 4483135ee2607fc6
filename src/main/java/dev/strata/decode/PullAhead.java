package dev.strata.decode;

import static dev.strata.decode.Closing.own;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.MissShare;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.SlotCache;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Guesses which experts the next layers of a step will miss and has them brought while a layer computes. The card applies the routers of the next layer and of
 * the one behind it to a layer's row and writes the products to mapped memory; a thread takes the best experts without a slot. Guesses change no result.
 */
final class PullAhead implements AutoCloseable {
    private static final VarHandle PRODUCT = JAVA_LONG.varHandle();

    /** Copies that may be under way where the processor computes a part: a further one would keep the next layer's question and blobs from the link. */
    private static final int BESIDE_MEETINGS = 1;

    /** Passes before the first number of a guess can come again. */
    private static final int FRESH_NUMBERS = 1 << (Integer.SIZE - 2 * MissShare.GUESSED_LAYER_BITS);

    /** Looks at products that have not come. */
    private static final int PATIENCE = 100_000;

    private final Device device;
    private final SlotCache cache;
    private final ArenaLayout layout;
    private final PlacedBlobs blobs;
    private final ComingExperts coming;
    private final Buffer products;
    private final NumberWatch guesses;
    private final List<AutoCloseable> owned;
    private final GuessGate gate = new GuessGate();
    private long found;
    private long foundBefore;
    private long judged;
    private int passes;
    private final float[] logits;
    private final float[] best;
    private final int[] ranked;
    private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
    private volatile int used = 1;
    private volatile int limit = ComingExperts.UNDER_WAY;
    private boolean attached;
    private int handled;

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
        int experts = 1;
        for (int layer = 0; layer < layout.layers(); layer++) {
            experts = Math.max(experts, layout.experts(layer));
        }
        logits = new float[experts];
        best = new float[experts];
        ranked = new int[experts];
        List<AutoCloseable> made = new ArrayList<>();
        try {
            coming = own(made, new ComingExperts(device, layout, blobs, memory, base, firstPlace, places));
            products = own(made, device.allocatePinned(8L * experts * MissShare.GUESSED_LAYERS, "guessed experts"));
            products.host().fill((byte) 0);
            guesses = own(made, new NumberWatch("experts ahead", products.host(), 4, this::guessed));
        } catch (RuntimeException failed) {
            Closing.all(made);
            throw failed;
        }
        owned = made;
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
                coming.entries(layer),
                coming.arrived());
    }

    /**
     * A pass that may guess begins.
     *
     * @param meets whether its layers ask the processor
     * @param stream where its kernels are queued
     */
    void begin(boolean meets, Stream stream) {
        if (++passes % FRESH_NUMBERS == 0) {
            coming.forget(stream);
        }
        if (gate.open()) {
            limit = meets ? BESIDE_MEETINGS : ComingExperts.UNDER_WAY;
            guesses.begin();
        } else {
            // The thread hears guesses until it falls asleep.
            limit = 0;
        }
    }

    /** The last step used a blob that had been brought ahead. */
    void found() {
        found++;
    }

    /**
     * The last step is over, and all that it used has been told: nothing is brought for its guesses any more, so that places stay as they are until there are new
     * ones. Returns how many blobs it used that had been brought ahead.
     */
    synchronized int stepEnded() {
        handled = guesses.number();
        int foundNow = (int) (found - foundBefore);
        gate.step((int) (coming.brought() - judged), foundNow);
        judged = coming.brought();
        foundBefore = found;
        return foundNow;
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

    /** Lets others have the places, behind the copies that are under way. */
    synchronized void leave(Stream other) {
        handled = guesses.number();
        coming.leave(other);
    }

    /** Whether a spare slot of this one still holds what was brought there; those of others do. */
    synchronized boolean holds(int place, int layer, int expert) {
        return coming.holds(place, layer, expert);
    }

    /** Blobs that were brought so far. */
    synchronized long brought() {
        return coming.brought();
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
        int free = limit - coming.underWay();
        if (free <= 0 || !collect(tag, behind, layout.experts(layer))) {
            return;
        }
        int most = Math.min(free, coming.room(layer, number));
        int ranks = rank(layout.experts(layer));
        int count = 0;
        for (int i = 0; i < ranks && count < most; i++) {
            int expert = ranked[i];
            if (!cache.isResident(layer, expert) && blobs.address(layer, expert) != 0 && !coming.has(layer, expert)) {
                ranked[count++] = expert;
            }
        }
        coming.bring(layer, ranked, count);
    }

    @Override
    public void close() {
        Closing.all(owned);
    }
}
