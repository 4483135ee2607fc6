package dev.strata.expert;

import dev.strata.device.HostBuffer;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * Hit rates of three ways to run a cache of the same size over the same choices: the adaptive cache, the experts that the first part of
 * the trace used most and that stay, and the least recently used expert of the layer making room at every miss.
 */
public final class CacheReplay {
    private final ArenaLayout layout;
    private final RoutingTrace trace;
    private final int counted;

    /** @param counted first step whose lookups count; the steps before it fill caches and profiles */
    public CacheReplay(ArenaLayout layout, RoutingTrace trace, int counted) {
        this.layout = layout;
        this.trace = trace;
        this.counted = counted;
    }

    /**
     * What a cache did.
     *
     * @param hitRate share of lookups
     * @param swaps a step, which cost the link a blob each
     * @param kept missed experts a step that were given a slot
     */
    public record Result(double hitRate, double swaps, double kept) {}

    /** The cache as it runs in decode when the card brings all that is missed, from a profile without knowledge. */
    public Result adaptive(int slots, SlotAdaptation adaptation) {
        ExpertProfile even = ExpertProfile.even(layout);
        SlotPlan plan = SlotPlan.fit(layout, even.ranking(), Long.MAX_VALUE, slots);
        MemorySegment nothing = MemorySegment.ofAddress(4096).reinterpret(Math.max(1, plan.bytes()));
        ExpertUsage usage = new ExpertUsage(even, 1);
        Newcomers newcomers = new Newcomers(trace.most());
        SwapJudge judge = new SwapJudge(layout);
        long lookups = 0;
        long hits = 0;
        long swaps = 0;
        long kept = 0;
        try (SlotCache cache = new SlotCache(layout, plan, HostBuffer.of(nothing))) {
            for (int slot = 0; slot < plan.slots(); slot++) {
                cache.loading(slot);
                cache.ready(slot);
            }
            for (int step = 0; step < trace.steps(); step++) {
                int[] choices = trace.step(step);
                for (int i = 0; i < choices.length; i += 2) {
                    boolean hit = cache.isResident(choices[i], choices[i + 1]);
                    if (!hit) {
                        newcomers.add(choices[i], choices[i + 1], 0);
                    }
                    usage.count(choices[i], choices[i + 1], hit, 1);
                    judge.used(choices[i], choices[i + 1]);
                    if (step >= counted) {
                        lookups++;
                        hits += hit ? 1 : 0;
                    }
                }
                int admitted =
                        newcomers.admit(cache, usage, adaptation.minimumGain(), (slot, layer, newcomer, place) -> {
                            cache.replace(slot, newcomer);
                            cache.loading(slot);
                            cache.ready(slot);
                        });
                kept += step >= counted ? admitted : 0;
                if ((step + 1) % adaptation.every() == 0) {
                    List<SlotAdaptation.Swap> chosen = adaptation.choose(cache, usage, judge.factor());
                    swap(cache, chosen, judge);
                    judge.endRound();
                    swaps += step >= counted ? chosen.size() : 0;
                    usage.decay(adaptation.decay());
                }
            }
        }
        double steps = Math.max(1, trace.steps() - counted);
        return new Result(rate(hits, lookups), swaps / steps, kept / steps);
    }

    private static void swap(SlotCache cache, List<SlotAdaptation.Swap> swaps, SwapJudge judge) {
        for (SlotAdaptation.Swap swap : swaps) {
            judge.swapped(swap.layer(), cache.expert(swap.slot()), swap.newcomer());
            cache.replace(swap.slot(), swap.newcomer());
            cache.loading(swap.slot());
            cache.ready(swap.slot());
        }
    }

    /** The experts that the steps before the counted ones used most keep their slots. */
    public double fixed(int slots) {
        float[][] heat = new float[layout.layers()][];
        for (int layer = 0; layer < heat.length; layer++) {
            heat[layer] = new float[layout.experts(layer)];
        }
        for (int step = 0; step < counted; step++) {
            int[] choices = trace.step(step);
            for (int i = 0; i < choices.length; i += 2) {
                heat[choices[i]][choices[i + 1]]++;
            }
        }
        SlotPlan plan = SlotPlan.fit(layout, new ExpertProfile(heat).ranking(), Long.MAX_VALUE, slots);
        boolean[][] resident = new boolean[layout.layers()][];
        for (int layer = 0; layer < resident.length; layer++) {
            resident[layer] = new boolean[layout.experts(layer)];
        }
        for (int slot = 0; slot < plan.slots(); slot++) {
            resident[plan.layers()[slot]][plan.experts()[slot]] = true;
        }
        long lookups = 0;
        long hits = 0;
        for (int step = counted; step < trace.steps(); step++) {
            int[] choices = trace.step(step);
            for (int i = 0; i < choices.length; i += 2) {
                lookups++;
                hits += resident[choices[i]][choices[i + 1]] ? 1 : 0;
            }
        }
        return rate(hits, lookups);
    }

    /** Every missed expert takes the slot of the one of its layer that was used longest ago. */
    public double leastRecentlyUsed(int slots) {
        SlotPlan plan = SlotPlan.fit(layout, ExpertProfile.even(layout).ranking(), Long.MAX_VALUE, slots);
        int[] slotsOf = new int[layout.layers()];
        for (int layer : plan.layers()) {
            slotsOf[layer]++;
        }
        long[][] used = new long[layout.layers()][];
        for (int layer = 0; layer < used.length; layer++) {
            used[layer] = new long[layout.experts(layer)];
        }
        int[] resident = new int[layout.layers()];
        long lookups = 0;
        long hits = 0;
        long now = 0;
        for (int step = 0; step < trace.steps(); step++) {
            int[] choices = trace.step(step);
            for (int i = 0; i < choices.length; i += 2) {
                int layer = choices[i];
                int expert = choices[i + 1];
                boolean hit = used[layer][expert] > 0;
                if (!hit && slotsOf[layer] > 0) {
                    if (resident[layer] == slotsOf[layer]) {
                        used[layer][oldest(used[layer])] = 0;
                    } else {
                        resident[layer]++;
                    }
                }
                if (hit || slotsOf[layer] > 0) {
                    used[layer][expert] = ++now;
                }
                if (step >= counted) {
                    lookups++;
                    hits += hit ? 1 : 0;
                }
            }
        }
        return rate(hits, lookups);
    }

    /** What a cache that knew all choices to come would hit: no way of choosing hits more. */
    public double optimal(int slots) {
        return OptimalReplay.hitRate(layout, trace, counted, slots);
    }

    private static int oldest(long[] used) {
        long least = Arrays.stream(used).filter(time -> time > 0).min().orElseThrow();
        for (int expert = 0; expert < used.length; expert++) {
            if (used[expert] == least) {
                return expert;
            }
        }
        throw new IllegalStateException("no expert has a slot");
    }

    private static double rate(long hits, long lookups) {
        return lookups == 0 ? 1 : hits / (double) lookups;
    }
}
