package dev.strata.cuda;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Where the time of programs goes, from the clocks of all blocks: for each kind of phase the time until a block waits (copies and reads ahead
 * are queued), its wait for the others, and its work behind that.
 */
final class PhaseTimes {
    private static final int STAMPS = 4;

    private static final class Sum {
        private int phases;
        private double before;
        private double wait;
        private double leastWait;
        private double work;
        private double longestWork;
        private double whole;
    }

    private final Map<String, Sum> sums = new LinkedHashMap<>();
    private double nanoseconds;
    private double cycles;
    private int programs;

    /**
     * Adds a program's clocks.
     *
     * @param clocks [phase][block][begin, wait, end of the wait, end], then [block][begin, end] in nanoseconds
     */
    void add(List<String> names, long[] clocks, int blocks) {
        programs++;
        for (int phase = 0; phase < names.size(); phase++) {
            Sum sum = sums.computeIfAbsent(names.get(phase), key -> new Sum());
            sum.phases++;
            double least = Double.MAX_VALUE;
            double longest = 0;
            for (int block = 0; block < blocks; block++) {
                int at = STAMPS * (phase * blocks + block);
                sum.before += (double) (clocks[at + 1] - clocks[at]) / blocks;
                double wait = clocks[at + 2] - clocks[at + 1];
                double work = clocks[at + 3] - clocks[at + 2];
                sum.wait += wait / blocks;
                sum.work += work / blocks;
                sum.whole += (double) (clocks[at + 3] - clocks[at]) / blocks;
                least = Math.min(least, wait);
                longest = Math.max(longest, work);
            }
            sum.leastWait += least;
            sum.longestWork += longest;
        }
        int ends = STAMPS * names.size() * blocks;
        long last = 0;
        long first = Long.MAX_VALUE;
        for (int block = 0; block < blocks; block++) {
            first = Math.min(first, clocks[ends + 2 * block]);
            last = Math.max(last, clocks[ends + 2 * block + 1]);
            cycles += (double) (clocks[STAMPS * ((names.size() - 1) * blocks + block) + 3] - clocks[STAMPS * block])
                    / blocks;
        }
        nanoseconds += last - first;
    }

    /** One line a kind of phase, microseconds each. */
    String table() {
        double each = cycles == 0 ? 1 : nanoseconds / cycles / 1e3;
        StringBuilder table = new StringBuilder(String.format(
                Locale.ROOT,
                "%d programs, %.3f ms each, a cycle is %.3f ns; microseconds a phase, mean over blocks:%n",
                programs,
                nanoseconds / Math.max(1, programs) / 1e6,
                1e3 * each));
        sums.forEach((name, sum) -> table.append(String.format(
                Locale.ROOT,
                "%-24s %5d phases, whole %6.2f = until the wait %5.2f, wait %5.2f (least %5.2f), work %5.2f (longest %5.2f)%n",
                name,
                sum.phases / Math.max(1, programs),
                each * sum.whole / sum.phases,
                each * sum.before / sum.phases,
                each * sum.wait / sum.phases,
                each * sum.leastWait / sum.phases,
                each * sum.work / sum.phases,
                each * sum.longestWork / sum.phases)));
        return table.toString();
    }
}
