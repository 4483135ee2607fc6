package dev.strata.device;

import java.lang.foreign.MemorySegment;
import java.util.List;

/** Pages or slots in host memory, each made of one piece of every part. */
public final class HostUnits implements StateUnits {
    /**
     * Memory that holds the same piece of every unit, one behind the other.
     *
     * @param bytes size of one piece
     */
    public record Part(HostBuffer buffer, long bytes) {
        private MemorySegment piece(int unit) {
            return buffer.host().asSlice(unit * bytes, bytes);
        }
    }

    private final List<Part> parts;

    public HostUnits(Part... parts) {
        this.parts = List.of(parts);
    }

    @Override
    public long unitBytes() {
        return parts.stream().mapToLong(Part::bytes).sum();
    }

    @Override
    public void clear(int unit) {
        for (Part part : parts) {
            part.piece(unit).fill((byte) 0);
        }
    }

    @Override
    public void copy(int from, int to) {
        for (Part part : parts) {
            part.piece(to).copyFrom(part.piece(from));
        }
    }

    @Override
    public void read(int unit, MemorySegment target) {
        long at = 0;
        for (Part part : parts) {
            target.asSlice(at, part.bytes()).copyFrom(part.piece(unit));
            at += part.bytes();
        }
    }

    @Override
    public void write(int unit, MemorySegment source) {
        long at = 0;
        for (Part part : parts) {
            part.piece(unit).copyFrom(source.asSlice(at, part.bytes()));
            at += part.bytes();
        }
    }
}
