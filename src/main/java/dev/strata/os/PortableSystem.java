package dev.strata.os;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.OptionalInt;

/** Works everywhere, with small pages, and refuses what needs native calls. */
final class PortableSystem implements OperatingSystem {
    private final String reason;

    PortableSystem(String reason) {
        this.reason = reason;
    }

    @Override
    public boolean isAvailable() {
        return false;
    }

    @Override
    public String reason() {
        return reason;
    }

    @Override
    @SuppressWarnings("MustBeClosedChecker") // HostPages closes it
    public HostPages map(long bytes, String purpose) {
        Arena arena = Arena.ofShared();
        try {
            MemorySegment memory = arena.allocate(bytes, HostPages.SMALL_PAGE);
            return new HostPages(arena, memory, PageKind.SMALL);
        } catch (OutOfMemoryError refused) {
            arena.close();
            throw new OutOfMemoryError(purpose + ": " + bytes + " bytes of host memory were refused");
        }
    }

    @Override
    public Outcome lock(MemorySegment memory) {
        return Outcome.refused(reason);
    }

    @Override
    public Outcome forget(Path file) {
        return Outcome.refused("this system cannot be told to drop cached pages");
    }

    @Override
    public Outcome advise(MemorySegment memory, Advice advice) {
        return Outcome.refused(reason);
    }

    @Override
    public BitSet affinity() {
        BitSet all = new BitSet();
        all.set(0, Runtime.getRuntime().availableProcessors());
        return all;
    }

    @Override
    public Outcome shortTurns() {
        return Outcome.refused(reason);
    }

    @Override
    public OptionalInt duplicate(int descriptor) {
        return OptionalInt.empty();
    }

    @Override
    public OptionalInt openUnbuffered(Path file) {
        return OptionalInt.empty();
    }

    @Override
    public long readVector(int descriptor, MemorySegment[] targets, long position) throws IOException {
        throw new IOException("reads into several places: " + reason);
    }

    @Override
    public void close(int descriptor) {}

    @Override
    public Outcome bindThread(BitSet cpus) {
        return Outcome.refused(reason);
    }
}
