package dev.strata.expert;

import java.util.Arrays;
import java.util.BitSet;

/**
 * Experts without a slot whose blobs lie on the device after a step, so that giving them one costs no copy over the link. The most used ones come
 * first and replace the least used residents of their layer, as long as they are used more. One thread uses it.
 */
public final class Newcomers {
    private static final BitSet NONE = new BitSet();

    private final int[] layers;
    private final int[] experts;
    private final int[] places;
    private final long[] order;
    private int count;

    /** @param most how many there can be at once */
    public Newcomers(int most) {
        layers = new int[most];
        experts = new int[most];
        places = new int[most];
        order = new long[most];
    }

    /** Gives a slot to a newcomer. */
    @FunctionalInterface
    public interface Taker {
        /**
         * Must {@link SlotCache#replace replace} the slot's expert and have it ready when it returns.
         *
         * @param place what came with the newcomer
         */
        void take(int slot, int layer, int newcomer, int place);
    }

    /** Adds one; {@code place} says where its blob lies. */
    public void add(int layer, int expert, int place) {
        layers[count] = layer;
        experts[count] = expert;
        places[count++] = place;
    }

    /**
     * Hands those to {@code taker} that are worth a slot, forgets all, and returns how many it handed over.
     *
     * @param minimumGain how many times the victim's count a newcomer must have
     */
    public int admit(SlotCache cache, ExpertUsage usage, float minimumGain, Taker taker) {
        for (int i = 0; i < count; i++) {
            // Counts are not negative, so that their bits are in their order.
            order[i] = (long) ~Float.floatToIntBits(usage.count(layers[i], experts[i])) << 32 | i;
        }
        Arrays.sort(order, 0, count);
        int admitted = 0;
        for (int i = 0; i < count; i++) {
            int which = (int) order[i];
            int layer = layers[which];
            int expert = experts[which];
            if (cache.slot(layer, expert) >= 0) {
                continue;
            }
            int victim = SlotAdaptation.leastUsed(cache, usage, layer, NONE);
            if (victim >= 0 && usage.count(layer, expert) > minimumGain * usage.count(layer, cache.expert(victim))) {
                taker.take(victim, layer, expert, places[which]);
                admitted++;
            }
        }
        count = 0;
        return admitted;
    }
}
