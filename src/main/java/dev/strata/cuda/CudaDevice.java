package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.DeviceException.Kind;
import dev.strata.device.Event;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostRegistration;
import dev.strata.device.Stream;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One card: memory within the configured limit, streams, events and copies. Threads call {@link #attachThread} before they use it. */
public final class CudaDevice implements Device {
    private final int ordinal;
    private final int device;
    private final long context;
    private final String cardName;
    private final int computeCapability;
    private final int multiprocessors;
    private final long limit;
    private final AtomicLong used = new AtomicLong();
    private final Retirement retirement = new Retirement();
    private @Nullable BlobCopies copies;
    private volatile Thread user = Thread.currentThread();

    private CudaDevice(int ordinal, int device, long context, long limit) {
        this.ordinal = ordinal;
        this.device = device;
        this.context = context;
        this.limit = limit;
        this.cardName = Driver.deviceName(device);
        this.computeCapability = 10 * Driver.attribute(device, Driver.COMPUTE_CAPABILITY_MAJOR)
                + Driver.attribute(device, Driver.COMPUTE_CAPABILITY_MINOR);
        this.multiprocessors = Driver.attribute(device, Driver.MULTIPROCESSORS);
    }

    /**
     * Opens the card that the options name and makes it current for the calling thread.
     *
     * @throws DeviceException of kind UNAVAILABLE when there is no driver or no such card, with the reason
     */
    public static CudaDevice open(CudaOptions options) {
        CudaProbe.Result found = CudaProbe.probe(options.driver());
        if (!(found instanceof CudaProbe.Available available)) {
            throw new DeviceException(Kind.UNAVAILABLE, found.reason());
        }
        if (options.gpu() < 0 || options.gpu() >= available.devices()) {
            throw new DeviceException(
                    Kind.UNAVAILABLE,
                    "--gpu " + options.gpu() + " does not exist: cards are numbered 0 to " + (available.devices() - 1));
        }
        CudaLibraries.load(options);
        Driver.initialize();
        int device = Driver.device(options.gpu());
        long context = Driver.retainContext(device);
        Driver.setContext(context);
        long total = Driver.memory()[1];
        long limit = options.vramLimitBytes() > 0 ? Math.min(total, options.vramLimitBytes()) : total;
        return new CudaDevice(options.gpu(), device, context, limit);
    }

    @Override
    public String name() {
        return "cuda:" + ordinal;
    }

    @Override
    public String description() {
        attach();
        int version = Driver.version();
        return String.format(
                "%s, %.1f GiB%s, compute capability %d.%d, driver for CUDA %d.%d",
                cardName,
                limit / (double) (1L << 30),
                limit < Driver.memory()[1] ? " (limited)" : "",
                computeCapability / 10,
                computeCapability % 10,
                version / 1000,
                version % 1000 / 10);
    }

    /** Major version times ten plus minor version. */
    public int computeCapability() {
        return computeCapability;
    }

    public int multiprocessors() {
        return multiprocessors;
    }

    /** Most shared memory that one block may ask for. */
    int sharedMemoryOfABlock() {
        return Driver.attribute(device, Driver.SHARED_MEMORY_OF_A_BLOCK);
    }

    @Override
    public long freeBytes() {
        attach();
        return Math.max(0, Math.min(Driver.memory()[0], limit - used.get()));
    }

    @Override
    public long totalBytes() {
        return limit;
    }

    @Override
    public Buffer allocate(long bytes, String purpose) {
        attach();
        if (bytes < 0) {
            throw new IllegalArgumentException(purpose + " of " + bytes + " bytes");
        }
        retirement.collect();
        // Kernels read whole pieces of 16 bytes.
        long size = Math.ceilDiv(Math.max(1, bytes), 16L) * 16;
        if (used.addAndGet(size) > limit) {
            used.addAndGet(-size);
            throw new DeviceException(
                    Kind.OUT_OF_MEMORY,
                    purpose + " needs " + bytes + " bytes, " + freeBytes() + " of " + limit + " are free on " + name());
        }
        try {
            return new CudaBuffer(this, Driver.allocate(size, purpose), size);
        } catch (DeviceException e) {
            used.addAndGet(-size);
            throw e;
        }
    }

    void freed(long bytes) {
        used.addAndGet(-bytes);
    }

    @Override
    public Buffer allocatePinned(long bytes, String purpose) {
        attach();
        long size = Math.max(16, bytes);
        long address = Driver.allocatePinned(size, purpose);
        // Kernels read it at the same address.
        return HostBuffer.owning(MemorySegment.ofAddress(address).reinterpret(size), () -> Driver.freePinned(address));
    }

    @Override
    public HostRegistration register(MemorySegment memory) {
        attach();
        return CudaRegistration.create(memory);
    }

    @Override
    public Stream newStream(String name) {
        attach();
        return CudaStream.create(name);
    }

    @Override
    public Event newEvent() {
        attach();
        return CudaEvent.create();
    }

    @Override
    public void copyToDevice(MemorySegment source, Buffer target, long targetOffset, Stream stream) {
        attach();
        checkRange(target, targetOffset, source.byteSize());
        Driver.copyToDevice(target.address() + targetOffset, source, ((CudaStream) stream).handle());
    }

    @Override
    public void copyToHost(Buffer source, long sourceOffset, MemorySegment target, Stream stream) {
        attach();
        checkRange(source, sourceOffset, target.byteSize());
        Driver.copyToHost(target, source.address() + sourceOffset, ((CudaStream) stream).handle());
    }

    @Override
    public void copyOnDevice(
            Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes, Stream stream) {
        attach();
        checkRange(source, sourceOffset, bytes);
        checkRange(target, targetOffset, bytes);
        Driver.copyOnDevice(
                target.address() + targetOffset,
                source.address() + sourceOffset,
                bytes,
                ((CudaStream) stream).handle());
    }

    @Override
    public void copyOnDevice(long[] from, long[] to, long[] bytes, int count, Stream stream) {
        attach();
        BlobCopies together = copies;
        if (together != null && together.uses(stream)) {
            together.run(from, to, bytes, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            Driver.copyOnDevice(to[i], from[i], bytes[i], ((CudaStream) stream).handle());
        }
    }

    /** Copies of several blobs are made by {@code kernels} where they can be; null: by the driver. */
    void copyBy(@Nullable BlobCopies kernels) {
        copies = kernels;
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, int value, Stream stream) {
        attach();
        checkRange(target, offset, bytes);
        Driver.fill(target.address() + offset, value, bytes, ((CudaStream) stream).handle());
    }

    private static void checkRange(Buffer buffer, long offset, long bytes) {
        if (offset < 0 || bytes < 0 || offset + bytes > buffer.bytes()) {
            throw new IllegalArgumentException(
                    bytes + " bytes at " + offset + " exceed a buffer of " + buffer.bytes() + " bytes");
        }
    }

    @Override
    public void retire(AutoCloseable memory, Event event) {
        retirement.add(memory, event);
        retirement.collect();
    }

    @Override
    public void attachThread() {
        Driver.setContext(context);
        user = Thread.currentThread();
    }

    /** Attaches the calling thread, unless it was the last one to be attached: the model may be used by another thread than loaded it. */
    void attach() {
        if (user != Thread.currentThread()) {
            attachThread();
        }
    }

    @Override
    public void close() {
        retirement.drain();
        Driver.releaseContext(device);
    }
}
