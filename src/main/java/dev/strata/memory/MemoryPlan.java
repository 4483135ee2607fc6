package dev.strata.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What goes where in host memory, decided before loading. A pure function over sizes.
 *
 * @param tier which tier holds the experts
 * @param residentBytes experts that will lie in RAM of our own
 * @param rows the table
 */
public record MemoryPlan(Tier tier, long residentBytes, List<Row> rows) {
    /** Host memory that is left to everything else. */
    public static final long HEADROOM = 4 * Bytes.GIB;

    /** What copying and reading need beside the experts. */
    public static final long WORK = 256 * Bytes.MIB;

    /** Where experts lie that are not on a card. */
    public enum Tier {
        /** All of them in an arena in RAM. */
        ARENA,
        /** The mapped files; the page cache decides. */
        MAPPED,
        /** Some in RAM, the rest read from the files. */
        TIERED,
        /** All of them read from the files. */
        FILE
    }

    /** What was asked for. */
    public enum Wish {
        AUTO,
        RESIDENT,
        MAPPED,
        LOW_RAM,
        BUDGET
    }

    /** One line of the table. */
    public record Row(String what, long bytes, String note) {}

    /**
     * What the plan depends on.
     *
     * @param expertBytes all experts
     * @param budget bytes of a given budget
     * @param inPlace whether products read mapped files where they are, so that no arena is needed
     */
    public record Case(HostMemory host, long expertBytes, Wish wish, long budget, boolean inPlace) {}

    /**
     * Decides.
     *
     * @throws IllegalStateException with the numbers when what was asked for cannot fit
     */
    public static MemoryPlan of(Case at) {
        long room = Math.max(0, at.host.usable() - HEADROOM - WORK);
        return switch (at.wish) {
            case RESIDENT -> {
                if (at.expertBytes > room) {
                    throw new IllegalStateException(String.format(
                            Locale.ROOT,
                            "the experts need %s of RAM, but %s of %s can be used after %s for everything else (limit: %s): use --low-ram,"
                                    + " --resident-budget-gib or --mmap-experts",
                            Bytes.text(at.expertBytes),
                            Bytes.text(room),
                            Bytes.text(at.host.usable()),
                            Bytes.text(HEADROOM + WORK),
                            at.host.tightest()));
                }
                yield plan(at, Tier.ARENA, at.expertBytes, room);
            }
            case MAPPED -> plan(at, Tier.MAPPED, 0, room);
            case BUDGET -> tiered(at, Math.min(at.budget, room), room);
            case LOW_RAM -> tiered(at, room, room);
            case AUTO -> {
                if (at.expertBytes <= room) {
                    yield plan(at, at.inPlace ? Tier.MAPPED : Tier.ARENA, at.inPlace ? 0 : at.expertBytes, room);
                }
                yield tiered(at, room, room);
            }
        };
    }

    private static MemoryPlan tiered(Case at, long budget, long room) {
        if (budget >= at.expertBytes) {
            return plan(at, Tier.ARENA, at.expertBytes, room);
        }
        return budget < Bytes.GIB / 4 ? plan(at, Tier.FILE, 0, room) : plan(at, Tier.TIERED, budget, room);
    }

    private static MemoryPlan plan(Case at, Tier tier, long resident, long room) {
        List<Row> rows = new ArrayList<>();
        rows.add(new Row("usable host memory", at.host.usable(), at.host.tightest()));
        rows.add(new Row("kept for everything else", HEADROOM + WORK, ""));
        rows.add(new Row("experts", at.expertBytes, ""));
        switch (tier) {
            case ARENA -> rows.add(new Row("  in RAM", resident, "arena"));
            case MAPPED ->
                rows.add(new Row(
                        "  in mapped files", at.expertBytes, at.expertBytes <= room ? "fits into RAM" : "paged"));
            case TIERED, FILE -> {
                rows.add(new Row(
                        "  in RAM",
                        resident,
                        at.wish == Wish.BUDGET && resident < at.budget
                                ? "budget of " + Bytes.text(at.budget) + " clamped"
                                : "busiest"));
                rows.add(new Row("  read from the files", at.expertBytes - resident, ""));
            }
        }
        return new MemoryPlan(tier, resident, List.copyOf(rows));
    }

    /** The table, one line a row. */
    public String table() {
        StringBuilder text =
                new StringBuilder("memory plan: ").append(tier.name().toLowerCase(Locale.ROOT));
        for (Row row : rows) {
            text.append(String.format(Locale.ROOT, "%n  %-26s %12s", row.what(), Bytes.text(row.bytes())));
            if (!row.note().isEmpty()) {
                text.append("  ").append(row.note());
            }
        }
        return text.toString();
    }
}
