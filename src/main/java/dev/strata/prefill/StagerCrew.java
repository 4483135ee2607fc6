package dev.strata.prefill;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Issuer and copy threads that sleep for long while they wait for each other, since a drive is slow and the copy threads are many. Whoever
 * has done what another one waits for wakes that one: asleep it would leave the drive with fewer requests than it is to have.
 */
final class StagerCrew {
    private record Member(StagerWorker worker, Thread thread) {}

    private final List<Member> members = new ArrayList<>();
    private volatile @Nullable Thread issuer;

    /** Before the issuer runs. */
    void add(StagerWorker worker, Thread thread) {
        members.add(new Member(worker, thread));
    }

    void issuer(Thread thread) {
        issuer = thread;
    }

    /** A copy thread has made a step; {@code moved}: has done something. Returns that. */
    boolean worked(boolean moved) {
        if (moved) {
            LockSupport.unpark(issuer);
        }
        return moved;
    }

    /** The issuer has made a step: wakes the copy threads whose buffers are free now. */
    boolean issued(boolean moved) {
        for (int i = 0; moved && i < members.size(); i++) {
            Member member = members.get(i);
            if (member.worker.canGoOn()) {
                LockSupport.unpark(member.thread);
            }
        }
        return moved;
    }
}
