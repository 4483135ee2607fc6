package dev.strata.expert;

import java.util.ArrayList;
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
 * @param minimumUse count that a newcomer needs
 */
public record SlotAdaptation(int every, int swaps, float decay, float minimumGain, float minimumUse) {
    /** The defaults of the command line. */
    public static final SlotAdaptation DEFAULTS = new SlotAdaptation(4, 96, 0.7f, 1.5f, 2);

    /**
     * One exchange.
     *
     * @param gain difference of the counts
     */
    public record Swap(int slot, int layer, int newcomer, float gain) {}

    /** The swaps of one round, best gain first. Changes nothing. */
    public List<Swap> choose(SlotCache cache, ExpertUsage usage) {
        List<Swap> all = new ArrayList<>();
        List<List<Integer>> slots = slotsByLayer(cache);
        for (int layer = 0; layer < slots.size(); layer++) {
            int current = layer;
            List<Integer> victims = slots.get(layer);
            victims.sort(Comparator.<Integer>comparingDouble(slot -> usage.count(current, cache.expert(slot)))
                    .thenComparing(Comparator.naturalOrder()));
            List<Integer> newcomers = new ArrayList<>();
            for (int expert = 0; expert < cache.layout().experts(layer); expert++) {
                if (cache.slot(layer, expert) < 0 && usage.count(layer, expert) >= minimumUse) {
                    newcomers.add(expert);
                }
            }
            newcomers.sort(Comparator.<Integer>comparingDouble(expert -> -usage.count(current, expert))
                    .thenComparing(Comparator.naturalOrder()));
            for (int i = 0; i < Math.min(victims.size(), newcomers.size()); i++) {
                float old = usage.count(layer, cache.expert(victims.get(i)));
                float fresh = usage.count(layer, newcomers.get(i));
                if (fresh <= old * minimumGain) {
                    break;
                }
                all.add(new Swap(victims.get(i), layer, newcomers.get(i), fresh - old));
            }
        }
        all.sort(Comparator.<Swap>comparingDouble(swap -> -swap.gain()).thenComparingInt(Swap::slot));
        return all.size() > swaps ? List.copyOf(all.subList(0, swaps)) : List.copyOf(all);
    }

    private static List<List<Integer>> slotsByLayer(SlotCache cache) {
        List<List<Integer>> slots = new ArrayList<>();
        for (int layer = 0; layer < cache.layout().layers(); layer++) {
            slots.add(new ArrayList<>());
        }
        for (int slot = 0; slot < cache.slots(); slot++) {
            if (cache.state(slot) == SlotState.READY && !cache.inUse(slot)) {
                slots.get(cache.layer(slot)).add(slot);
            }
        }
        return slots;
    }
}
