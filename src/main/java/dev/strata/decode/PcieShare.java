package dev.strata.decode;

/**
 * How many missed experts the processor takes, by number of misses. Times of both sides are fitted as a constant and a part for every
 * expert, with newer measurements counting more; the count is chosen that makes the slower side fastest. One thread changes it.
 */
final class PcieShare {
    /** Numbers of misses with an entry of their own. */
    static final int MOST_MISSES = 512;

    /** Asking the processor costs a step about this much before anything is computed. */
    private static final double MEETING_NANOS = 10_000;

    /** What a meeting costs that neither side's time shows: the way of the rows and numbers there and back, kernels that wait, workers that wake. */
    private static final double OVERHEAD_NANOS = 40_000;

    private final int[] shares = new int[MOST_MISSES + 1];
    private final boolean fixed;
    private final boolean balanced;
    private final TimeFit processor;
    private final TimeFit link;
    private final double linkAlone;

    /** @param linkAlone nanoseconds of the link for an expert while the processor leaves the RAM to it */
    private PcieShare(boolean fixed, boolean balanced, TimeFit processor, TimeFit link, double linkAlone) {
        this.linkAlone = linkAlone;
        this.fixed = fixed;
        this.balanced = balanced;
        this.processor = processor;
        this.link = link;
    }

    /** A fixed share of the misses for the link, 0 to 1. */
    static PcieShare fixed(double linkShare) {
        PcieShare share = new PcieShare(true, false, new TimeFit(0, 1), new TimeFit(0, 1), 1);
        for (int misses = 0; misses <= MOST_MISSES; misses++) {
            share.shares[misses] = (int) Math.round((1 - linkShare) * misses);
        }
        return share;
    }

    /**
     * A share from rates that were measured at the start.
     *
     * @param balanced whether {@link #measured} refines it
     * @param processorNanos for one expert
     * @param linkNanos for one expert
     */
    static PcieShare measured(boolean balanced, double processorNanos, double linkNanos) {
        PcieShare share = new PcieShare(
                false,
                balanced,
                new TimeFit(MEETING_NANOS, Math.max(1, processorNanos)),
                new TimeFit(0, Math.max(1, linkNanos)),
                Math.max(1, linkNanos));
        share.choose();
        return share;
    }

    /** Nanoseconds in which the link alone brings an expert, as measured at the start; 1 where the split was set. */
    double linkNanos() {
        return linkAlone;
    }

    /** Whether the split was set, not measured. */
    boolean isFixed() {
        return fixed;
    }

    /** Experts for the processor when {@code misses} are missing. */
    int processor(int misses) {
        return shares[Math.min(misses, MOST_MISSES)];
    }

    /** The whole table, by number of misses; not to be changed. */
    int[] table() {
        return shares;
    }

    /** One layer's meeting: what each side had to do and how long it took. */
    void measured(int processorExperts, long processorNanos, int linkExperts, long linkNanos) {
        if (!balanced) {
            return;
        }
        processor.add(processorExperts, processorNanos);
        if (linkExperts > 0) {
            link.add(linkExperts, linkNanos);
        }
    }

    /** Takes up what was measured; true when an entry has changed. */
    boolean refine() {
        return balanced && choose();
    }

    private boolean choose() {
        boolean changed = false;
        int best = 1;
        for (int misses = 1; misses <= MOST_MISSES; misses++) {
            // The best count never falls and rises by at most one with a miss more, since both sides' times are linear.
            // No help at all is another case, in which a first expert alone may not pay while several do.
            best = time(best + 1, misses) < time(best, misses) ? best + 1 : best;
            int next = time(best, misses) < time(0, misses) ? best : 0;
            changed |= shares[misses] != next;
            shares[misses] = next;
        }
        return changed;
    }

    private double time(int given, int misses) {
        if (given > misses) {
            return Double.MAX_VALUE;
        }
        if (given == 0) {
            return link.constant() + linkAlone * misses;
        }
        return Math.max(processor.nanos(given), link.nanos(misses - given)) + OVERHEAD_NANOS;
    }
}
