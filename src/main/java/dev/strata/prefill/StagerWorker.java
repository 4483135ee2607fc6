package dev.strata.prefill;

import java.lang.foreign.MemorySegment;

/** One copy thread of the stager, as a machine of short steps. */
final class StagerWorker {
    private final Stager stager;
    private final MemorySegment[] targets;
    private long claim = StageClaims.NONE;
    private volatile long waiting = StageClaims.NONE;

    StagerWorker(Stager stager) {
        this.stager = stager;
        targets = new MemorySegment[stager.batch()];
    }

    /** Takes jobs, gives up old ones, or fills buffers; false when it has to wait. */
    boolean step() {
        if (claim == StageClaims.NONE) {
            claim = stager.claim();
            return claim != StageClaims.NONE;
        }
        if (!stager.current(claim)) {
            stager.abandon(claim);
        } else if (!free()) {
            return false;
        } else {
            waiting = StageClaims.NONE;
            stager.fill(claim, targets);
        }
        claim = StageClaims.NONE;
        waiting = StageClaims.NONE;
        return true;
    }

    /** Tells that it waits before it looks, so that whoever frees its buffers meanwhile sees that. */
    private boolean free() {
        waiting = claim;
        return stager.buffersFree(claim);
    }

    /** Whether it waits for buffers that are free by now; any thread. */
    boolean canGoOn() {
        long held = waiting;
        return held != StageClaims.NONE && (!stager.current(held) || stager.buffersFree(held));
    }

    /** Whether it holds no jobs. */
    boolean idle() {
        return claim == StageClaims.NONE;
    }
}
