package dev.strata.device.fake;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Buffer;
import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The fake keeps the promises of a device, in both of its modes. */
class FakeDeviceTest {
    static List<Supplier<FakeDevice>> devices() {
        return List.of(() -> FakeDevice.threaded(1 << 20), () -> FakeDevice.stepped(1 << 20, new SplittableRandom(7)));
    }

    @ParameterizedTest
    @MethodSource("devices")
    void eventsOrderStreams(Supplier<FakeDevice> factory) {
        try (FakeDevice device = factory.get();
                Arena arena = Arena.ofShared()) {
            Stream copies = device.newStream("copies");
            Stream compute = device.newStream("compute");
            Event copied = device.newEvent();
            Event used = device.newEvent();
            Buffer buffer = device.allocate(4096, "slot");
            MemorySegment[] sources = new MemorySegment[20];
            byte[] read = new byte[sources.length];
            for (int i = 0; i < sources.length; i++) {
                sources[i] = arena.allocate(4096).fill((byte) i);
                copies.waitFor(used);
                device.copyToDevice(sources[i], buffer, 0, copies);
                copied.record(copies);
                compute.waitFor(copied);
                int index = i;
                device.launch(
                        compute,
                        () -> read[index] = ((FakeBuffer) buffer).contents().get(JAVA_BYTE, 4095));
                used.record(compute);
            }
            used.synchronize();
            for (int i = 0; i < read.length; i++) {
                assertEquals(i, read[i]);
            }
            copied.close();
            used.close();
            copies.close();
            compute.close();
            buffer.close();
            assertEquals(List.of(), device.leaks());
        }
    }

    @ParameterizedTest
    @MethodSource("devices")
    void memoryIsCountedAndRefused(Supplier<FakeDevice> factory) {
        try (FakeDevice device = factory.get()) {
            Buffer buffer = device.allocate(1 << 19, "half");
            assertEquals(1 << 19, device.freeBytes());
            DeviceException refused =
                    assertThrows(DeviceException.class, () -> device.allocate((1 << 19) + 1, "the rest"));
            assertEquals(DeviceException.Kind.OUT_OF_MEMORY, refused.kind());
            buffer.close();
            buffer.close();
            assertEquals(1 << 20, device.freeBytes());
            assertThrows(UnsupportedOperationException.class, buffer::host);
        }
    }

    @ParameterizedTest
    @MethodSource("devices")
    void aFailureOnTheDeviceBreaksItsStream(Supplier<FakeDevice> factory) {
        try (FakeDevice device = factory.get()) {
            Stream stream = device.newStream("copies");
            Buffer buffer = device.allocate(100, "slot");
            device.faults().failLater(FakeCall.Kind.FILL, 1);
            Event event = device.newEvent();
            device.fill(buffer, 0, 100, 1, stream);
            device.fill(buffer, 0, 100, 2, stream);
            device.fill(buffer, 0, 100, 3, stream);
            event.record(stream);
            assertThrows(DeviceException.class, event::synchronize);
            assertThrows(DeviceException.class, stream::synchronize);
            assertEquals(1, ((FakeBuffer) buffer).contents().get(JAVA_BYTE, 99));
            assertEquals(1, device.failures().size());
        }
    }

    @ParameterizedTest
    @MethodSource("devices")
    void retiredMemoryClosesBehindItsEvent(Supplier<FakeDevice> factory) {
        try (FakeDevice device = factory.get()) {
            Stream stream = device.newStream("copies");
            Event event = device.newEvent();
            Buffer buffer = device.allocate(100, "slot");
            device.fill(buffer, 0, 100, 1, stream);
            event.record(stream);
            device.retire(buffer, event);
            device.drain();
            assertEquals(1 << 20, device.freeBytes());
        }
    }

    @Test
    void nothingRunsBeforeItIsStepped() {
        try (FakeDevice device = FakeDevice.stepped(1000, new SplittableRandom(1))) {
            Stream stream = device.newStream("copies");
            Event event = device.newEvent();
            assertTrue(event.isDone());
            event.record(stream);
            assertFalse(event.isDone());
            assertTrue(device.step());
            assertTrue(event.isDone());
            assertFalse(device.step());
        }
    }

    @Test
    void aRegistrationTwiceIsRefused() {
        try (FakeDevice device = FakeDevice.threaded(1000);
                Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(8192);
            device.register(memory.asSlice(0, 4096)).close();
            device.register(memory);
            assertThrows(DeviceException.class, () -> device.register(memory.asSlice(4096)));
            assertEquals(List.of("registration of 8192 bytes"), device.leaks());
        }
    }
}
