package dev.strata.expert;

import java.util.ArrayList;
import java.util.List;

/**
 * Which expert starts in which slot of the cache, hottest first, slots one behind the other. A slot is as wide as the blobs of its
 * expert's layer and stays with that layer. A pure function over sizes and a ranking.
 *
 * @param layers layer of every slot
 * @param experts expert that it holds at first
 * @param offsets where it starts in the cache
 * @param bytes end of the last slot
 */
public record SlotPlan(int[] layers, int[] experts, long[] offsets, long bytes) {
    /** As many of the ranked experts as fit into {@code capacity} bytes, and at most {@code most} of them. */
    public static SlotPlan fit(ArenaLayout layout, List<ExpertKey> ranking, long capacity, int most) {
        List<ExpertKey> chosen = new ArrayList<>();
        long bytes = 0;
        for (ExpertKey key : ranking) {
            long stride = layout.stride(key.layer());
            if (chosen.size() >= most || bytes + stride > capacity) {
                break;
            }
            chosen.add(key);
            bytes += stride;
        }
        int[] layers = new int[chosen.size()];
        int[] experts = new int[chosen.size()];
        long[] offsets = new long[chosen.size()];
        long offset = 0;
        for (int slot = 0; slot < layers.length; slot++) {
            layers[slot] = chosen.get(slot).layer();
            experts[slot] = chosen.get(slot).expert();
            offsets[slot] = offset;
            offset += layout.stride(layers[slot]);
        }
        return new SlotPlan(layers, experts, offsets, offset);
    }

    public int slots() {
        return layers.length;
    }

    /**
     * The first slot of the tail that has to be lent to get {@code needed} bytes at the end of an allocation of {@code capacity} bytes;
     * {@link #slots} when none has to, -1 when the allocation is too small.
     */
    public int firstLent(long needed, long capacity) {
        if (needed > capacity) {
            return -1;
        }
        int slot = slots();
        while (slot > 0 && end(slot - 1) > capacity - needed) {
            slot--;
        }
        return slot;
    }

    private long end(int slot) {
        return slot + 1 < slots() ? offsets[slot + 1] : bytes;
    }
}
