package dev.strata.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.device.HostTensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import dev.strata.memory.HostMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class WeightPagesTest {
    private static final long GIB = 1L << 30;

    @Test
    void copiesLeaveAReserve() {
        assertTrue(WeightPages.fits(20 * GIB, memory(64 * GIB, 28 * GIB)));
        assertFalse(WeightPages.fits(20 * GIB + 1, memory(64 * GIB, 28 * GIB)));
        assertFalse(WeightPages.fits(7 * GIB, memory(8 * GIB, 8 * GIB)));
    }

    @Test
    void weightsMoveOnlyWhenAsked() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        assumeTrue(WeightPages.fits(4 << 20, HostMemory.read()), "too little free memory for a copy");
        CpuSettings settings = CpuSettings.standard().withThreads(2);
        try (Arena arena = Arena.ofConfined();
                CpuBackend copying = CpuBackend.create(settings);
                CpuBackend reading = CpuBackend.create(settings.withHugeWeights(false))) {
            MemorySegment data = arena.allocate(4 << 20, 64);
            for (long i = 0; i < data.byteSize(); i += 8) {
                data.set(java.lang.foreign.ValueLayout.JAVA_LONG, i, i * 31);
            }
            HostTensor tensor = new HostTensor("w", QuantType.F32, 1024, 1024, data, 1);
            Weight copied = copying.weight(tensor);
            assertNotEquals(data.address(), copied.buffer().host().address());
            assertEquals(-1, copied.buffer().host().mismatch(data));
            assertEquals(data.address(), reading.weight(tensor).buffer().host().address());
        }
    }

    @Test
    void aMatrixWithoutRoomForItsPackedFormIsCopiedAsStored() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        CpuSettings settings = CpuSettings.standard().withThreads(1);
        try (Arena memory = Arena.ofConfined();
                CpuContext context = CpuContext.open(settings);
                CpuArena arena = new CpuArena()) {
            long stored = QuantType.IQ2_XXS.bytes(4096) * 4096;
            HostTensor tensor = new HostTensor("w", QuantType.IQ2_XXS, 4096, 4096, memory.allocate(stored, 64), 1);
            WeightPages pages = new WeightPages(context, arena, true, true);
            MatrixForm packed = Objects.requireNonNull(pages.form(tensor, memory(64 * GIB, 64 * GIB)));
            assertTrue(packed.packed() && packed.bytes() > stored, "this type grows");
            long reserve = 8 * GIB;
            MatrixForm between = pages.form(tensor, memory(64 * GIB, reserve + stored));
            assertEquals(MatrixForm.stored(QuantType.IQ2_XXS, 4096, 4096), between);
            assertNull(pages.form(tensor, memory(64 * GIB, reserve + stored - 1)));
        }
    }

    private static HostMemory memory(long physical, long available) {
        return new HostMemory(physical, available, Long.MAX_VALUE, "", Long.MAX_VALUE, Long.MAX_VALUE);
    }
}
