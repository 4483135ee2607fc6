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
import java.util.List;
import org.junit.jupiter.api.Test;

/** What {@code share_misses} does with the experts that steps may leave out. */
class MissKernelsTest {
    private static final long CACHE = 1 << 20;
    private int stages;
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
        ExpertLayout layout = new ExpertLayout(0, 6, 32, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);
        int bytes = (int) layout.blobBytes();
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withVramLimit(1L << 28));
                Arena arena = Arena.ofConfined();
                Stream stream = backend.device().newStream("test")) {
            Device device = backend.device();
            MemorySegment host = arena.allocate(6L * bytes, 64);
            try (Buffer table = device.allocate(64, "table");
                    Buffer plan = device.allocate(64, "plan");
                    Buffer pulls = device.allocate(64, "pulls");
                    Buffer state = device.allocate(MissShare.STATE_BYTES, "state");
                    Buffer notes = device.allocate(64, "notes");
                    Buffer blobs = device.allocate(6L * bytes, "blobs");
                    Buffer spare = device.allocate(3L * bytes, "spare slots")) {
                device.fill(state, 0, MissShare.STATE_BYTES, 0, stream);
                for (int expert = 0; expert < 6; expert++) {
                    host.asSlice((long) expert * bytes, bytes).fill((byte) (0x10 + expert));
                }
                device.copyToDevice(host, blobs, 0, stream);
                stream.synchronize();
                for (int expert = 0; expert < 6; expert++) {
                    host.setAtIndex(ValueLayout.JAVA_LONG, expert, blobs.address() + (long) expert * bytes);
                }
                device.copyToDevice(host.asSlice(0, 48), table, 0, stream);
                stream.synchronize();
                Routing routing = backend.routing(1, 3);
                MemorySegment.copy(new int[] {4, 0, 1}, 0, host, ValueLayout.JAVA_INT, 0, 3);
                device.copyToDevice(host.asSlice(0, 12), routing.ids(), 0, stream);
                stream.synchronize();
                MissShare share = new MissShare(
                        0,
                        layout,
                        table,
                        plan,
                        blobs.address(),
                        bytes,
                        spare.address(),
                        bytes,
                        3,
                        pulls,
                        0,
                        notes.address(),
                        6,
                        state,
                        null,
                        null);
                MissKernels kernels = ((CudaOps) backend.ops()).misses();
                for (int[] slots : new int[][] {{0, 1}, {2, 0}}) {
                    kernels.share(share, routing, backend.tensor(1, 32, "rows"), false, List.of());
                    int[] noted = {4 | (slots[0] + 1) << 16, 0, 1 | (slots[1] + 1) << 16};
                    assertArrayEquals(noted, read(backend, notes, 3, host).toArray(ValueLayout.JAVA_INT));
                    long[] planned = read(backend, plan, 10, host).toArray(ValueLayout.JAVA_LONG);
                    assertEquals(blobs.address(), planned[0]);
                    assertEquals(spare.address() + (long) slots[1] * bytes, planned[1]);
                    assertEquals(spare.address() + (long) slots[0] * bytes, planned[4]);
                }
                byte[] all = read(backend, spare, 3 * bytes / 4, host).toArray(ValueLayout.JAVA_BYTE);
                assertEquals(0x11, all[0]);
                assertEquals(0x11, all[2 * bytes - 1], "of the first pass");
                assertEquals(0x14, all[3 * bytes - 1]);
            }
        }
    }

    /** A row that guesses the next layer, then that layer twice: with what is coming, and when the guess is an old one. */
    @Test
    void whatIsComingIsReadWhereItComes() {
        ExpertLayout layout = new ExpertLayout(0, 6, 64, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);
        int bytes = (int) layout.blobBytes();
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withVramLimit(1L << 28));
                Arena arena = Arena.ofConfined();
                Stream stream = backend.device().newStream("test")) {
            Device device = backend.device();
            MemorySegment host = arena.allocate(6L * bytes, 64);
            try (Buffer table = device.allocate(64, "table");
                    Buffer plan = device.allocate(64, "plan");
                    Buffer pulls = device.allocate(64, "pulls");
                    Buffer state = device.allocate(MissShare.STATE_BYTES, "state");
                    Buffer notes = device.allocate(64, "notes");
                    Buffer coming = device.allocate(2 * MissShare.COMING_BYTES, "coming");
                    Buffer arrived = device.allocate(64, "arrived");
                    Buffer products = device.allocatePinned(96, "products");
                    Buffer spare = device.allocate(5L * bytes, "spare slots")) {
                for (Buffer zeros : new Buffer[] {state, coming, spare}) {
                    device.fill(zeros, 0, zeros.bytes(), 0, stream);
                }
                for (int expert = 0; expert < 6; expert++) {
                    host.setAtIndex(ValueLayout.JAVA_LONG, expert, spare.address());
                }
                device.copyToDevice(host.asSlice(0, 48), table, 0, stream);
                stream.synchronize();
                Routing routing = backend.routing(1, 3);
                MemorySegment.copy(new int[] {4, 0, 1}, 0, host, ValueLayout.JAVA_INT, 0, 3);
                device.copyToDevice(host.asSlice(0, 12), routing.ids(), 0, stream);
                stream.synchronize();
                Tensor row = backend.tensor(1, 64, "rows");
                float[] values = new float[64];
                MemorySegment weights = arena.allocate(6 * 64 * 4L, 64);
                for (int i = 0; i < 64; i++) {
                    values[i] = i % 7 - 2;
                    for (int expert = 0; expert < 6; expert++) {
                        weights.setAtIndex(ValueLayout.JAVA_FLOAT, 64L * expert + i, (i + expert) % 3 - 0.5f);
                    }
                }
                backend.ops().write(MemorySegment.ofArray(values), row);
                Weight router = backend.weight(new HostTensor("router", QuantType.F32, 6, 64, weights, 1));
                Weight behind = backend.weight(
                        new HostTensor("router", QuantType.F32, 3, 64, weights.asSlice(3 * 64 * 4L, 3 * 64 * 4L), 1));
                MissKernels kernels = ((CudaOps) backend.ops()).misses();
                for (int layer : new int[] {0, 1, 1}) {
                    MissShare.Guess guess = new MissShare.Guess(
                            2 - 2 * layer, products, coming.address() + layer * MissShare.COMING_BYTES, arrived);
                    MissShare share = new MissShare(
                            layer,
                            layout,
                            table,
                            plan,
                            CACHE,
                            1,
                            spare.address(),
                            bytes,
                            3,
                            pulls,
                            0,
                            notes.address(),
                            6,
                            state,
                            null,
                            guess);
                    kernels.share(share, routing, row, false, List.of(router, behind));
                    int[] noted = read(backend, notes, 3, host).toArray(ValueLayout.JAVA_INT);
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
                        MemorySegment.copy(record, 0, host, ValueLayout.JAVA_INT, 0, record.length);
                        device.copyToDevice(
                                host.asSlice(0, MissShare.COMING_BYTES), coming, MissShare.COMING_BYTES, stream);
                        stream.synchronize();
                        host.set(ValueLayout.JAVA_INT, 0, 8);
                        device.copyToDevice(host.asSlice(0, 4), arrived, 0, stream);
                        stream.synchronize();
                    } else {
                        boolean there = noted[0] == (4 | 5 << 16);
                        long[] planned = read(backend, plan, 10, host).toArray(ValueLayout.JAVA_LONG);
                        assertEquals(spare.address() + (noted[0] >> 16) * (long) bytes - bytes, planned[4]);
                        assertEquals(stages++ == 0, there, "the first time it was coming");
                    }
                }
                assertEquals(2, stages);
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
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withVramLimit(1L << 28));
                Arena arena = Arena.ofConfined();
                Stream stream = backend.device().newStream("test")) {
            Device device = backend.device();
            MemorySegment host = arena.allocate(64, 64);
            try (Buffer table = device.allocate(64, "table");
                    Buffer plan = device.allocate(64, "plan");
                    Buffer pulls = device.allocate(64, "pulls");
                    Buffer state = device.allocate(64, "state");
                    Buffer notes = device.allocate(64, "notes")) {
                device.fill(plan, 0, 64, 0xff, stream);
                long[] addresses = {CACHE, RAM + 1, RAM + 2, CACHE + 3, RAM + 4, RAM + 5};
                MemorySegment.copy(addresses, 0, host, ValueLayout.JAVA_LONG, 0, 6);
                device.copyToDevice(host, table, 0, stream);
                stream.synchronize();
                Routing routing = backend.routing(2, 3);
                MemorySegment.copy(IDS, 0, host, ValueLayout.JAVA_INT, 0, 6);
                device.copyToDevice(host.asSlice(0, 24), routing.ids(), 0, stream);
                stream.synchronize();
                MemorySegment.copy(WEIGHTS, 0, host, ValueLayout.JAVA_FLOAT, 0, 6);
                Tensor sums = routing.weights();
                device.copyToDevice(host.asSlice(0, 24), sums.buffer(), sums.offset(), stream);
                stream.synchronize();
                ExpertLayout layout =
                        new ExpertLayout(0, 6, 32, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);
                ((CudaOps) backend.ops())
                        .misses()
                        .share(
                                new MissShare(
                                        0,
                                        layout,
                                        table,
                                        plan,
                                        CACHE,
                                        1000,
                                        0,
                                        0,
                                        0,
                                        pulls,
                                        tailSkip,
                                        notes.address(),
                                        6,
                                        state,
                                        null,
                                        null),
                                routing,
                                backend.tensor(2, 32, "rows"),
                                false,
                                List.of());
                assertArrayEquals(ids, read(backend, routing.ids(), 6, host).toArray(ValueLayout.JAVA_INT));
                assertArrayEquals(IDS, read(backend, notes, 6, host).toArray(ValueLayout.JAVA_INT));
                assertArrayEquals(weights, read(backend, sums.buffer(), 6, host).toArray(ValueLayout.JAVA_FLOAT));
                assertArrayEquals(planned, read(backend, plan, 12, host).toArray(ValueLayout.JAVA_LONG));
            }
        }
    }

    private static MemorySegment read(CudaBackend backend, Buffer from, int words, MemorySegment into) {
        MemorySegment part = into.asSlice(0, 4L * words);
        backend.ops().read(new Tensor(from, 0, 1, words), part);
        return part;
    }
}
