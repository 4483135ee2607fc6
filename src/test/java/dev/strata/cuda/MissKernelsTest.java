package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.ExpertLayout;
import dev.strata.device.HostTensor;
import dev.strata.device.MissShare;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What {@code share_misses} does with the experts that steps may leave out. */
class MissKernelsTest {
    private static final long CACHE = 1 << 20;
    private static final long RAM = 1L << 40;

    /** Two rows of three experts; 1, 4 and 5 are missed, and 5 is the first of one row. */
    private static final int[] IDS = {0, 1, 4, 5, 3, 1};

    private static final float[] WEIGHTS = {0.5f, 0.3f, 0.2f, 0.6f, 0.3f, 0.1f};

    @Test
    void missedExpertsThatEveryRowRanksLowAreLeftOut() {
        check(0, IDS, WEIGHTS, new long[] {CACHE, RAM + 1, -1, CACHE + 3, RAM + 4, RAM + 5});
        check(3, IDS, WEIGHTS, new long[] {CACHE, RAM + 1, -1, CACHE + 3, RAM + 4, RAM + 5});
        check(2, new int[] {0, 1, 0, 5, 3, 1}, new float[] {0.5f, 0.3f, 0, 0.6f, 0.3f, 0.1f}, new long[] {
            CACHE, RAM + 1, -1, CACHE + 3, -1, RAM + 5
        });
        check(1, new int[] {0, 0, 0, 5, 3, 5}, new float[] {0.5f, 0, 0, 0.6f, 0.3f, 0}, new long[] {
            CACHE, -1, -1, CACHE + 3, -1, RAM + 5
        });
    }

    /** Two passes of a layer with three spare slots: both times experts 1 and 4 are missed, expert 0 is not. */
    @Test
    void pulledBlobsTakeSpareSlotsInTurn() {
        try (Scene scene = new Scene(32);
                Buffer blobs = scene.device.allocate(6L * scene.bytes, "blobs");
                Buffer spare = scene.device.allocate(3L * scene.bytes, "spare slots")) {
            int bytes = scene.bytes;
            long[] addresses = new long[6];
            for (int expert = 0; expert < 6; expert++) {
                scene.host.asSlice((long) expert * bytes, bytes).fill((byte) (0x10 + expert));
                addresses[expert] = blobs.address() + (long) expert * bytes;
            }
            scene.write(scene.host, blobs, 0);
            scene.write(MemorySegment.ofArray(addresses), scene.table, 0);
            Routing routing = scene.routing(1, 4, 0, 1);
            MissShare share = scene.share(0, blobs.address(), bytes, spare.address(), 3, 0, null);
            MissKernels kernels = scene.kernels();
            for (int[] slots : new int[][] {{0, 1}, {2, 0}}) {
                kernels.share(share, routing, scene.backend.tensor(1, 32, "rows"), false, List.of());
                int[] noted = {4 | (slots[0] + 1) << 16, 0, 1 | (slots[1] + 1) << 16};
                assertArrayEquals(noted, scene.read(scene.notes, 3).toArray(ValueLayout.JAVA_INT));
                long[] planned = scene.read(scene.plan, 10).toArray(ValueLayout.JAVA_LONG);
                assertEquals(blobs.address(), planned[0]);
                assertEquals(spare.address() + (long) slots[1] * bytes, planned[1]);
                assertEquals(spare.address() + (long) slots[0] * bytes, planned[4]);
            }
            byte[] all = scene.read(spare, 3 * bytes / 4).toArray(ValueLayout.JAVA_BYTE);
            assertEquals(0x11, all[0]);
            assertEquals(0x11, all[2 * bytes - 1], "of the first pass");
            assertEquals(0x14, all[3 * bytes - 1]);
        }
    }

    /** A row that guesses the next layer, then that layer twice: with what is coming, and when the guess is an old one. */
    @Test
    void whatIsComingIsReadWhereItComes() {
        try (Scene scene = new Scene(64);
                Buffer coming = scene.device.allocate(2 * MissShare.COMING_BYTES, "coming");
                Buffer arrived = scene.device.allocate(64, "arrived");
                Buffer products = scene.device.allocatePinned(96, "products");
                Buffer spare = scene.device.allocate(5L * scene.bytes, "spare slots")) {
            int bytes = scene.bytes;
            scene.device.fill(coming, 0, coming.bytes(), 0, scene.stream);
            scene.device.fill(spare, 0, spare.bytes(), 0, scene.stream);
            long[] addresses = new long[6];
            Arrays.fill(addresses, spare.address());
            scene.write(MemorySegment.ofArray(addresses), scene.table, 0);
            Routing routing = scene.routing(1, 4, 0, 1);
            Tensor row = scene.backend.tensor(1, 64, "rows");
            float[] values = new float[64];
            MemorySegment weights = scene.arena.allocate(6 * 64 * 4L, 64);
            for (int i = 0; i < 64; i++) {
                values[i] = i % 7 - 2;
                for (int expert = 0; expert < 6; expert++) {
                    weights.setAtIndex(ValueLayout.JAVA_FLOAT, 64L * expert + i, (i + expert) % 3 - 0.5f);
                }
            }
            scene.backend.ops().write(MemorySegment.ofArray(values), row);
            Weight router = scene.backend.weight(new HostTensor("router", QuantType.F32, 6, 64, weights, 1));
            Weight behind = scene.backend.weight(
                    new HostTensor("router", QuantType.F32, 3, 64, weights.asSlice(3 * 64 * 4L, 3 * 64 * 4L), 1));
            MissKernels kernels = scene.kernels();
            int[] layers = {0, 1, 1};
            for (int stage = 0; stage < layers.length; stage++) {
                int layer = layers[stage];
                MissShare.Guess guess = new MissShare.Guess(
                        2 - 2 * layer, products, coming.address() + layer * MissShare.COMING_BYTES, arrived);
                MissShare share = scene.share(layer, CACHE, 1, spare.address(), 3, 0, guess);
                kernels.share(share, routing, row, false, List.of(router, behind));
                int[] noted = scene.read(scene.notes, 3).toArray(ValueLayout.JAVA_INT);
                if (layer == 0) {
                    int number = 1 << MissShare.GUESSED_LAYER_BITS | 1;
                    for (int expert = 0; expert < 6; expert++) {
                        float sum = 0;
                        for (int i = 0; i < 64; i++) {
                            sum += values[i] * weights.getAtIndex(ValueLayout.JAVA_FLOAT, 64L * expert + i);
                        }
                        MemorySegment told = products.host();
                        assertEquals(sum, told.getAtIndex(ValueLayout.JAVA_FLOAT, 2 * expert), 1e-3f);
                        assertEquals(number, told.getAtIndex(ValueLayout.JAVA_INT, 2 * expert + 1));
                        if (expert >= 3) {
                            assertEquals(sum, told.getAtIndex(ValueLayout.JAVA_FLOAT, 2 * expert + 6), 1e-3f);
                            assertEquals(number, told.getAtIndex(ValueLayout.JAVA_INT, 2 * expert + 7));
                        }
                    }
                    int[] record = {
                        number, 5 | 3 << 16, 7, number, number, 4 | 4 << 16, 8, number, 0, 0, 0, 0, 0, 0, 0, 0
                    };
                    scene.write(MemorySegment.ofArray(record), coming, MissShare.COMING_BYTES);
                    scene.write(MemorySegment.ofArray(new int[] {8}), arrived, 0);
                } else {
                    boolean there = noted[0] == (4 | 5 << 16);
                    long[] planned = scene.read(scene.plan, 10).toArray(ValueLayout.JAVA_LONG);
                    assertEquals(spare.address() + (noted[0] >> 16) * (long) bytes - bytes, planned[4]);
                    assertEquals(stage == 1, there, "the first time it was coming");
                }
            }
        }
    }

    /** More copies than one launch takes, of 16 and of 20 bytes, the other way round. */
    @Test
    void manyBlobsAreCopiedAtOnce() {
        int count = 300;
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withVramLimit(1L << 28));
                Arena arena = Arena.ofConfined();
                Stream stream = backend.device().newStream("test");
                Buffer source = backend.device().allocate(32L * count, "source");
                Buffer target = backend.device().allocate(32L * count, "target")) {
            MemorySegment host = arena.allocate(32L * count, 64);
            for (int i = 0; i < count; i++) {
                host.asSlice(32L * i, 32).fill((byte) i);
            }
            backend.device().copyToDevice(host, source, 0, stream);
            stream.synchronize();
            long[] from = new long[count];
            long[] to = new long[count];
            long[] bytes = new long[count];
            for (int i = 0; i < count; i++) {
                from[i] = source.address() + 32L * i;
                to[i] = target.address() + 32L * (count - 1 - i);
                bytes[i] = i % 2 == 0 ? 16 : 20;
            }
            ((CudaOps) backend.ops()).copies().run(from, to, bytes, count);
            MemorySegment found = read(backend, target, 8 * count, host);
            for (int i = 0; i < count; i++) {
                assertEquals((byte) i, found.get(ValueLayout.JAVA_BYTE, 32L * (count - 1 - i)));
                assertEquals((byte) i, found.get(ValueLayout.JAVA_BYTE, 32L * (count - 1 - i) + bytes[i] - 1));
            }
        }
    }

    private static void check(int tailSkip, int[] ids, float[] weights, long[] planned) {
        try (Scene scene = new Scene(32)) {
            long[] addresses = {CACHE, RAM + 1, RAM + 2, CACHE + 3, RAM + 4, RAM + 5};
            scene.write(MemorySegment.ofArray(addresses), scene.table, 0);
            Routing routing = scene.routing(2, IDS);
            Tensor sums = routing.weights();
            scene.write(MemorySegment.ofArray(WEIGHTS), sums.buffer(), sums.offset());
            scene.kernels()
                    .share(
                            scene.share(0, CACHE, 1000, 0, 0, tailSkip, null),
                            routing,
                            scene.backend.tensor(2, 32, "rows"),
                            false,
                            List.of());
            assertArrayEquals(ids, scene.read(routing.ids(), 6).toArray(ValueLayout.JAVA_INT));
            assertArrayEquals(IDS, scene.read(scene.notes, 6).toArray(ValueLayout.JAVA_INT));
            assertArrayEquals(weights, scene.read(sums.buffer(), 6).toArray(ValueLayout.JAVA_FLOAT));
            assertArrayEquals(planned, scene.read(scene.plan, 12).toArray(ValueLayout.JAVA_LONG));
        }
    }

    /** Six experts, of which every row takes three, and what the kernels know of them. */
    private static final class Scene implements AutoCloseable {
        private final CudaBackend backend = Cards.open(CudaOptions.defaults().withVramLimit(1L << 28));
        private final Device device = backend.device();
        private final Arena arena = Arena.ofConfined();
        private final Stream stream = device.newStream("test");
        private final Buffer table = device.allocate(64, "table");
        private final Buffer plan = device.allocate(64, "plan");
        private final Buffer pulls = device.allocate(64, "pulls");
        private final Buffer state = device.allocate(MissShare.STATE_BYTES, "state");
        private final Buffer notes = device.allocate(64, "notes");
        private final ExpertLayout layout;
        private final int bytes;
        private final MemorySegment host;

        Scene(int hidden) {
            layout = new ExpertLayout(0, 6, hidden, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);
            bytes = (int) layout.blobBytes();
            host = arena.allocate(6L * bytes, 64);
            device.fill(state, 0, MissShare.STATE_BYTES, 0, stream);
            device.fill(plan, 0, 64, 0xff, stream);
        }

        MissKernels kernels() {
            return ((CudaOps) backend.ops()).misses();
        }

        void write(MemorySegment values, Buffer target, long offset) {
            MemorySegment part = host.asSlice(0, values.byteSize()).copyFrom(values);
            device.copyToDevice(part, target, offset, stream);
            stream.synchronize();
        }

        MemorySegment read(Buffer from, int words) {
            return MissKernelsTest.read(backend, from, words, host);
        }

        Routing routing(int rows, int... ids) {
            Routing routing = backend.routing(rows, 3);
            write(MemorySegment.ofArray(ids), routing.ids(), 0);
            return routing;
        }

        MissShare share(
                int layer,
                long cache,
                long cacheBytes,
                long spareAddress,
                int spares,
                int tailSkip,
                MissShare.@Nullable Guess guess) {
            return new MissShare(
                    layer,
                    layout,
                    table,
                    plan,
                    cache,
                    cacheBytes,
                    spareAddress,
                    bytes,
                    spares,
                    pulls,
                    tailSkip,
                    notes.address(),
                    6,
                    state,
                    null,
                    guess);
        }

        @Override
        public void close() {
            for (Buffer buffer : List.of(notes, state, pulls, plan, table)) {
                buffer.close();
            }
            stream.close();
            arena.close();
            backend.close();
        }
    }

    private static MemorySegment read(CudaBackend backend, Buffer from, int words, MemorySegment into) {
        MemorySegment part = into.asSlice(0, 4L * words);
        backend.ops().read(new Tensor(from, 0, 1, words), part);
        return part;
    }
}
