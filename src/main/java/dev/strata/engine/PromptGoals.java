package dev.strata.engine;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Ratios between the arms of one run, held against what the prompt path is meant to reach. The bound of an arm is what its streamed bytes
 * take at the link's best measured rate, or, where experts were also measured resident, what the products alone take; an arm cannot be
 * faster than the larger of the two.
 */
final class PromptGoals {
    private static final int SMALL_CHUNK = 8192;
    private static final int LARGE_CHUNK = 32_768;

    private final List<Result> results;
    private final double linkRate;

    /** @param linkRate best measured rate of copies out of registered memory, GB/s */
    PromptGoals(List<Result> results, double linkRate) {
        this.results = results;
        this.linkRate = linkRate;
    }

    /**
     * Medians of one arm.
     *
     * @param longBytes bytes of experts that one long prompt streams, as its orders say
     */
    record Result(PromptArm arm, int chunk, int longTokens, double longRate, double shortRate, double longBytes) {
        double longSeconds() {
            return longTokens / longRate;
        }
    }

    /** One row for each goal whose arms were run. */
    List<Map<String, Object>> rows() {
        List<Map<String, Object>> rows = new ArrayList<>();
        for (Result result : results) {
            if (!result.arm().resident() && result.arm().plain() && result.longBytes() > 0) {
                bounds(rows, result);
            }
        }
        for (int chunk : new int[] {SMALL_CHUNK, LARGE_CHUNK}) {
            Optional<Result> all = find(chunk, arm -> is(arm, "0", "pieces"));
            Optional<Result> none = find(chunk, arm -> is(arm, "none", "pieces"));
            Optional<Result> old = find(chunk, arm -> is(arm, "none", "old"));
            if (all.isPresent() && none.isPresent()) {
                double ratio = none.get().longRate() / all.get().longRate();
                goal(rows, "nothing pinned / all pinned, chunks of " + chunk, ratio, chunk == LARGE_CHUNK ? 0.97 : 0);
            }
            if (old.isPresent() && none.isPresent()) {
                double ratio = none.get().longRate() / old.get().longRate();
                goal(rows, "default / old sizing, long prompts, chunks of " + chunk, ratio, 1.10);
                for (Result other : results) {
                    if (other.chunk() == chunk && other.arm().plain() && other.shortRate() > 0) {
                        goal(
                                rows,
                                other.arm().name() + " / old sizing, short prompts, chunks of " + chunk,
                                other.shortRate() / old.get().shortRate(),
                                0.98);
                    }
                }
            }
        }
        return rows;
    }

    private void bounds(List<Map<String, Object>> rows, Result result) {
        double link = result.longBytes() / 1e9 / linkRate;
        boolean small = result.chunk() <= SMALL_CHUNK;
        double linkGoal = is(result.arm(), "0", "pieces") ? 0.92 : is(result.arm(), "none", "pieces") ? 0.85 : 0;
        String name = result.arm().name() + ", long prompts, chunks of " + result.chunk();
        goal(rows, name + ": share of the link's bound", link / result.longSeconds(), small ? linkGoal : 0);
        Optional<Result> computed = find(result.chunk(), PromptArm::resident);
        if (computed.isPresent()) {
            double bound = Math.max(link, computed.get().longSeconds());
            goal(
                    rows,
                    name + ": share of the larger of link's bound and products alone",
                    bound / result.longSeconds(),
                    small || linkGoal == 0 ? 0 : 0.80);
        }
    }

    private Optional<Result> find(int chunk, Predicate<PromptArm> which) {
        return results.stream()
                .filter(result -> result.chunk() == chunk && which.test(result.arm()))
                .findFirst();
    }

    private static boolean is(PromptArm arm, String pinned, String sizing) {
        return arm.plain() && arm.pinned().equals(pinned) && arm.sizing().equals(sizing);
    }

    /** @param goal 0 where there is none */
    private static void goal(List<Map<String, Object>> rows, String name, double ratio, double goal) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("what", "ratio");
        row.put("name", name);
        row.put("ratio", Math.round(ratio * 1000) / 1000.0);
        if (goal > 0) {
            row.put("goal", goal);
            row.put("met", ratio >= goal);
        }
        rows.add(row);
    }
}
