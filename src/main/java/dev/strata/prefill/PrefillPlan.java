package dev.strata.prefill;

import dev.strata.expert.SlotPlan;
import java.util.Locale;
import java.util.function.IntToLongFunction;

/**
 * Chunk, ring and loan of the streamed prompt path. A pure function over sizes.
 *
 * @param chunk rows of one pass
 * @param ringBytes bytes of the streamed ring
 * @param loanBytes bytes at the tail of the cache that a prompt borrows: the ring and the chunk's own buffers
 * @param lentSlots slots that lie there
 * @param borrowed false with {@code --no-prefill-borrow}: the bytes are kept free for the whole run
 */
public record PrefillPlan(int chunk, long ringBytes, long loanBytes, int lentSlots, boolean borrowed) {
    /** Slots that a prompt may never take. */
    public static final int KEPT_SLOTS = 128;

    private static final double LENDABLE = 0.85;
    private static final double LENDABLE_PINNED = 0.90;
    private static final double MOSTLY_PINNED = 0.90;

    /**
     * What the plan depends on.
     *
     * @param slots the cache
     * @param cacheBytes its allocation
     * @param maxStride the widest slot
     * @param ringSlots length of the ring, in widest slots
     * @param chunkBytes bytes of a chunk's buffers that are borrowed, by rows
     * @param pinned share of the expert bytes that is pinned
     * @param keptSlots slots that no prompt may take
     */
    public record Case(
            SlotPlan slots,
            long cacheBytes,
            long maxStride,
            int ringSlots,
            IntToLongFunction chunkBytes,
            double pinned,
            boolean borrow,
            int keptSlots) {}

    /**
     * The largest chunk whose buffers fit into what may be lent. An explicit chunk only has to leave the kept slots, else it is halved.
     *
     * @throws PromptRoomException when not even the smallest chunk fits, saying how to make room
     */
    public static PrefillPlan of(Case at, ChunkSetting setting) {
        boolean explicit = setting.chunk().isPresent();
        for (int chunk = setting.chunk().orElse(setting.most()); chunk >= ChunkSetting.SMALLEST; ) {
            PrefillPlan plan = lay(at, chunk);
            if (fits(at, plan, explicit)) {
                return plan;
            }
            chunk = explicit ? chunk / 2 : smaller(chunk);
        }
        PrefillPlan least = lay(at, ChunkSetting.SMALLEST);
        throw new PromptRoomException(String.format(
                Locale.ROOT,
                "the expert cache of %d slots cannot lend the %d slots that a prompt of %d tokens needs besides the %d that it keeps: "
                        + "lower --max-context, --vram-reserve-mib or STRATA_PREFILL_RING, or give the cache more memory",
                at.slots.slots(),
                least.lentSlots < 0 ? at.slots.slots() : least.lentSlots,
                ChunkSetting.SMALLEST,
                at.keptSlots));
    }

    /** Where the chunk's buffers start in the loan; its end when it has none. */
    public long chunkOffset() {
        return carve(ringBytes, 0).bytes();
    }

    /** Bytes of the chunk's buffers. */
    public long chunkBytes() {
        return Math.max(0, loanBytes - chunkOffset() - carve(0, 0).bytes());
    }

    /** The pieces of a loan, the streamed ring and the chunk's buffers: the same call plans and lays out. */
    public static Carve carve(long ringBytes, long chunkBytes) {
        Carve carve = new Carve();
        carve.take(ringBytes);
        if (chunkBytes > 0) {
            carve.take(chunkBytes);
        }
        return carve;
    }

    private static PrefillPlan lay(Case at, int chunk) {
        long ring = at.ringSlots * at.maxStride;
        long loan = carve(ring, at.chunkBytes.applyAsLong(chunk)).bytes();
        int first = at.slots.firstLent(loan, at.cacheBytes);
        return new PrefillPlan(chunk, ring, loan, first < 0 ? -1 : at.slots.slots() - first, at.borrow);
    }

    private static boolean fits(Case at, PrefillPlan plan, boolean explicit) {
        int slots = at.slots.slots();
        if (plan.lentSlots < 0 || plan.lentSlots + at.keptSlots > slots) {
            return false;
        }
        double share = at.pinned >= MOSTLY_PINNED ? LENDABLE_PINNED : LENDABLE;
        return explicit || plan.lentSlots <= share * slots;
    }

    /** The next smaller chunk that automatic sizing tries. */
    static int smaller(int chunk) {
        int step = chunk > 8192 ? 1024 : chunk > 1024 ? 512 : 256;
        return Math.ceilDiv(chunk, step) * step - step;
    }
}
