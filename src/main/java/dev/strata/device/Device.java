package dev.strata.device;

import java.lang.foreign.MemorySegment;

/**
 * Memory, streams and events of one processor with memory of its own. Everything that decides where expert blobs lie talks to
 * this interface only, so that it runs on {@code FakeDevice} in tests.
 *
 * <p>Copies are asynchronous: source and destination must stay valid until an event recorded behind the copy has happened.
 */
public interface Device extends AutoCloseable {
    /** Short name such as {@code cuda:0}. */
    String name();

    /** One line for people: model, memory, driver. */
    String description();

    /** Bytes that an allocation could get now, after any configured limit. */
    long freeBytes();

    /** Bytes of the whole device, after any configured limit. */
    long totalBytes();

    /**
     * Allocates device memory. Contents are undefined.
     *
     * @throws DeviceException of kind OUT_OF_MEMORY, naming {@code purpose} and the sizes
     */
    Buffer allocate(long bytes, String purpose);

    /** Allocates page-locked host memory that copies read and write at full speed; {@link Buffer#host()} works. */
    Buffer allocatePinned(long bytes, String purpose);

    /**
     * Registers existing host memory for direct access by the device.
     *
     * @throws DeviceException of kind REGISTRATION_REFUSED; the device stays usable
     */
    HostRegistration register(MemorySegment memory);

    Stream newStream(String name);

    Event newEvent();

    /** Queues a copy of all of {@code source} to {@code target} at {@code targetOffset}. */
    void copyToDevice(MemorySegment source, Buffer target, long targetOffset, Stream stream);

    /** Queues a copy from {@code source} at {@code sourceOffset} that fills {@code target}. */
    void copyToHost(Buffer source, long sourceOffset, MemorySegment target, Stream stream);

    void copyOnDevice(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes, Stream stream);

    /**
     * Queues several copies inside the device's memory, none of which overlaps another. Up to 15 bytes behind each may be copied as well.
     *
     * @param from device addresses
     * @param to device addresses
     * @param bytes sizes
     * @param count copies
     */
    void copyOnDevice(long[] from, long[] to, long[] bytes, int count, Stream stream);

    void fill(Buffer target, long offset, long bytes, int value, Stream stream);

    /** Closes {@code memory} once {@code event} has happened, without blocking the caller. */
    void retire(AutoCloseable memory, Event event);

    /** Makes the device current for the calling thread; every thread that issues work calls it once. */
    void attachThread();

    @Override
    void close();
}
