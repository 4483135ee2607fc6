package dev.strata.expert;

import dev.strata.device.HostRegistration;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/** The registered ranges of an arena, by expert. Closing it takes the registrations back. */
public final class PinnedRanges implements AutoCloseable {
    private final ArenaLayout layout;
    private final List<PinPlan.Range> ranges;
    private final List<HostRegistration> registrations;
    private final int[][] rangeOf;

    PinnedRanges(ArenaLayout layout, List<PinPlan.Range> ranges, List<HostRegistration> registrations) {
        this.layout = layout;
        this.ranges = List.copyOf(ranges);
        this.registrations = List.copyOf(registrations);
        rangeOf = new int[layout.layers()][];
        for (int layer = 0; layer < rangeOf.length; layer++) {
            rangeOf[layer] = new int[layout.experts(layer)];
            Arrays.fill(rangeOf[layer], -1);
        }
        for (int index = 0; index < ranges.size(); index++) {
            PinPlan.Range range = ranges.get(index);
            long stride = layout.stride(range.layer());
            long start = range.offset() - layout.offset(range.layer());
            int first = (int) Math.max(0, Math.ceilDiv(start, stride));
            long end = start + range.bytes();
            for (int expert = first; expert < rangeOf[range.layer()].length && (expert + 1) * stride <= end; expert++) {
                rangeOf[range.layer()][expert] = index;
            }
        }
    }

    /** Nothing registered. */
    public static PinnedRanges none(ArenaLayout layout) {
        return new PinnedRanges(layout, List.of(), List.of());
    }

    /** Number of the registration that holds the whole blob, -1 when none does. Neighbours may be copied at once when it is the same. */
    public int range(int layer, int expert) {
        return rangeOf[layer][expert];
    }

    public boolean isPinned(int layer, int expert) {
        return rangeOf[layer][expert] >= 0;
    }

    /** The address by which kernels read the blob over the link, 0 when it is not registered. */
    public long deviceAddress(int layer, int expert) {
        int index = rangeOf[layer][expert];
        return index < 0
                ? 0
                : registrations.get(index).deviceAddress()
                        + layout.offset(layer, expert)
                        - ranges.get(index).offset();
    }

    /** Registrations. */
    public int count() {
        return ranges.size();
    }

    public long bytes() {
        return ranges.stream().mapToLong(PinPlan.Range::bytes).sum();
    }

    /** Layers with at least one registered range. */
    public int layersWithShare() {
        BitSet layers = new BitSet();
        ranges.forEach(range -> layers.set(range.layer()));
        return layers.cardinality();
    }

    @Override
    public void close() {
        registrations.forEach(HostRegistration::close);
    }
}
