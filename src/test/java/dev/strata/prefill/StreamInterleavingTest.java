package dev.strata.prefill;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.BlobParts;
import dev.strata.device.Buffer;
import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.device.fake.FakeBuffer;
import dev.strata.device.fake.FakeCall;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.Layouts;
import dev.strata.expert.PatternSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Issuer, copy threads, consumer and device as machines whose steps are taken in random order: whatever the order, every product reads
 * the blobs of its experts, and nothing is left behind, also when something fails or the client leaves.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StreamInterleavingTest {
    private static final ArenaLayout MODEL = Layouts.tiny(7);
    private static final int LAYERS = 3;

    private final TestPlaces pieces = new TestPlaces(MODEL, true);
    private final TestPlaces blobs = new TestPlaces(MODEL, false);

    @AfterAll
    void close() {
        pieces.close();
        blobs.close();
    }

    @Test
    void tenThousandSchedules() {
        for (int seed = 0; seed < 10_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            try (World world = new World(random, Trouble.NONE, 0)) {
                boolean more = seed % 4 == 0;
                assertFalse(world.stream(more && seed % 8 == 0), "nothing went wrong");
                if (more) {
                    if (seed % 3 == 0) {
                        world.otherOrder();
                    }
                    assertFalse(world.stream(false), "the next chunk goes on in the same ring");
                }
                world.check(seed);
            }
        }
    }

    @Test
    void aReadThatFailsEndsThePassAndTheNextOneIsWhole() {
        troubles(Trouble.READ, 25);
    }

    @Test
    void aCopyThatIsRefusedEndsThePassAndTheNextOneIsWhole() {
        troubles(Trouble.COPY, 25);
    }

    @Test
    void aClientMayLeaveAtAnyGroup() {
        troubles(Trouble.CANCEL, 12);
    }

    @Test
    void aConsumerMayGiveUpAtAnyGroup() {
        troubles(Trouble.GIVE_UP, 12);
    }

    @Test
    void outOfMemoryAtAnyStepLeaksNothing() {
        for (FakeCall.Kind kind : List.of(
                FakeCall.Kind.NEW_EVENT,
                FakeCall.Kind.NEW_STREAM,
                FakeCall.Kind.ALLOCATE_PINNED,
                FakeCall.Kind.ALLOCATE)) {
            for (int call = 0; call < 300; call += call < 12 ? 1 : 37) {
                FakeDevice device = FakeDevice.stepped(1 << 20, new SplittableRandom(call));
                device.faults().failFrom(kind, call);
                Buffer target = null;
                try {
                    target = device.allocate(1 << 16, "cache");
                    Stager stager = Stager.create(device, pieces, sizing(4, 4096, 1));
                    try {
                        new StreamIssuer(device, target, pieces, stager).close();
                    } finally {
                        stager.close();
                    }
                } catch (DeviceException expected) {
                    assertTrue(String.valueOf(expected.getMessage()).startsWith("fake"), expected.getMessage());
                }
                if (target != null) {
                    target.close();
                }
                assertEquals(List.of(), device.leaks(), kind + " " + call);
                device.close();
            }
        }
    }

    private void troubles(Trouble trouble, int most) {
        int stopped = 0;
        for (int at = 0; at < most; at++) {
            for (int seed = 0; seed < 20; seed++) {
                try (World world = new World(new SplittableRandom(1000L * at + seed), trouble, at)) {
                    boolean followed = seed % 2 == 0;
                    boolean early = world.stream(followed);
                    if (!early && followed && trouble == Trouble.READ) {
                        early = world.stream(false); // the read that failed was one for this pass
                    }
                    if (!early && trouble == Trouble.COPY) {
                        continue; // the pass had fewer copies
                    }
                    stopped += early ? 1 : 0;
                    world.trouble = Trouble.NONE;
                    assertFalse(world.stream(false), "the next pass is whole");
                    world.check(seed);
                }
            }
        }
        assertTrue(stopped > most * 5, "only " + stopped + " passes met the trouble");
    }

    private static StagerSizing sizing(int buffers, long bytes, int batch) {
        return new StagerSizing(0, 1, buffers, bytes, batch, 1 + buffers % 3, false, "");
    }

    /** Bytes that may be left out before a part of a blob, and parts that blobs of these tests have. */
    private static final int GAP = 40;

    private static final int MOST_PARTS = 4;

    private enum Trouble {
        NONE,
        READ,
        COPY,
        CANCEL,
        GIVE_UP
    }

    /** One small machine room. */
    private final class World implements AutoCloseable {
        private final SplittableRandom random;
        private final TestPlaces places;
        private final FakeDevice device;
        private final Buffer target;
        private final Stager stager;
        private final StreamIssuer issuer;
        private final Stream compute;
        private final Event fence;
        private final StreamRing ring;
        private final long ringBase;
        private StreamOrder order;
        private final List<StagerWorker> workers = new ArrayList<>();
        private final List<String> wrong = new ArrayList<>();
        private final int at;
        private final int groupSize;
        private Trouble trouble;
        private boolean fresh = true;
        private int reads;
        private int checked;

        World(SplittableRandom random, Trouble trouble, int at) {
            this.random = random;
            this.trouble = trouble;
            this.at = at;
            places = random.nextBoolean() ? pieces : blobs;
            for (int layer = 0; layer < LAYERS; layer++) {
                for (int expert = 0; expert < 7; expert++) {
                    places.resident[layer][expert] = random.nextInt(4) == 0;
                    places.pinned[layer][expert] = random.nextInt(3) == 0 ? random.nextInt(2) : -1;
                }
            }
            if (trouble == Trouble.READ) {
                for (int[] layer : places.pinned) {
                    java.util.Arrays.fill(layer, -1);
                }
            }
            groupSize = random.nextInt(1, 5);
            long ringBytes = MODEL.maxStride() * random.nextInt(groupSize, groupSize + 6);
            ringBase = 256;
            ring = new StreamRing(ringBytes, StreamIssuer.EVENTS);
            device = FakeDevice.stepped(1 << 20, random);
            target = device.allocate(ringBase + ringBytes, "cache");
            int buffers = random.nextInt(1, 6);
            long bufferBytes =
                    places.piecesAllowed() ? random.nextLong(300, 2500) : MODEL.maxStride() + MOST_PARTS * GAP;
            stager = Stager.create(device, new Source(), sizing(buffers, bufferBytes, random.nextInt(1, 9)));
            issuer = new StreamIssuer(device, target, places, stager);
            compute = device.newStream("compute");
            fence = device.newEvent();
            for (int i = random.nextInt(1, 5); i > 0; i--) {
                workers.add(new StagerWorker(stager));
            }
            order = StreamOrder.all(places, groupSize);
            if (trouble == Trouble.COPY) {
                device.faults().fail(FakeCall.Kind.COPY_TO_DEVICE, at);
            }
        }

        /** Blobs come in parts with gaps between them, at random. */
        private final class Source implements StageSource {
            @Override
            public void copy(int layer, long[] offsets, int[] bytes, int first, int count, MemorySegment[] targets) {
                if (trouble == Trouble.READ && reads++ == at) {
                    throw new UncheckedIOException(new IOException("the disk is gone"));
                }
                places.copy(layer, offsets, bytes, first, count, targets);
            }

            @Override
            public void stage(
                    int layer,
                    long[] offsets,
                    int[] bytes,
                    int first,
                    int count,
                    MemorySegment[] targets,
                    BlobParts[] parts,
                    long turn) {
                StageSource.super.stage(layer, offsets, bytes, first, count, targets, parts, turn);
                for (int i = 0; i < count && !places.piecesAllowed(); i++) {
                    spread(targets[i], bytes[first + i], parts[first + i]);
                }
            }

            private void spread(MemorySegment buffer, int bytes, BlobParts parts) {
                byte[] blob = buffer.asSlice(0, bytes).toArray(JAVA_BYTE);
                parts.clear();
                long at = 0;
                for (int from = 0; from < bytes; ) {
                    boolean last = parts.count() == MOST_PARTS - 1;
                    int length = last ? bytes - from : random.nextInt(1, bytes - from + 1);
                    at += random.nextInt(GAP);
                    MemorySegment.copy(blob, from, buffer, JAVA_BYTE, at, length);
                    parts.add(at, length);
                    from += length;
                    at += length;
                }
            }
        }

        /** What is streamed next is not what was expected. */
        void otherOrder() {
            order = StreamOrder.all(places, groupSize);
        }

        /**
         * One pass; true when it ended early.
         *
         * @param followed whether the same order is expected to follow
         */
        boolean stream(boolean followed) {
            fence.record(compute);
            issuer.begin(order, ring, ringBase, fresh ? fence : null, null);
            if (followed) {
                issuer.follow(order);
            }
            fresh = false;
            int next = 0;
            int idle = 0;
            boolean left = false;
            while (next < order.size() || issuer.running()) {
                boolean moved;
                switch (random.nextInt(4)) {
                    case 0 -> moved = issuer.step();
                    case 1 ->
                        moved = workers.get(random.nextInt(workers.size())).step();
                    case 2 -> moved = device.step();
                    default -> {
                        if (trouble == Trouble.CANCEL && next == at) {
                            issuer.cancel();
                        }
                        if (trouble == Trouble.GIVE_UP && next == at) {
                            left = true;
                            issuer.cancel();
                        }
                        moved = !left && next < order.size() && consume(next);
                        next += moved ? 1 : 0;
                        if (issuer.failure() != null && !issuer.running()) {
                            left = true;
                        }
                    }
                }
                idle = moved ? 0 : idle + 1;
                assertTrue(idle < 10_000, "nothing moves any more");
                if (left && !issuer.running()) {
                    break;
                }
            }
            RuntimeException failure = issuer.failure();
            boolean early = next < order.size();
            if (early || failure != null) {
                assertTrue(
                        failure == null && trouble == Trouble.GIVE_UP
                                || failure instanceof CancellationException
                                || failure instanceof UncheckedIOException
                                || failure instanceof DeviceException,
                        "ended early by " + failure);
                issuer.abandon(compute);
                fresh = true;
            }
            return early;
        }

        private boolean consume(int index) {
            long number = issuer.firstGroup() + index;
            if (issuer.issuedGroups() <= number) {
                return false;
            }
            issuer.waitFor(number, compute);
            StreamGroup group = order.group(index);
            long start = start(index);
            device.launch(compute, () -> {
                int place = 0;
                for (int expert = group.first(); expert < group.first() + group.count(); expert++) {
                    if (!places.resident[group.layer()][expert]) {
                        long offset = ringBase + start + place++ * MODEL.stride(group.layer());
                        MemorySegment blob = ((FakeBuffer) target).contents().asSlice(offset);
                        checked++;
                        if (!PatternSource.holds(MODEL.layout(group.layer()), group.layer(), expert, blob)) {
                            wrong.add("layer " + group.layer() + " expert " + expert);
                        }
                    }
                }
            });
            issuer.release(number, compute);
            return true;
        }

        /** Where the ring puts a group, from sizes alone. */
        private long start(int index) {
            long end = 0;
            long start = 0;
            for (int i = 0; i <= index; i++) {
                long size = order.group(i).ringBytes();
                if (size > 0) {
                    start = StreamRing.place(end, size, ring.bytes());
                    end = start + size;
                }
            }
            return start;
        }

        void check(long seed) {
            device.drain();
            assertEquals(List.of(), wrong, "seed " + seed);
            assertTrue(checked > 0 || order.bytes() == 0);
            for (StagerWorker worker : workers) {
                while (!worker.idle()) {
                    worker.step();
                }
            }
        }

        @Override
        public void close() {
            issuer.close();
            stager.close();
            compute.close();
            fence.close();
            target.close();
            assertEquals(List.of(), device.leaks());
            device.close();
        }
    }
}
