package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.MissShare;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * What the router of every layer chose in a decode step. Captured passes write it on the device; it is brought to the host behind the
 * pass and read before the next one.
 */
final class UsageLog implements AutoCloseable {
    /** Rows of a pass that are noted; larger passes are prompts, which do not teach the cache. */
    static final int ROWS = 16;

    /** Hears one choice. */
    @FunctionalInterface
    interface Listener {
        /** @param spare the spare slot that the expert was pulled into, -1 when it was not */
        void chosen(int layer, int expert, int spare);
    }

    private static final int EXPERT = (1 << MissShare.NOTED_EXPERT_BITS) - 1;

    private static final int MOST_USED = 32;

    /** Choices of a layer that there is room for. */
    static final int MOST_PAIRS = ROWS * MOST_USED;

    private static final long LAYER_BYTES = 4L * MOST_PAIRS;

    private final Device device;
    private final int layers;
    private final Buffer log;
    private final Buffer host;
    private final Event copied;
    private final int[] notes = new int[MOST_PAIRS];
    private int rows;
    private int used;
    private boolean pending;

    private UsageLog(Device device, int layers, Buffer log, Buffer host, Event copied) {
        this.device = device;
        this.layers = layers;
        this.log = log;
        this.host = host;
        this.copied = copied;
    }

    static UsageLog create(Device device, int layers) {
        List<AutoCloseable> made = new ArrayList<>();
        try {
            Buffer log = device.allocate(LAYER_BYTES * layers, "expert usage");
            made.add(log);
            Buffer host = device.allocatePinned(LAYER_BYTES * layers, "expert usage");
            made.add(host);
            return new UsageLog(device, layers, log, host, device.newEvent());
        } catch (RuntimeException failed) {
            Closing.all(made);
            throw failed;
        }
    }

    /** Where kernels may note the choices of a layer themselves. */
    long address(int layer) {
        return log.address() + layer * LAYER_BYTES;
    }

    /** Before a pass: layers that it does not reach have no notes then, instead of older ones. */
    void clear(Stream stream) {
        device.fill(log, 0, log.bytes(), 0xff, stream);
    }

    /** A layer's kernels note its choices themselves. */
    void noted(Routing routing) {
        if (routing.used() <= MOST_USED) {
            used = routing.used();
        }
    }

    /** Notes a layer's choices in the order of {@code stream}; part of captured passes. */
    void note(int layer, Routing routing, int passRows, Stream stream) {
        if (passRows <= ROWS && routing.used() <= MOST_USED) {
            used = routing.used();
            device.copyOnDevice(routing.ids(), 0, log, layer * LAYER_BYTES, 4L * passRows * used, stream);
        }
    }

    /** Brings the notes of a pass to the host. */
    void collect(int passRows, Stream stream) {
        if (passRows <= ROWS && used > 0) {
            rows = passRows;
            device.copyToHost(log, 0, host.host(), stream);
            copied.record(stream);
            pending = true;
        }
    }

    /** Tells what the last collected pass chose, once. */
    boolean read(Listener listener) {
        if (!pending) {
            return false;
        }
        pending = false;
        copied.synchronize();
        for (int layer = 0; layer < layers; layer++) {
            MemorySegment.copy(host.host(), JAVA_INT, layer * LAYER_BYTES, notes, 0, rows * used);
            for (int i = 0; i < rows * used; i++) {
                int note = notes[i];
                if (note >= 0) {
                    listener.chosen(layer, note & EXPERT, (note >> MissShare.NOTED_EXPERT_BITS) - 1);
                }
            }
        }
        return true;
    }

    @Override
    public void close() {
        copied.synchronize();
        copied.close();
        host.close();
        log.close();
    }
}
