package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import org.jspecify.annotations.Nullable;

/** Pinned memory that grows to what is asked for. Its contents go when it grows. */
final class PinnedRoom implements AutoCloseable {
    private final Device device;
    private final String purpose;
    private @Nullable Buffer buffer;

    PinnedRoom(Device device, String purpose) {
        this.device = device;
        this.purpose = purpose;
    }

    /** Memory of at least {@code bytes}; what was given before is invalid when it was smaller. */
    Buffer of(long bytes) {
        Buffer now = buffer;
        if (now == null || now.bytes() < bytes) {
            close();
            now = device.allocatePinned(bytes, purpose);
            buffer = now;
        }
        return now;
    }

    @Override
    public void close() {
        Buffer now = buffer;
        buffer = null;
        if (now != null) {
            now.close();
        }
    }
}
