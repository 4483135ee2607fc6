package dev.strata.expert;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;

/**
 * Chooses swaps of the cache: inside every layer the most used experts without a slot against the least used residents. Slots that the
 * running step reads, that are being loaded or that are lent stay as they are.
 *
 * @param every steps between two rounds
 * @param swaps most swaps in one round
 * @param decay factor on all counts after a round
 * @param minimumGain how many times the victim's count the newcomer must have
 * @param minimumUse uses of the last rounds that a newcomer needs
 */
public record SlotAdaptation(int every, int swaps, float decay, float minimumGain, float minimumUse) {
    /** The defaults of the command line. */
    public static final SlotAdaptation DEFAULTS = new SlotAdaptation(4, 96, 0.88f, 1.05f, 0.9f);

    /**
     * One exchange.
     *
     * @param gain difference of the counts
     */
    public record Swap(int slot, int layer, int newcomer, float gain) {}

    /** The swaps of one round, best gain first. Changes nothing. */
    public List<Swap> choose(SlotCache cache, ExpertUsage usage) {
        return choose(cache, usage, 1);
    }

    /** The same with the least gain multiplied by {@code factor}. */
    public List<Swap> choose(SlotCache cache, ExpertUsage usage, float factor) {
        List<Swap> all = new ArrayList<>();
        BitSet taken = new BitSet(cache.slots());
        for (int layer = 0; layer < cache.layout().layers(); layer++) {
            List<Integer> newcomers = newcomers(cache, usage, layer);
            for (int newcomer : newcomers) {
                int victim = leastUsed(cache, usage, layer, taken);
                if (victim < 0) {
                    break;
                }
                float old = usage.count(layer, cache.expert(victim));
                float fresh = usage.count(layer, newcomer);
                if (fresh <= old * minimumGain * factor) {
                    break;
                }
                taken.set(victim);
                all.add(new Swap(victim, layer, newcomer, fresh - old));
            }
        }
        all.sort(Comparator.<Swap>comparingDouble(swap -> -swap.gain()).thenComparingInt(Swap::slot));
        return all.size() > swaps ? List.copyOf(all.subList(0, swaps)) : all;
    }

    /** Experts of a layer without a slot that were used often enough, most used first; usually few. */
    private List<Integer> newcomers(SlotCache cache, ExpertUsage usage, int layer) {
        List<Integer> newcomers = new ArrayList<>();
        for (int expert = 0; expert < cache.layout().experts(layer); expert++) {
            if (usage.recent(layer, expert) >= minimumUse && cache.slot(layer, expert) < 0) {
                newcomers.add(expert);
            }
        }
        if (newcomers.size() > 1) {
            newcomers.sort(Comparator.<Integer>comparingDouble(expert -> -usage.count(layer, expert))
                    .thenComparing(Comparator.naturalOrder()));
        }
        return newcomers;
    }

    /** The slot of the layer's least used resident that may be replaced and is not {@code taken}, -1 when there is none. */
    static int leastUsed(SlotCache cache, ExpertUsage usage, int layer, BitSet taken) {
        int least = -1;
        float lowest = Float.MAX_VALUE;
        for (int slot : cache.slotsOf(layer)) {
            if (!taken.get(slot) && cache.state(slot) == SlotState.READY) {
                float count = usage.count(layer, cache.expert(slot));
                if (count < lowest) {
                    lowest = count;
                    least = slot;
                }
            }
        }
        return least;
    }
}
