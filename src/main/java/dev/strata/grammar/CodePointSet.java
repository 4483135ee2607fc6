package dev.strata.grammar;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A set of code points.
 *
 * @param bounds first and last of each range in turn, ascending, ranges neither touching nor overlapping
 */
record CodePointSet(int... bounds) {
    static final int LAST = 0x10FFFF;
    static final CodePointSet ALL = new CodePointSet(0, LAST);
    static final CodePointSet NONE = new CodePointSet();

    static CodePointSet range(int first, int last) {
        return new CodePointSet(first, last);
    }

    static CodePointSet of(String characters) {
        return union(characters
                .codePoints()
                .mapToObj(codePoint -> range(codePoint, codePoint))
                .toList());
    }

    /** All code points for which the predicate holds. */
    static CodePointSet where(java.util.function.IntPredicate predicate) {
        List<int[]> ranges = new ArrayList<>();
        int start = -1;
        for (int codePoint = 0; codePoint <= LAST + 1; codePoint++) {
            boolean in = codePoint <= LAST && predicate.test(codePoint);
            if (in && start < 0) {
                start = codePoint;
            } else if (!in && start >= 0) {
                ranges.add(new int[] {start, codePoint - 1});
                start = -1;
            }
        }
        return of(ranges);
    }

    private static CodePointSet of(List<int[]> ranges) {
        int[] bounds = new int[ranges.size() * 2];
        for (int index = 0; index < ranges.size(); index++) {
            bounds[2 * index] = ranges.get(index)[0];
            bounds[2 * index + 1] = ranges.get(index)[1];
        }
        return new CodePointSet(bounds);
    }

    int ranges() {
        return bounds.length / 2;
    }

    int first(int range) {
        return bounds[2 * range];
    }

    int last(int range) {
        return bounds[2 * range + 1];
    }

    boolean isEmpty() {
        return bounds.length == 0;
    }

    /** Whether it is one character. */
    boolean isSingle() {
        return ranges() == 1 && first(0) == last(0);
    }

    boolean contains(int codePoint) {
        for (int range = 0; range < ranges(); range++) {
            if (codePoint >= first(range) && codePoint <= last(range)) {
                return true;
            }
        }
        return false;
    }

    /** How many of the characters from {@code from} to {@code to} are in it. */
    int count(int from, int to) {
        int count = 0;
        for (int range = 0; range < ranges(); range++) {
            count += Math.max(0, Math.min(to, last(range)) - Math.max(from, first(range)) + 1);
        }
        return count;
    }

    /** Whether no character is beyond {@code last}. */
    boolean containsOnly(int last) {
        return isEmpty() || last(ranges() - 1) <= last;
    }

    CodePointSet union(CodePointSet other) {
        return union(List.of(this, other));
    }

    static CodePointSet union(List<CodePointSet> sets) {
        List<int[]> all = new ArrayList<>();
        for (CodePointSet set : sets) {
            for (int range = 0; range < set.ranges(); range++) {
                all.add(new int[] {set.first(range), set.last(range)});
            }
        }
        all.sort((left, right) -> Integer.compare(left[0], right[0]));
        List<int[]> merged = new ArrayList<>();
        for (int[] range : all) {
            int[] before = merged.isEmpty() ? null : merged.getLast();
            if (before != null && range[0] <= before[1] + 1) {
                before[1] = Math.max(before[1], range[1]);
            } else {
                merged.add(range);
            }
        }
        return of(merged);
    }

    CodePointSet complement() {
        List<int[]> gaps = new ArrayList<>();
        int next = 0;
        for (int range = 0; range < ranges(); range++) {
            if (first(range) > next) {
                gaps.add(new int[] {next, first(range) - 1});
            }
            next = last(range) + 1;
        }
        if (next <= LAST) {
            gaps.add(new int[] {next, LAST});
        }
        return of(gaps);
    }

    CodePointSet intersection(CodePointSet other) {
        if (equals(ALL)) {
            return other;
        }
        if (other.equals(ALL)) {
            return this;
        }
        List<int[]> common = new ArrayList<>();
        int mine = 0;
        int theirs = 0;
        while (mine < ranges() && theirs < other.ranges()) {
            int low = Math.max(first(mine), other.first(theirs));
            int high = Math.min(last(mine), other.last(theirs));
            if (low <= high) {
                common.add(new int[] {low, high});
            }
            if (last(mine) < other.last(theirs)) {
                mine++;
            } else {
                theirs++;
            }
        }
        return of(common);
    }

    CodePointSet minus(CodePointSet other) {
        return intersection(other.complement());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CodePointSet set && Arrays.equals(bounds, set.bounds);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bounds);
    }
}
