package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.StateUnits;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Pages or slots in device memory, each made of one piece of every part. Work is queued behind that of the operations. */
final class CudaUnits implements StateUnits {
    /**
     * How states reach the card.
     *
     * @param settle orders what is queued next behind whatever changes states
     */
    record Access(CudaDevice device, CudaStream stream, Staging staging, Runnable settle) {
        CudaUnits units(Part... parts) {
            return new CudaUnits(this, List.of(parts));
        }
    }

    /**
     * Memory that holds the same piece of every unit, one behind the other.
     *
     * @param bytes size of one piece; may be 0
     */
    record Part(Buffer buffer, long bytes) {}

    private final Access access;
    private final List<Part> parts;

    private CudaUnits(Access access, List<Part> parts) {
        this.access = access;
        this.parts = parts.stream().filter(part -> part.bytes() > 0).toList();
    }

    @Override
    public long unitBytes() {
        return parts.stream().mapToLong(Part::bytes).sum();
    }

    @Override
    public void clear(int unit) {
        access.settle().run();
        for (Part part : parts) {
            access.device().fill(part.buffer(), unit * part.bytes(), part.bytes(), 0, access.stream());
        }
    }

    @Override
    public void copy(int from, int to) {
        if (from == to) {
            return;
        }
        access.settle().run();
        for (Part part : parts) {
            long bytes = part.bytes();
            access.device()
                    .copyOnDevice(part.buffer(), from * bytes, part.buffer(), to * bytes, bytes, access.stream());
        }
    }

    @Override
    public void read(int unit, MemorySegment target) {
        access.settle().run();
        long at = 0;
        for (Part part : parts) {
            access.staging().read(part.buffer().address() + unit * part.bytes(), target.asSlice(at, part.bytes()));
            at += part.bytes();
        }
    }

    @Override
    public void write(int unit, MemorySegment source) {
        access.settle().run();
        long at = 0;
        for (Part part : parts) {
            access.staging()
                    .write(source.asSlice(at, part.bytes()), part.buffer().address() + unit * part.bytes());
            at += part.bytes();
        }
    }
}
