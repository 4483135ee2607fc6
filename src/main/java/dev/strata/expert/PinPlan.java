package dev.strata.expert;

import dev.strata.memory.Bytes;
import dev.strata.os.HostPages;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;

/**
 * Which ranges of the arena to register, in order. A pure function over sizes.
 *
 * @param ranges page-aligned, disjoint, ascending
 * @param byNeed whether the ranges were chosen by what the cache will not hold, instead of whole layers from layer 0 upward
 */
public record PinPlan(List<Range> ranges, boolean byNeed) {
    /** Most bytes that one registration covers. */
    public static final long MAX_SLICE = 64 * Bytes.GIB;

    /** Bytes {@code offset .. offset + bytes} of the arena, inside one layer. */
    public record Range(int layer, long offset, long bytes) {}

    /** Whole layers from layer 0 upward while they fit below the cap. */
    public static PinPlan wholeLayers(ArenaLayout layout, PinSetting setting) {
        List<Range> ranges = new ArrayList<>();
        long left = setting.mostBytes();
        for (int layer = 0; layer < layout.layers(); layer++) {
            long bytes = layerPages(layout, layer);
            if (bytes > left) {
                break;
            }
            left -= bytes;
            addSplit(ranges, layer, layout.offset(layer), bytes);
        }
        return new PinPlan(ranges, false);
    }

    /**
     * The pages of experts that are not {@code resident}, neighbours merged, spread over the layers in turn so that a cap leaves every
     * layer a share.
     */
    public static PinPlan byNeed(ArenaLayout layout, PinSetting setting, BiPredicate<Integer, Integer> resident) {
        List<List<Range>> wanted = new ArrayList<>();
        for (int layer = 0; layer < layout.layers(); layer++) {
            wanted.add(needed(layout, layer, resident));
        }
        List<Range> ranges = new ArrayList<>();
        long left = setting.mostBytes();
        for (int round = 0; ; round++) {
            boolean any = false;
            for (List<Range> layer : wanted) {
                if (round < layer.size()) {
                    any = true;
                    Range range = layer.get(round);
                    if (range.bytes <= left) {
                        left -= range.bytes;
                        ranges.add(range);
                    }
                }
            }
            if (!any) {
                break;
            }
        }
        ranges.sort((a, b) -> Long.compare(a.offset, b.offset));
        return new PinPlan(List.copyOf(ranges), true);
    }

    private static List<Range> needed(ArenaLayout layout, int layer, BiPredicate<Integer, Integer> resident) {
        List<Range> ranges = new ArrayList<>();
        int experts = layout.experts(layer);
        long end = layout.offset(layer) + layerPages(layout, layer);
        for (int first = 0; first < experts; first++) {
            if (resident.test(layer, first)) {
                continue;
            }
            int last = first;
            while (last + 1 < experts && !resident.test(layer, last + 1)) {
                last++;
            }
            long from = layout.offset(layer, first) / HostPages.SMALL_PAGE * HostPages.SMALL_PAGE;
            long to = Math.min(
                    end, Bytes.roundUp(layout.offset(layer, last) + layout.stride(layer), HostPages.SMALL_PAGE));
            if (!ranges.isEmpty() && ranges.getLast().offset + ranges.getLast().bytes >= from) {
                Range merged = ranges.removeLast();
                from = merged.offset;
            }
            addSplit(ranges, layer, from, to - from);
            first = last;
        }
        return ranges;
    }

    private static void addSplit(List<Range> ranges, int layer, long offset, long bytes) {
        for (long done = 0; done < bytes; done += MAX_SLICE) {
            ranges.add(new Range(layer, offset + done, Math.min(MAX_SLICE, bytes - done)));
        }
    }

    private static long layerPages(ArenaLayout layout, int layer) {
        return Bytes.roundUp(layout.layerBytes(layer), HostPages.SMALL_PAGE);
    }

    /** Bytes of all ranges. */
    public long bytes() {
        return ranges.stream().mapToLong(Range::bytes).sum();
    }
}
