package dev.strata.prefill;

import org.jspecify.annotations.Nullable;

/**
 * Publishes what an order copies through the stager, in the order of the copies, and behind it what the next order will: so a drive has
 * requests across the border of two chunks, whose copies cannot start before the first was consumed. Belongs to the issuer.
 */
final class StageFeed {
    private final Stager stager;
    private @Nullable StreamOrder order;
    private boolean ahead;
    private int group;
    private int transfer;
    private long bytes;

    StageFeed(Stager stager) {
        this.stager = stager;
    }

    /** Starts an order, or goes on with it when it was expected; false when jobs of another one are open, which have to be dropped first. */
    boolean begin(StreamOrder next) {
        boolean expected = ahead && order == next;
        boolean clean = expected || !ahead;
        if (!expected) {
            rewind(next);
        }
        ahead = false;
        return clean;
    }

    /** Whether jobs behind the current order may be open. */
    boolean ahead() {
        return ahead;
    }

    /** Forgets where it was: all its jobs are dropped. */
    void forget() {
        rewind(null);
        ahead = false;
    }

    private void rewind(@Nullable StreamOrder next) {
        order = next;
        group = 0;
        transfer = 0;
        bytes = 0;
    }

    /**
     * Publishes as many jobs as there is room for.
     *
     * @param following the order that will come behind the current one, if that is known
     */
    boolean publish(@Nullable StreamOrder following) {
        int jobs = 0;
        for (Transfer run = staged(following); run != null && stager.room() > 0; run = staged(following)) {
            long length = part(run);
            stager.publish(run.layer(), run.source() + bytes, (int) length);
            jobs++;
            bytes += length;
            if (bytes == run.bytes()) {
                bytes = 0;
                transfer++;
            }
        }
        if (jobs > 0) {
            stager.open(jobs);
        }
        return jobs > 0;
    }

    /** The run to go on with, or null when everything is published. */
    private @Nullable Transfer staged(@Nullable StreamOrder following) {
        while (order != null) {
            if (group == order.size()) {
                if (ahead || following == null) {
                    return null;
                }
                rewind(following);
                ahead = true;
                continue;
            }
            StreamGroup now = order.group(group);
            if (transfer == now.transfers().size()) {
                group++;
                transfer = 0;
            } else if (now.transfers().get(transfer).direct()) {
                transfer++;
            } else {
                return now.transfers().get(transfer);
            }
        }
        return null;
    }

    /** As much as one buffer takes, and one blob where blobs may not be torn. */
    private long part(Transfer run) {
        return Math.min(run.bytes() - bytes, run.unit() > 1 ? run.unit() : stager.bufferBytes());
    }
}
