package dev.strata.decode;

import static dev.strata.decode.Closing.own;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.MissShare;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Experts on their way to spare slots, which they take in turn. The card's copy engine brings them, which takes nothing from the kernels. Entries that say
 * what is coming go ahead of the blobs: the kernel that shares out a layer's misses takes experts for hits when it finds their entries, and for misses when
 * those came too late. Behind every blob goes its ticket, for which the card waits. One thread at a time uses it.
 */
final class ComingExperts implements AutoCloseable {
    /** Copies that may be under way: about what a layer has time for. */
    static final int UNDER_WAY = MissShare.MOST_COMING;

    /** Places that have to be there: a layer's blobs are read while those of the next two layers come. */
    static final int LEAST_PLACES = (1 + MissShare.GUESSED_LAYERS) * MissShare.MOST_COMING;

    /** Entries that wait for their copies, by far more than can be under way. */
    private static final int RECORDS = 64;

    private static final long TICKET_ROOM = 64;

    private static final int NOTHING = -1;

    private final Device device;
    private final ArenaLayout layout;
    private final PlacedBlobs blobs;
    private final Buffer memory;
    private final long base;
    private final int firstPlace;
    private final int[] contents;
    private final Buffer records;
    private final Buffer entries;
    private final Buffer arrived;
    private final Stream stream;
    private final Stream told;
    private final Stream landed;
    private final Event[] done;
    private final List<AutoCloseable> owned;
    private final int[] numbers;
    private final int[] counts;
    private final int[][] coming;
    private long tickets;

    /**
     * Makes what the copies need.
     *
     * @param base where the spare slots start in {@code memory}
     * @param firstPlace the first spare slot that is this one's; {@code places} of them are
     */
    ComingExperts(
            Device device,
            ArenaLayout layout,
            PlacedBlobs blobs,
            Buffer memory,
            long base,
            int firstPlace,
            int places) {
        this.device = device;
        this.layout = layout;
        this.blobs = blobs;
        this.memory = memory;
        this.base = base;
        this.firstPlace = firstPlace;
        contents = new int[places];
        Arrays.fill(contents, NOTHING);
        numbers = new int[layout.layers()];
        counts = new int[layout.layers()];
        coming = new int[layout.layers()][MissShare.MOST_COMING];
        done = new Event[UNDER_WAY];
        List<AutoCloseable> made = new ArrayList<>();
        try {
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
        } catch (RuntimeException failed) {
            Closing.all(made);
            throw failed;
        }
        owned = made;
    }

    /** Where kernels find what comes for a layer. */
    long entries(int layer) {
        return entries.address() + layer * MissShare.COMING_BYTES;
    }

    /** Ticket of the last blob that came. */
    Buffer arrived() {
        return arrived;
    }

    /** Lets others have the places, behind the copies that are under way. */
    void leave(Stream other) {
        Arrays.fill(contents, NOTHING);
        for (Event event : done) {
            other.waitFor(event);
        }
    }

    /** Clears all entries, behind what is queued: numbers of guesses come round, and one that was left is of another expert then. */
    void forget(Stream steps) {
        device.fill(entries, 0, entries.bytes(), 0, steps);
    }

    /** Whether a spare slot of this one still holds what was brought there; those of others do. */
    boolean holds(int place, int layer, int expert) {
        return place < firstPlace || contents[place - firstPlace] == key(layer, expert);
    }

    private static int key(int layer, int expert) {
        return (layer << 16) | expert;
    }

    int underWay() {
        int count = 0;
        for (Event event : done) {
            count += event.isDone() ? 0 : 1;
        }
        return count;
    }

    /** How many more can come for a layer's guess of a number; what came for an older one is forgotten. */
    int room(int layer, int number) {
        if (numbers[layer] != number) {
            numbers[layer] = number;
            counts[layer] = 0;
        }
        return MissShare.MOST_COMING - counts[layer];
    }

    /** Whether an expert comes already for its layer's last guess. */
    boolean has(int layer, int expert) {
        for (int i = 0; i < counts[layer]; i++) {
            if (coming[layer][i] == expert) {
                return true;
            }
        }
        return false;
    }

    /** Brings experts for a layer's last guess, not more than there is room for: all entries, which are not kept waiting by blobs, then every blob with its ticket behind it. */
    void bring(int layer, int[] experts, int count) {
        for (int i = 0; i < count; i++) {
            tell(layer, experts[i], tickets + 1 + i);
        }
        for (int i = 0; i < count; i++) {
            copy(layer, experts[i], ++tickets);
        }
    }

    private void tell(int layer, int expert, long ticket) {
        MemorySegment entry = entry(ticket);
        entry.setAtIndex(JAVA_INT, 0, numbers[layer]);
        entry.setAtIndex(JAVA_INT, 1, expert | ((firstPlace + place(ticket)) << 16));
        entry.setAtIndex(JAVA_INT, 2, (int) ticket);
        entry.setAtIndex(JAVA_INT, 3, numbers[layer]);
        contents[place(ticket)] = key(layer, expert);
        long at = layer * MissShare.COMING_BYTES + counts[layer] * MissShare.ENTRY_BYTES;
        coming[layer][counts[layer]++] = expert;
        device.copyToDevice(entry, entries, at, told);
    }

    private void copy(int layer, int expert, long ticket) {
        long bytes = layout.layout(layer).blobBytes();
        MemorySegment blob = blobs.direct(layer, expert * layout.stride(layer), bytes);
        device.copyToDevice(blob, memory, base + (firstPlace + place(ticket)) * layout.maxStride(), stream);
        Event copied = done[(int) (ticket % UNDER_WAY)];
        copied.record(stream);
        // In another stream, so that it waits for the blob's last byte: copies of one stream may overlap.
        landed.waitFor(copied);
        device.copyToDevice(entry(ticket).asSlice(8, 4), arrived, 0, landed);
    }

    /** The slot, of this one's, that the blob of a ticket takes. */
    private int place(long ticket) {
        return (int) (ticket % contents.length);
    }

    private MemorySegment entry(long ticket) {
        return records.host().asSlice(ticket % RECORDS * MissShare.ENTRY_BYTES, MissShare.ENTRY_BYTES);
    }

    /** Blobs that were brought so far. */
    long brought() {
        return tickets;
    }

    @Override
    public void close() {
        stream.synchronize();
        told.synchronize();
        landed.synchronize();
        Closing.all(owned);
    }
}
