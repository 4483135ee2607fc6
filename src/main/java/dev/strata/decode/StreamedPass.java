package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertGroups;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.SlotCache;
import dev.strata.prefill.PrefillPlan;
import dev.strata.prefill.PrefillScheduler;
import dev.strata.prefill.StreamGroup;
import dev.strata.prefill.StreamOrder;
import dev.strata.prefill.StreamRing;
import org.jspecify.annotations.Nullable;

/**
 * Passes that stream: the loan of the ring, the order of the groups and the table with their places. Places in the ring depend on sizes
 * only, so the table is written once and holds for every chunk until the residents change.
 */
final class StreamedPass {
    private final SlotCache cache;
    private final PlacedBlobs blobs;
    private final PrefillScheduler scheduler;
    private final ResidencyTable table;
    private final PrefillPlan plan;
    private final long loanEnd;
    private final int groupSize;

    private @Nullable StreamRing ring;
    private @Nullable StreamOrder order;
    private long ringBase;
    private long orderVersion = -1;
    private int released;

    /** @param loanEnd where the loan ends in the cache's allocation */
    StreamedPass(
            SlotCache cache,
            PlacedBlobs blobs,
            PrefillScheduler scheduler,
            ResidencyTable table,
            PrefillPlan plan,
            long loanEnd,
            int groupSize) {
        this.cache = cache;
        this.blobs = blobs;
        this.scheduler = scheduler;
        this.table = table;
        this.plan = plan;
        this.loanEnd = loanEnd;
        this.groupSize = groupSize;
    }

    Buffer addresses(int layer) {
        return table.layer(layer);
    }

    @Nullable
    StreamOrder order() {
        return order;
    }

    /** Whether the loan is out. */
    boolean borrowed() {
        return ring != null;
    }

    /** Address of the lent memory for activations, 0 while there is none. */
    long lentMemory() {
        return ring == null || plan.chunkBytes() == 0 ? 0 : cache.buffer().address() + ringBase + plan.chunkOffset();
    }

    /** Takes the loan unless it is out already; true when it was taken now. */
    boolean borrow(Stream stream) {
        boolean taken = ring == null;
        if (taken) {
            ringBase = cache.lend(plan.loanBytes(), loanEnd);
            ring = new StreamRing(plan.ringBytes(), PrefillScheduler.GROUPS_AHEAD);
        }
        if (orderVersion != cache.version()) {
            makeOrder();
            table.flush(stream);
        }
        return taken;
    }

    private void makeOrder() {
        ArenaLayout layout = cache.layout();
        StreamOrder fresh = StreamOrder.all(blobs, groupSize);
        long end = 0;
        for (int index = 0; index < fresh.size(); index++) {
            StreamGroup group = fresh.group(index);
            long place = StreamRing.place(end, group.ringBytes(), plan.ringBytes());
            if (group.ringBytes() > 0) {
                end = place + group.ringBytes();
            }
            for (int expert = group.first(); expert < group.first() + group.count(); expert++) {
                long slot = cache.address(group.layer(), expert);
                if (slot == 0) {
                    slot = cache.buffer().address() + ringBase + place;
                    place += layout.stride(group.layer());
                }
                table.set(group.layer(), expert, slot);
            }
        }
        order = fresh;
        orderVersion = cache.version();
    }

    /** Lets the copies of the next pass start. */
    void startAhead(Stream stream) {
        if (order != null && ring != null) {
            scheduler.startAhead(order, ring, ringBase, stream);
        }
    }

    /** @param more whether another pass of the same prompt follows */
    void begin(boolean more, Stream stream) {
        if (order == null || ring == null) {
            throw new IllegalStateException("no ring was borrowed");
        }
        released = 0;
        scheduler.begin(order, ring, ringBase, stream);
        if (more) {
            scheduler.expect(order);
        }
        scheduler.timing().begin(stream);
    }

    void products(int layer, ExpertGroups groups) {
        StreamOrder now = java.util.Objects.requireNonNull(order);
        Stream compute = groups.stream();
        for (int index = now.firstGroup(layer); index < now.firstGroup(layer + 1); index++) {
            StreamGroup group = now.group(index);
            while (released < index) {
                skip(released, compute);
            }
            scheduler.awaitIssued(index);
            scheduler.waitFor(index, compute);
            groups.run(group.first(), group.count());
            scheduler.release(index, compute);
            released = index + 1;
        }
    }

    /** A layer that had no products in this pass gives its groups back unread. */
    private void skip(int index, Stream compute) {
        scheduler.awaitIssued(index);
        scheduler.release(index, compute);
        released = index + 1;
    }

    /**
     * Behind the last work of the pass.
     *
     * @param more whether another pass of the same prompt follows, whose copies may run ahead
     */
    void end(boolean more, Stream stream) {
        StreamOrder now = order;
        boolean consumed = now == null || released == now.size();
        scheduler.end(consumed, stream);
        if (now == null) {
            return;
        }
        scheduler.countPass(now.bytes(), consumed, stream);
        StreamRing in = ring;
        if (more && consumed && in != null) {
            scheduler.runAhead(now, in, ringBase);
        }
    }

    /** Ends the loan; the slots wait for their blobs. */
    void giveBack(Stream stream) {
        scheduler.dropAhead(stream);
        cache.takeBack();
        ring = null;
        orderVersion = -1;
        scheduler.fence();
    }
}
