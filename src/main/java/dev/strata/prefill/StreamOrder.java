package dev.strata.prefill;

import dev.strata.expert.ArenaLayout;
import java.util.ArrayList;
import java.util.List;

/** The groups of a stream in the order in which they cross the link: a pure function of where blobs lie. */
public final class StreamOrder {
    /** Copies into slots that one group makes. */
    public static final int SLOTS_A_GROUP = 32;

    private final List<StreamGroup> groups;
    private final int[] firstGroup;
    private final long bytes;

    private StreamOrder(List<StreamGroup> groups, int layers) {
        this.groups = List.copyOf(groups);
        firstGroup = new int[layers + 1];
        for (int layer = 0; layer < layers; layer++) {
            int next = firstGroup[layer];
            while (next < groups.size() && groups.get(next).layer() == layer) {
                next++;
            }
            firstGroup[layer + 1] = next;
        }
        bytes = groups.stream()
                .flatMap(group -> group.transfers().stream())
                .mapToLong(Transfer::bytes)
                .sum();
    }

    /** Every expert of every layer in ascending order; those that are not resident get a place in the ring. */
    public static StreamOrder all(BlobPlaces places, int groupSize) {
        List<StreamGroup> groups = new ArrayList<>();
        ArenaLayout layout = places.layout();
        for (int layer = 0; layer < layout.layers(); layer++) {
            int experts = layout.experts(layer);
            for (int first = 0; first < experts; first += groupSize) {
                int count = Math.min(groupSize, experts - first);
                int[] missing = new int[count];
                int found = 0;
                for (int expert = first; expert < first + count; expert++) {
                    if (!places.isResident(layer, expert)) {
                        missing[found++] = expert;
                    }
                }
                groups.add(group(places, layer, first, count, missing, found));
            }
        }
        return new StreamOrder(groups, layout.layers());
    }

    /**
     * Some experts of one layer in ascending order, in groups of at most {@code groupSize}; the groups cover the ids of the whole layer
     * between them.
     */
    public static StreamOrder some(BlobPlaces places, int layer, int[] experts, int count, int groupSize) {
        List<StreamGroup> groups = new ArrayList<>();
        int from = 0;
        for (int next = 0; next < count; next += groupSize) {
            int size = Math.min(groupSize, count - next);
            int[] part = new int[size];
            System.arraycopy(experts, next, part, 0, size);
            int to = next + size == count ? places.layout().experts(layer) : part[size - 1] + 1;
            groups.add(group(places, layer, from, to - from, part, size));
            from = to;
        }
        return new StreamOrder(groups, 0);
    }

    /** Copies of whole blobs to fixed places in the cache allocation, {@code targets[i]} for each. */
    public static StreamOrder slots(BlobPlaces places, int[] layers, int[] experts, long[] targets, int count) {
        List<StreamGroup> groups = new ArrayList<>();
        for (int first = 0; first < count; first += SLOTS_A_GROUP) {
            List<Transfer> transfers = new ArrayList<>();
            for (int i = first; i < Math.min(count, first + SLOTS_A_GROUP); i++) {
                long stride = places.layout().stride(layers[i]);
                transfers.add(new Transfer(
                        layers[i],
                        experts[i] * stride,
                        stride,
                        targets[i],
                        places.pinnedRange(layers[i], experts[i]) >= 0,
                        places.piecesAllowed() ? 1 : stride));
            }
            groups.add(new StreamGroup(-1, 0, 0, 0, transfers));
        }
        return new StreamOrder(groups, 0);
    }

    private static StreamGroup group(BlobPlaces places, int layer, int first, int count, int[] missing, int found) {
        long stride = places.layout().stride(layer);
        List<Transfer> transfers = new ArrayList<>();
        for (int i = 0; i < found; ) {
            int range = places.pinnedRange(layer, missing[i]);
            int run = 1;
            while (i + run < found
                    && missing[i + run] == missing[i] + run
                    && places.pinnedRange(layer, missing[i + run]) == range) {
                run++;
            }
            transfers.add(new Transfer(
                    layer,
                    missing[i] * stride,
                    run * stride,
                    i * stride,
                    range >= 0,
                    places.piecesAllowed() ? 1 : stride));
            i += run;
        }
        return new StreamGroup(layer, first, count, found * stride, transfers);
    }

    public int size() {
        return groups.size();
    }

    public StreamGroup group(int index) {
        return groups.get(index);
    }

    /** Index of a layer's first group; {@code layer} may be the number of layers. */
    public int firstGroup(int layer) {
        return firstGroup[layer];
    }

    /** Whether it is that of a whole pass, through all layers. */
    boolean wholeModel() {
        return firstGroup.length > 1;
    }

    /** Bytes that cross the link. */
    public long bytes() {
        return bytes;
    }
}
