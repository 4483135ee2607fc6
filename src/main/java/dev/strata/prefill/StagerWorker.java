package dev.strata.prefill;

import java.lang.foreign.MemorySegment;

/** One copy thread of the stager, as a machine of short steps. */
final class StagerWorker {
    private final Stager stager;
    private final MemorySegment[] targets;
    private long claim = StageClaims.NONE;

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
        } else if (!stager.buffersFree(claim)) {
            return false;
        } else {
            stager.fill(claim, targets);
        }
        claim = StageClaims.NONE;
        return true;
    }

    /** Whether it holds no jobs. */
    boolean idle() {
        return claim == StageClaims.NONE;
    }
}
