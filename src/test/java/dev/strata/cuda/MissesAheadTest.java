package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.HostTensor;
import dev.strata.device.MissAhead;
import dev.strata.device.MissShare;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Experts that a layer's router will probably choose lie in spare slots when it does. */
class MissesAheadTest {
    private static final int EXPERTS = 6;
    private static final int USED = 3;
    private static final int COLUMNS = 32;
    private static final ExpertLayout LAYOUT =
            new ExpertLayout(1, EXPERTS, COLUMNS, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);
    private static final int BYTES = (int) LAYOUT.blobBytes();

    /** Experts 4, 0 and 1 are guessed, 0 has a slot; 4, 0 and 2 are chosen. Of four spare slots the first is for what was not guessed. */
    @Test
    void guessedExpertsAreThere() {
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withVramLimit(1L << 28));
                Arena arena = Arena.ofConfined();
                Stream stream = backend.device().newStream("test")) {
            Device device = backend.device();
            MemorySegment host = arena.allocate((long) EXPERTS * BYTES, 64);
            try (Buffer table = device.allocate(64, "table");
                    Buffer plan = device.allocate(64, "plan");
                    Buffer pulls = device.allocate(64, "pulls");
                    Buffer pullsAhead = device.allocate(64, "pulls ahead");
                    Buffer guessed = device.allocate(64, "guessed");
                    Buffer state = device.allocate(MissShare.STATE_BYTES, "state");
                    Buffer notes = device.allocate(64, "notes");
                    Buffer blobs = device.allocate((long) EXPERTS * BYTES, "blobs");
                    Buffer spare = device.allocate(4L * BYTES, "spare slots")) {
                for (int expert = 0; expert < EXPERTS; expert++) {
                    host.asSlice((long) expert * BYTES, BYTES).fill((byte) (0x10 + expert));
                }
                write(device, stream, host, blobs, 0);
                for (int expert = 0; expert < EXPERTS; expert++) {
                    host.setAtIndex(ValueLayout.JAVA_LONG, expert, blobs.address() + (long) expert * BYTES);
                }
                write(device, stream, host.asSlice(0, 8L * EXPERTS), table, 0);
                host.asSlice(0, MissShare.STATE_BYTES).fill((byte) 0);
                write(device, stream, host.asSlice(0, MissShare.STATE_BYTES), state, 0);
                MissShare share = new MissShare(
                        1, LAYOUT, table, plan, blobs.address(), BYTES, spare.address(), BYTES, 1, guessed.address(),
                        pulls, 0, notes.address(), USED, state, null);

                CudaOps ops = (CudaOps) backend.ops();
                Tensor x = backend.tensor(1, COLUMNS, "rows");
                host.asSlice(0, 4L * COLUMNS).fill((byte) 0);
                host.set(ValueLayout.JAVA_FLOAT, 0, 1);
                write(device, stream, host.asSlice(0, 4L * COLUMNS), x.buffer(), x.offset());
                ops.lookAhead(
                        new CudaExpertLayer(1, LAYOUT, null, null, new Guessing(new MissAhead(share, 1, 3, 2, pullsAhead))),
                        new RouterShape(EXPERTS, USED, true, 1),
                        router(backend, arena, 2, 1, -1, -2, 3, -3),
                        x,
                        backend.tensor(1, EXPERTS, "logits"),
                        backend.routing(1, USED));

                Routing routing = backend.routing(1, USED);
                MemorySegment.copy(new int[] {4, 0, 2}, 0, host, ValueLayout.JAVA_INT, 0, USED);
                write(device, stream, host.asSlice(0, 4L * USED), routing.ids(), 0);
                ops.misses().share(share, routing, x, false);
                assertArrayEquals(
                        new int[] {4 | 2 << 16, 0, 2 | 1 << 16},
                        read(ops, notes, USED, host).toArray(ValueLayout.JAVA_INT));
                long[] planned = read(ops, plan, 2 * EXPERTS, host).toArray(ValueLayout.JAVA_LONG);
                assertEquals(blobs.address(), planned[0]);
                assertEquals(spare.address(), planned[2]);
                assertEquals(spare.address() + BYTES, planned[4]);
                byte[] pulled = read(ops, spare, 3 * BYTES / 4, host).toArray(ValueLayout.JAVA_BYTE);
                for (int slot = 0; slot < 3; slot++) {
                    byte want = new byte[] {0x12, 0x14, 0x11}[slot];
                    assertEquals(want, pulled[slot * BYTES], "slot " + slot);
                    assertEquals(want, pulled[(slot + 1) * BYTES - 1], "slot " + slot);
                }

                // Nothing was guessed for a second choice, so what was before it counts no more.
                ops.misses().share(share, routing, x, false);
                assertEquals(4, read(ops, notes, USED, host).get(ValueLayout.JAVA_INT, 0), "read in place");
            }
        }
    }

    private static Weight router(CudaBackend backend, Arena arena, float... scores) {
        MemorySegment data = arena.allocate(4L * scores.length * COLUMNS, 64);
        for (int expert = 0; expert < scores.length; expert++) {
            data.setAtIndex(ValueLayout.JAVA_FLOAT, (long) expert * COLUMNS, scores[expert]);
        }
        return backend.weight(new HostTensor("router", QuantType.F32, scores.length, COLUMNS, data, 1));
    }

    private static void write(Device device, Stream stream, MemorySegment from, Buffer to, long offset) {
        device.copyToDevice(from, to, offset, stream);
        stream.synchronize();
    }

    private static MemorySegment read(CudaOps ops, Buffer from, int words, MemorySegment into) {
        MemorySegment part = into.asSlice(0, 4L * words);
        ops.read(new Tensor(from, 0, 1, words), part);
        return part;
    }

    /** A placement that has nothing but guesses. */
    private record Guessing(MissAhead guesses) implements ExpertPlacement {
        @Override
        public MissAhead ahead(int layer) {
            return guesses;
        }

        @Override
        public ExpertLayout layout(int layer) {
            return LAYOUT;
        }

        @Override
        public Buffer addresses(int layer) {
            throw new UnsupportedOperationException("nothing is computed");
        }

        @Override
        public void products(int layer, ExpertGroups groups) {
            throw new UnsupportedOperationException("nothing is computed");
        }
    }
}
