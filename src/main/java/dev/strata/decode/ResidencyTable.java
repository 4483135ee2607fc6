package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Event;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * The table by which kernels find experts: int64 addresses in device memory, [layers, experts]. The host keeps an image of it in pinned
 * memory; changed layers are copied in the order of a stream.
 */
final class ResidencyTable implements AutoCloseable {
    private final Device device;
    private final ArenaLayout layout;
    private final Buffer table;
    private final Buffer image;
    private final Buffer overlay;
    private final Event flushed;
    private final long[] offsets;
    private final Buffer[] views;
    private final BitSet dirty = new BitSet();

    private ResidencyTable(
            Device device,
            ArenaLayout layout,
            Buffer table,
            Buffer image,
            Buffer overlay,
            Event flushed,
            long[] offsets) {
        this.device = device;
        this.layout = layout;
        this.table = table;
        this.image = image;
        this.overlay = overlay;
        this.flushed = flushed;
        this.offsets = offsets;
        views = new Buffer[layout.layers()];
        for (int layer = 0; layer < views.length; layer++) {
            views[layer] = new BufferView(table, offsets[layer], 8L * layout.experts(layer));
        }
        image.host().fill((byte) 0);
        dirty.set(0, layout.layers());
    }

    /** A table of zeros, not on the device yet. */
    static ResidencyTable create(Device device, ArenaLayout layout, String purpose) {
        long[] offsets = new long[layout.layers()];
        long bytes = 0;
        for (int layer = 0; layer < offsets.length; layer++) {
            offsets[layer] = bytes;
            bytes += Math.ceilDiv(8L * layout.experts(layer), 256L) * 256;
        }
        java.util.List<AutoCloseable> made = new java.util.ArrayList<>();
        try {
            Buffer table = device.allocate(bytes, purpose);
            made.add(table);
            Buffer image = device.allocatePinned(bytes, purpose);
            made.add(image);
            Buffer overlay = device.allocatePinned(bytes, purpose);
            made.add(overlay);
            return new ResidencyTable(device, layout, table, image, overlay, device.newEvent(), offsets);
        } catch (RuntimeException failed) {
            Closing.all(made);
            throw failed;
        }
    }

    /** The layer's entries on the device. */
    Buffer layer(int layer) {
        return views[layer];
    }

    /** Changes an entry of the image; {@link #flush} brings it to the device. */
    void set(int layer, int expert, long address) {
        long at = offsets[layer] + 8L * expert;
        MemorySegment host = image.host();
        if (host.get(JAVA_LONG, at) != address) {
            if (dirty.isEmpty()) {
                flushed.synchronize();
            }
            host.set(JAVA_LONG, at, address);
            dirty.set(layer);
        }
    }

    long get(int layer, int expert) {
        return image.host().get(JAVA_LONG, offsets[layer] + 8L * expert);
    }

    /** Copies what changed. */
    void flush(Stream stream) {
        if (dirty.isEmpty()) {
            return;
        }
        // One copy over all of them: layers between hold what they held, and a copy of its own takes longer to begin
        // than a layer to cross.
        copy(image, dirty.nextSetBit(0), dirty.length() - 1, stream);
        dirty.clear();
        flushed.record(stream);
    }

    /**
     * Lets kernels see other addresses of some experts until {@link #restore}. What was queued for this layer before must be done.
     */
    void overlay(int layer, int[] experts, long[] addresses, int count, Stream stream) {
        long bytes = 8L * layout.experts(layer);
        MemorySegment.copy(image.host(), offsets[layer], overlay.host(), offsets[layer], bytes);
        for (int i = 0; i < count; i++) {
            overlay.host().set(JAVA_LONG, offsets[layer] + 8L * experts[i], addresses[i]);
        }
        copy(overlay, layer, stream);
    }

    /** Ends an overlay behind what is queued on {@code stream}. */
    void restore(int layer, Stream stream) {
        copy(image, layer, stream);
        flushed.record(stream);
    }

    private void copy(Buffer from, int layer, Stream stream) {
        copy(from, layer, layer, stream);
    }

    private void copy(Buffer from, int first, int last, Stream stream) {
        long bytes = offsets[last] + 8L * layout.experts(last) - offsets[first];
        device.copyToDevice(from.host().asSlice(offsets[first], bytes), table, offsets[first], stream);
    }

    @Override
    public void close() {
        flushed.synchronize();
        flushed.close();
        overlay.close();
        image.close();
        table.close();
    }

    /** A part of a buffer that somebody else owns. */
    private record BufferView(Buffer whole, long offset, long bytes) implements Buffer {
        @Override
        public long address() {
            return whole.address() + offset;
        }

        @Override
        public MemorySegment host() {
            return whole.host().asSlice(offset, bytes);
        }

        @Override
        public boolean hostVisible() {
            return whole.hostVisible();
        }

        @Override
        public void close() {}
    }
}
