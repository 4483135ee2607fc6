package dev.strata.expert;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.Stream;
import dev.strata.memory.Bytes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one allocation of the expert cache. Drivers report memory that is not there until it is touched, so it is written once, free
 * memory is read again, and the allocation shrinks until the reserve is really free.
 */
public final class CacheMemory {
    private static final Logger LOG = LoggerFactory.getLogger(CacheMemory.class);
    private static final int MOST_ATTEMPTS = 12;

    /** Slots and loans start at multiples of this, from either end. */
    private static final long UNIT = 256;

    private CacheMemory() {}

    /**
     * Allocates up to {@code wanted} bytes and leaves {@code reserve} bytes of the device free.
     *
     * @param least bytes below which there is no use
     * @throws DeviceException of kind OUT_OF_MEMORY that says how much there is and what to change
     */
    public static Buffer allocate(Device device, long wanted, long reserve, long least) {
        long bytes = Math.min(wanted, device.freeBytes() - reserve);
        for (int attempt = 0; attempt < MOST_ATTEMPTS && bytes >= least; attempt++) {
            Buffer buffer;
            try {
                buffer = device.allocate(bytes / UNIT * UNIT, "expert cache");
            } catch (DeviceException refused) {
                if (refused.kind() != DeviceException.Kind.OUT_OF_MEMORY) {
                    throw refused;
                }
                LOG.warn("expert cache: {} were refused, trying a quarter less", Bytes.text(bytes));
                bytes = bytes / 4 * 3;
                continue;
            }
            long missing = reserve - touchedFree(device, buffer);
            if (missing <= 0) {
                return buffer;
            }
            buffer.close();
            LOG.info(
                    "expert cache: {} less, the reserve of {} was not really free",
                    Bytes.text(missing),
                    Bytes.text(reserve));
            bytes -= missing;
        }
        throw new DeviceException(
                DeviceException.Kind.OUT_OF_MEMORY,
                "the expert cache needs " + Bytes.text(least) + " of device memory and " + Bytes.text(reserve)
                        + " in reserve, but only " + Bytes.text(device.freeBytes())
                        + " are free: lower --max-context, --prefill or --vram-reserve-mib, or close other programs on the card");
    }

    private static long touchedFree(Device device, Buffer buffer) {
        try (Stream stream = device.newStream("cache-touch")) {
            device.fill(buffer, 0, buffer.bytes(), 0, stream);
            stream.synchronize();
            return device.freeBytes();
        } catch (DeviceException failed) {
            buffer.close();
            throw failed;
        }
    }
}
