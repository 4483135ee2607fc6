package dev.strata.prefill;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

/** Claims: every job once, none across generations. */
class StageClaimsTest {
    @Test
    void everyJobIsTakenOnceInOrder() {
        SplittableRandom random = new SplittableRandom(5);
        StageClaims claims = new StageClaims(48);
        int next = 0;
        int published = 0;
        for (int i = 0; i < 2_500_000; i++) {
            if (random.nextBoolean()) {
                int jobs = random.nextInt(1, 9);
                claims.publish(jobs);
                published += jobs;
            }
            long claim = claims.claim(8);
            if (claim == StageClaims.NONE) {
                assertEquals(published, next);
                continue;
            }
            assertEquals(next % claims.cycle(), StageClaims.first(claim));
            next += StageClaims.count(claim);
            assertTrue(next <= published);
            if (published - next > 1000) {
                claims.restart();
                next = published;
            }
        }
        assertTrue(published > 2 * claims.cycle(), "numbers wrap");
    }

    @Test
    void aRestartDropsWhatNobodyTook() {
        StageClaims claims = new StageClaims(16);
        claims.publish(10);
        long old = claims.claim(3);
        assertEquals(7, claims.restart());
        assertEquals(StageClaims.NONE, claims.claim(1));
        claims.publish(1);
        long fresh = claims.claim(8);
        assertEquals(10, StageClaims.first(fresh));
        assertEquals(1, StageClaims.count(fresh));
        assertEquals(1, StageClaims.generation(fresh));
        assertEquals(0, StageClaims.generation(old));
    }

    @Test
    void threadsNeverShareAJob() throws InterruptedException {
        StageClaims claims = new StageClaims(64);
        int jobs = 200_000;
        AtomicIntegerArray taken = new AtomicIntegerArray(jobs);
        CountDownLatch done = new CountDownLatch(3);
        for (int t = 0; t < 3; t++) {
            int most = t + 1;
            Thread.ofPlatform().start(() -> {
                int seen = 0;
                while (seen < jobs) {
                    long claim = claims.claim(most);
                    if (claim == StageClaims.NONE) {
                        if (taken.get(jobs - 1) > 0) {
                            break;
                        }
                        Thread.onSpinWait();
                        continue;
                    }
                    for (int i = 0; i < StageClaims.count(claim); i++) {
                        seen = StageClaims.first(claim) + i + 1;
                        taken.incrementAndGet(seen - 1);
                    }
                }
                done.countDown();
            });
        }
        for (int i = 0; i < jobs; i += 100) {
            claims.publish(100);
        }
        done.await();
        BitSet once = new BitSet();
        for (int i = 0; i < jobs; i++) {
            once.set(i, taken.get(i) == 1);
        }
        assertEquals(jobs, once.cardinality());
    }
}
