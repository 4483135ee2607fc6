package dev.strata.prefill;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Buffer;
import dev.strata.device.Stream;
import dev.strata.device.fake.FakeDevice;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What the issuer finds filled, and when it may queue the next copy. */
class StagerTest {
    private static final int PIECE = 256;

    @Test
    void neighboursThatAreFilledWhileACopyRunsGoInOne() {
        StagerSizing sizing = new StagerSizing(0, 1, 6, PIECE, 1, 1, false, "");
        try (World world = new World(sizing, 9)) {
            Stager stager = world.stager;
            StagerWorker worker = world.worker;
            stager.open(9);
            assertFalse(stager.filled());
            fill(worker, 1);
            world.copy(1);
            fill(worker, 3);
            assertFalse(stager.filled(), "one copy at a time");
            world.device.drain();
            assertTrue(stager.collect());
            world.copy(3);
            // The block ends behind the sixth buffer, and the first is free again.
            fill(worker, 3);
            world.device.drain();
            assertTrue(stager.collect());
            world.copy(2);
            world.device.drain();
            assertTrue(stager.collect());
            fill(worker, 2);
            world.copy(3);
            world.device.drain();
            assertTrue(stager.drained());
        }
    }

    @Test
    void aWorkerThatWaitsForBuffersCanGoOnWhenTheyAreFree() {
        StagerSizing sizing = new StagerSizing(0, 1, 2, PIECE, 2, 2, true, "");
        try (World world = new World(sizing, 4)) {
            Stager stager = world.stager;
            StagerWorker worker = world.worker;
            assertFalse(worker.step(), "jobs are not open yet");
            stager.open(4);
            fill(worker, 1);
            assertTrue(worker.step(), "takes the others");
            assertFalse(worker.step());
            assertFalse(worker.canGoOn(), "both buffers are taken");
            world.copy(2);
            world.device.drain();
            assertTrue(stager.collect());
            assertTrue(worker.canGoOn());
            assertTrue(worker.step());
            assertFalse(worker.canGoOn(), "it waits for nothing");
            stager.restart();
            world.copy(2);
            world.device.drain();
            assertTrue(stager.drained());
        }
    }

    private static void fill(StagerWorker worker, int jobs) {
        for (int i = 0; i < jobs; i++) {
            assertTrue(worker.step(), "takes a job");
            assertTrue(worker.step(), "fills its buffer");
        }
    }

    /** A stager with published jobs, which are not open yet, over a source that has nothing to copy. */
    private static final class World implements AutoCloseable {
        final FakeDevice device = FakeDevice.stepped(1 << 16, new SplittableRandom(3));
        final Buffer target = device.allocate(16 * PIECE, "cache");
        final Stream copies = device.newStream("copies");
        final Stager stager;
        final StagerWorker worker;

        World(StagerSizing sizing, int jobs) {
            stager = Stager.create(device, (layer, offsets, bytes, first, count, targets) -> {}, sizing);
            worker = new StagerWorker(stager);
            for (int i = 0; i < jobs; i++) {
                stager.publish(0, (long) i * PIECE, PIECE);
            }
        }

        /** Queues the copy of the oldest jobs, of which {@code run} can go in one. */
        void copy(int run) {
            assertTrue(stager.filled());
            assertEquals(run, stager.filledRun(Long.MAX_VALUE));
            device.copyToDevice(stager.filledBytes(run), target, 0, copies);
            stager.issued(run, copies);
        }

        @Override
        public void close() {
            stager.close();
            copies.close();
            target.close();
            device.close();
        }
    }
}
