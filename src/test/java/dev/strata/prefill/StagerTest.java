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
        StagerSizing sizing = new StagerSizing(0, 1, 6, PIECE, 1, true, 1, false, "");
        try (FakeDevice device = FakeDevice.stepped(1 << 16, new SplittableRandom(3));
                Buffer target = device.allocate(16 * PIECE, "cache");
                Stream copies = device.newStream("copies");
                Stager stager = Stager.create(device, (layer, offsets, bytes, first, count, targets) -> {}, sizing)) {
            StagerWorker worker = new StagerWorker(stager);
            for (int i = 0; i < 9; i++) {
                stager.publish(0, (long) i * PIECE, PIECE);
            }
            stager.open(9);
            assertFalse(stager.filled());
            fill(worker, 1);
            copy(device, stager, target, copies, 1);
            fill(worker, 3);
            assertFalse(stager.filled(), "one copy at a time");
            device.drain();
            assertTrue(stager.collect());
            copy(device, stager, target, copies, 3);
            // The block ends behind the sixth buffer, and the first is free again.
            fill(worker, 3);
            device.drain();
            assertTrue(stager.collect());
            copy(device, stager, target, copies, 2);
            device.drain();
            assertTrue(stager.collect());
            fill(worker, 2);
            copy(device, stager, target, copies, 3);
            device.drain();
            assertTrue(stager.drained());
        }
    }

    @Test
    void aWorkerThatWaitsForBuffersCanGoOnWhenTheyAreFree() {
        StagerSizing sizing = new StagerSizing(0, 1, 2, PIECE, 2, true, 2, true, "");
        try (FakeDevice device = FakeDevice.stepped(1 << 16, new SplittableRandom(3));
                Buffer target = device.allocate(16 * PIECE, "cache");
                Stream copies = device.newStream("copies");
                Stager stager = Stager.create(device, (layer, offsets, bytes, first, count, targets) -> {}, sizing)) {
            StagerWorker worker = new StagerWorker(stager);
            for (int i = 0; i < 4; i++) {
                stager.publish(0, (long) i * PIECE, PIECE);
            }
            assertFalse(worker.step(), "jobs are not open yet");
            stager.open(4);
            fill(worker, 1);
            assertTrue(worker.step(), "takes the others");
            assertFalse(worker.step());
            assertFalse(worker.canGoOn(), "both buffers are taken");
            copy(device, stager, target, copies, 2);
            device.drain();
            assertTrue(stager.collect());
            assertTrue(worker.canGoOn());
            assertTrue(worker.step());
            assertFalse(worker.canGoOn(), "it waits for nothing");
            stager.restart();
            copy(device, stager, target, copies, 2);
            device.drain();
            assertTrue(stager.drained());
        }
    }

    private static void fill(StagerWorker worker, int jobs) {
        for (int i = 0; i < jobs; i++) {
            assertTrue(worker.step(), "takes a job");
            assertTrue(worker.step(), "fills its buffer");
        }
    }

    private static void copy(FakeDevice device, Stager stager, Buffer target, Stream copies, int run) {
        assertTrue(stager.filled());
        assertEquals(run, stager.filledRun(Long.MAX_VALUE));
        device.copyToDevice(stager.filledBytes(run), target, 0, copies);
        stager.issued(run, copies);
    }
}
