package dev.strata.decode;

/**
 * Who computes the missed experts of one layer in one step: the rule that {@code share_misses} follows on the device. Experts that no
 * kernel can reach go to the processor first, then by ascending number as many as {@code shares} gives for that number of misses.
 */
final class MissPlan {
    private final int[] processor;
    private final int[] link;
    private int processors;
    private int links;

    MissPlan(int mostExperts) {
        processor = new int[mostExperts];
        link = new int[mostExperts];
    }

    /**
     * Plans one layer.
     *
     * @param routed whether each expert was chosen
     * @param addresses by expert; 0: no kernel can reach it
     * @param cacheAddress and {@code cacheBytes}: addresses inside are hits
     * @param shares experts for the processor by number of misses, the last entry for all larger numbers
     */
    void make(boolean[] routed, long[] addresses, long cacheAddress, long cacheBytes, int[] shares) {
        int missed = 0;
        int unreachable = 0;
        for (int expert = 0; expert < routed.length; expert++) {
            if (routed[expert] && !resident(addresses[expert], cacheAddress, cacheBytes)) {
                missed++;
                unreachable += addresses[expert] == 0 ? 1 : 0;
            }
        }
        int open = Math.max(0, shares[Math.min(missed, shares.length - 1)] - unreachable);
        processors = 0;
        links = 0;
        for (int expert = 0; expert < routed.length; expert++) {
            if (!routed[expert] || resident(addresses[expert], cacheAddress, cacheBytes)) {
                continue;
            }
            if (addresses[expert] == 0) {
                processor[processors++] = expert;
            } else if (open > 0) {
                open--;
                processor[processors++] = expert;
            } else {
                link[links++] = expert;
            }
        }
    }

    private static boolean resident(long address, long cacheAddress, long cacheBytes) {
        return Long.compareUnsigned(address - cacheAddress, cacheBytes) < 0;
    }

    /** Experts for the processor. */
    int processors() {
        return processors;
    }

    int processor(int index) {
        return processor[index];
    }

    /** Experts that the card reads over the link. */
    int links() {
        return links;
    }

    int link(int index) {
        return link[index];
    }
}
