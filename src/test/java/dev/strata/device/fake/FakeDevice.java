package dev.strata.device.fake;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.Event;
import dev.strata.device.HostRegistration;
import dev.strata.device.Stream;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Device} whose memory is host memory. With {@link #threaded} every stream has a worker thread; with {@link #stepped}
 * nothing runs until {@link #step} picks one ready operation, or until a blocking call needs it.
 */
public final class FakeDevice implements Device {
    private static final long LARGE_COPY = 64 << 10;

    private record Retired(AutoCloseable memory, FakeEvent event, long number) {}

    private final Object lock = new Object();
    private final long capacity;
    private final @Nullable RandomGenerator random;
    private final long bytesPerSecond;
    private final Faults faults = new Faults();
    private final List<FakeCall> calls = new ArrayList<>();
    private final List<FakeStream> streams = new ArrayList<>();
    private final List<FakeBuffer> buffers = new ArrayList<>();
    private final List<FakeRegistration> registrations = new ArrayList<>();
    private final List<Retired> retired = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();
    private long used;
    private long hidden;
    private int events;
    private boolean recording = true;
    private long largestCopy = Long.MAX_VALUE;

    private FakeDevice(long capacity, @Nullable RandomGenerator random, long bytesPerSecond) {
        this.capacity = capacity;
        this.random = random;
        this.bytesPerSecond = bytesPerSecond;
    }

    /** A device of {@code capacity} bytes with a thread for every stream. */
    public static FakeDevice threaded(long capacity) {
        return new FakeDevice(capacity, null, 0);
    }

    /** A threaded device whose copies take {@code bytes / bytesPerSecond}. */
    public static FakeDevice threaded(long capacity, long bytesPerSecond) {
        return new FakeDevice(capacity, null, bytesPerSecond);
    }

    /** A device that runs one operation at a time, picked by {@code random}. */
    public static FakeDevice stepped(long capacity, RandomGenerator random) {
        return new FakeDevice(capacity, random, 0);
    }

    /** Failures to show. */
    public Faults faults() {
        return faults;
    }

    /** Stops keeping the list of calls, for long benchmarks. */
    public FakeDevice withoutCalls() {
        recording = false;
        return this;
    }

    /** Copies of blobs move nothing: a card's copy engine takes no time of the processor, so benchmarks of what feeds it leave them out. */
    public FakeDevice withoutLargeCopies() {
        largestCopy = LARGE_COPY;
        return this;
    }

    /** Device memory that {@link #freeBytes} still reports although it cannot be had. */
    public FakeDevice withHidden(long bytes) {
        hidden = bytes;
        return this;
    }

    /** The calls so far. */
    public List<FakeCall> calls() {
        synchronized (lock) {
            return List.copyOf(calls);
        }
    }

    /** Calls of one kind so far. */
    public long count(FakeCall.Kind kind) {
        return calls().stream().filter(call -> call.kind() == kind).count();
    }

    /** Failures of device work and of {@link #launch}ed checks. */
    public List<Throwable> failures() {
        synchronized (lock) {
            return List.copyOf(failures);
        }
    }

    /** Everything that was made and not closed, in words; empty when nothing leaks. */
    public List<String> leaks() {
        synchronized (lock) {
            List<String> leaks = new ArrayList<>();
            buffers.forEach(buffer -> leaks.add((buffer.pinned() ? "pinned " : "device ") + buffer.bytes() + " bytes"));
            registrations.forEach(registration ->
                    leaks.add("registration of " + registration.memory().byteSize() + " bytes"));
            streams.forEach(stream -> leaks.add("stream " + stream.name()));
            if (events > 0) {
                leaks.add(events + " events");
            }
            retired.forEach(entry -> leaks.add("retired memory"));
            return leaks;
        }
    }

    /** Queues {@code kernel} on {@code stream}. */
    public void launch(Stream stream, Runnable kernel) {
        queue(FakeCall.Kind.LAUNCH, (FakeStream) stream, 0, "launch", kernel);
    }

    /** Runs one ready operation; false when none is ready. */
    public boolean step() {
        List<FakeStream> ready = new ArrayList<>();
        synchronized (lock) {
            for (FakeStream stream : streams) {
                if (stream.canRun()) {
                    ready.add(stream);
                }
            }
        }
        if (ready.isEmpty()) {
            return false;
        }
        ready.get(random == null ? 0 : random.nextInt(ready.size())).runNext();
        return true;
    }

    Object lock() {
        return lock;
    }

    /** Blocks until {@code done}; a stepped device runs its work meanwhile. */
    void await(BooleanSupplier done) {
        if (random != null) {
            while (!held(done)) {
                if (!step()) {
                    throw new IllegalStateException("deadlock: the caller waits for work that nothing will start");
                }
            }
            return;
        }
        boolean interrupted = false;
        synchronized (lock) {
            while (!done.getAsBoolean()) {
                try {
                    lock.wait();
                } catch (InterruptedException stop) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean held(BooleanSupplier condition) {
        synchronized (lock) {
            return condition.getAsBoolean();
        }
    }

    /** Notes a call and lets it fail when it has to; true when it has to fail later. */
    boolean call(FakeCall.Kind kind, @Nullable FakeStream stream, long bytes, String what) {
        synchronized (lock) {
            if (recording) {
                calls.add(new FakeCall(kind, stream == null ? "" : stream.name(), bytes));
            }
        }
        return faults.meet(kind, what);
    }

    private void queue(FakeCall.Kind kind, FakeStream stream, long bytes, String what, Runnable payload) {
        boolean fails = call(kind, stream, bytes, what);
        Runnable body = fails
                ? () -> {
                    throw new DeviceException(DeviceException.Kind.FAILED, "fake: " + what + " failed on the device");
                }
                : payload;
        synchronized (lock) {
            stream.queue(FakeStream.Work.payload(body, bytes));
        }
    }

    void spend(long bytes) {
        if (bytesPerSecond > 0 && bytes > 0) {
            long end = System.nanoTime() + (long) (bytes * 1e9 / bytesPerSecond);
            for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    }

    void failed(Throwable failure) {
        synchronized (lock) {
            failures.add(failure);
        }
    }

    /** Closes retired memory whose events have happened; when it returns, what another thread was closing is closed too. */
    void settle() {
        synchronized (retired) {
            closeDue();
        }
    }

    private void closeDue() {
        List<Retired> due = new ArrayList<>();
        synchronized (lock) {
            retired.removeIf(entry -> {
                boolean happened = entry.event.reached(entry.number);
                if (happened) {
                    due.add(entry);
                }
                return happened;
            });
        }
        for (Retired entry : due) {
            try {
                entry.memory.close();
            } catch (Exception failure) {
                failed(failure);
            }
        }
    }

    void freed(FakeBuffer buffer) {
        synchronized (lock) {
            buffers.remove(buffer);
            used -= buffer.pinned() ? 0 : buffer.bytes();
        }
    }

    void unregistered(FakeRegistration registration) {
        synchronized (lock) {
            registrations.remove(registration);
        }
    }

    void eventClosed() {
        events--;
    }

    void streamClosed(FakeStream stream) {
        streams.remove(stream);
    }

    @Override
    public String name() {
        return "fake:0";
    }

    @Override
    public String description() {
        return "a device in host memory";
    }

    @Override
    public long freeBytes() {
        synchronized (lock) {
            return capacity - used;
        }
    }

    @Override
    public long totalBytes() {
        return capacity;
    }

    @Override
    public Buffer allocate(long bytes, String purpose) {
        call(FakeCall.Kind.ALLOCATE, null, bytes, purpose);
        synchronized (lock) {
            if (bytes > capacity - hidden - used) {
                throw new DeviceException(
                        DeviceException.Kind.OUT_OF_MEMORY,
                        purpose + ": " + bytes + " bytes do not fit into " + (capacity - hidden - used));
            }
            FakeBuffer buffer = new FakeBuffer(this, HostPages.allocate(bytes, purpose), false);
            buffers.add(buffer);
            used += bytes;
            return buffer;
        }
    }

    @Override
    public Buffer allocatePinned(long bytes, String purpose) {
        call(FakeCall.Kind.ALLOCATE_PINNED, null, bytes, purpose);
        synchronized (lock) {
            FakeBuffer buffer = new FakeBuffer(this, HostPages.allocate(bytes, purpose), true);
            buffers.add(buffer);
            return buffer;
        }
    }

    @Override
    public HostRegistration register(MemorySegment memory) {
        call(FakeCall.Kind.REGISTER, null, memory.byteSize(), "registration");
        FakeRegistration registration = new FakeRegistration(this, memory);
        synchronized (lock) {
            for (FakeRegistration other : registrations) {
                if (memory.asOverlappingSlice(other.memory()).isPresent()) {
                    throw new DeviceException(
                            DeviceException.Kind.REGISTRATION_REFUSED, "fake: the range is registered already");
                }
            }
            registrations.add(registration);
        }
        return registration;
    }

    @Override
    public Stream newStream(String name) {
        call(FakeCall.Kind.NEW_STREAM, null, 0, name);
        FakeStream stream = new FakeStream(this, name);
        synchronized (lock) {
            streams.add(stream);
        }
        if (random == null) {
            Thread.ofPlatform().daemon().name("fake-" + name).start(() -> work(stream));
        }
        return stream;
    }

    private void work(FakeStream stream) {
        while (true) {
            synchronized (lock) {
                while (!stream.canRun()) {
                    if (stream.closed()) {
                        return;
                    }
                    try {
                        lock.wait();
                    } catch (InterruptedException stop) {
                        return;
                    }
                }
            }
            stream.runNext();
        }
    }

    @Override
    public Event newEvent() {
        call(FakeCall.Kind.NEW_EVENT, null, 0, "event");
        synchronized (lock) {
            events++;
        }
        return new FakeEvent(this);
    }

    @Override
    public void copyToDevice(MemorySegment source, Buffer target, long targetOffset, Stream stream) {
        MemorySegment to = ((FakeBuffer) target).contents().asSlice(targetOffset, source.byteSize());
        queue(FakeCall.Kind.COPY_TO_DEVICE, (FakeStream) stream, source.byteSize(), "copy to the device", () -> {
            if (source.byteSize() < largestCopy) {
                to.copyFrom(source);
            }
        });
    }

    @Override
    public void copyToHost(Buffer source, long sourceOffset, MemorySegment target, Stream stream) {
        MemorySegment from = ((FakeBuffer) source).contents().asSlice(sourceOffset, target.byteSize());
        queue(
                FakeCall.Kind.COPY_TO_HOST,
                (FakeStream) stream,
                target.byteSize(),
                "copy to the host",
                () -> target.copyFrom(from));
    }

    @Override
    public void copyOnDevice(
            Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes, Stream stream) {
        MemorySegment from = ((FakeBuffer) source).contents().asSlice(sourceOffset, bytes);
        MemorySegment to = ((FakeBuffer) target).contents().asSlice(targetOffset, bytes);
        queue(FakeCall.Kind.COPY_ON_DEVICE, (FakeStream) stream, bytes, "copy on the device", () -> to.copyFrom(from));
    }

    @Override
    public void copyOnDevice(long[] from, long[] to, long[] bytes, int count, Stream stream) {
        for (int i = 0; i < count; i++) {
            MemorySegment source = MemorySegment.ofAddress(from[i]).reinterpret(bytes[i]);
            MemorySegment target = MemorySegment.ofAddress(to[i]).reinterpret(bytes[i]);
            queue(
                    FakeCall.Kind.COPY_ON_DEVICE,
                    (FakeStream) stream,
                    bytes[i],
                    "copy on the device",
                    () -> target.copyFrom(source));
        }
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, int value, Stream stream) {
        MemorySegment to = ((FakeBuffer) target).contents().asSlice(offset, bytes);
        queue(FakeCall.Kind.FILL, (FakeStream) stream, bytes, "fill", () -> to.fill((byte) value));
    }

    @Override
    public void retire(AutoCloseable memory, Event event) {
        FakeEvent fake = (FakeEvent) event;
        synchronized (lock) {
            retired.add(new Retired(memory, fake, fake.recorded()));
        }
        settle();
    }

    @Override
    public void attachThread() {}

    /** Runs or waits for everything that is queued. */
    public void drain() {
        await(() -> streams.stream().allMatch(FakeStream::idle));
        settle();
    }

    @Override
    public void close() {
        List<FakeStream> open;
        synchronized (lock) {
            open = List.copyOf(streams);
        }
        open.forEach(FakeStream::close);
        List.copyOf(buffers).forEach(FakeBuffer::close);
    }
}
