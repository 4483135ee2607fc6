package dev.strata.device;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class HostBufferTest {
    @Test
    void memoryIsGivenBackOnce() {
        AtomicInteger given = new AtomicInteger();
        HostBuffer buffer = HostBuffer.owning(MemorySegment.ofArray(new byte[8]), given::incrementAndGet);
        assertEquals(8, buffer.bytes());
        buffer.close();
        buffer.close();
        assertEquals(1, given.get());
    }

    @Test
    void memoryOfItsOwnIsZeroedAlignedAndGoneAfterwards() {
        HostBuffer buffer = HostBuffer.allocate(100);
        assertEquals(0, buffer.address() % 64);
        assertEquals(0, buffer.host().get(JAVA_BYTE, 99));
        buffer.close();
        buffer.close();
        assertThrows(IllegalStateException.class, () -> buffer.host().get(JAVA_BYTE, 0));
    }
}
