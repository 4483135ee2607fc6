package dev.strata.os;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Linux services through the C library. Constants are those of the kernel's generic ABI (x86-64 and arm64 agree on them). */
final class LinuxSystem implements OperatingSystem {
    /** The shortest that the kernel takes. */
    private static final long SHORT_TURN_NANOS = 100_000;
    /** Still shorter than any other thread's, and long enough to answer in: once it is over, others may run until the next tick of the clock. */
    private static final long TURN_NANOS = 500_000;

    private static final int AHEAD = -15;

    private static final Logger LOG = LoggerFactory.getLogger(LinuxSystem.class);

    private static final int PROT_READ_WRITE = 1 | 2;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;
    private static final int MAP_HUGETLB_2MB = 0x40000 | 21 << 26;
    private static final int MASK_BYTES = 1024;
    private static final Path THP = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");

    private final LibC libc = new LibC();
    private final boolean transparent = transparentPages(THP);
    private final AtomicBoolean smallPagesSaid = new AtomicBoolean();

    @Override
    public boolean isAvailable() {
        return true;
    }

    @Override
    public String reason() {
        return "";
    }

    @Override
    public HostPages map(long bytes, String purpose) {
        if (bytes <= 0) {
            throw new IllegalArgumentException(purpose + ": cannot map " + bytes + " bytes");
        }
        long huge = roundUp(bytes, HostPages.HUGE_PAGE);
        if (bytes >= HostPages.HUGE_PAGE) {
            long reserved = libc.mmapAnonymous(huge, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS | MAP_HUGETLB_2MB);
            if (reserved > 0) {
                return own(reserved, huge, bytes, PageKind.RESERVED_HUGE);
            }
        }
        long wide = huge + HostPages.HUGE_PAGE;
        long start = libc.mmapAnonymous(wide, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS);
        if (start < 0) {
            throw new OutOfMemoryError(
                    purpose + ": mapping " + bytes + " bytes of host memory failed: " + Errno.describe((int) -start)
                            + "; free memory or raise the limits (ulimit -v, vm.overcommit_memory)");
        }
        long aligned = roundUp(start, HostPages.HUGE_PAGE);
        if (aligned > start) {
            libc.munmap(start, aligned - start);
        }
        long end = aligned + huge;
        if (start + wide > end) {
            libc.munmap(end, start + wide - end);
        }
        boolean advised = transparent
                && bytes >= HostPages.HUGE_PAGE
                && libc.madvise(aligned, huge, number(Advice.HUGE_PAGES)) == 0;
        if (!advised && bytes >= HostPages.HUGE_PAGE && smallPagesSaid.compareAndSet(false, true)) {
            LOG.warn("{}: no huge pages, 4 KiB pages are used (set {} to madvise for speed)", purpose, THP);
        }
        return own(aligned, huge, bytes, advised ? PageKind.TRANSPARENT_HUGE : PageKind.SMALL);
    }

    @SuppressWarnings("MustBeClosedChecker") // HostPages closes it
    private HostPages own(long address, long mapped, long bytes, PageKind kind) {
        Arena arena = Arena.ofShared();
        MemorySegment memory =
                MemorySegment.ofAddress(address).reinterpret(mapped, arena, ignored -> libc.munmap(address, mapped));
        return new HostPages(arena, memory.asSlice(0, bytes), kind);
    }

    @Override
    public Outcome lock(MemorySegment memory) {
        return outcome(libc.mlock(memory.address(), memory.byteSize()), "mlock", memory.byteSize());
    }

    @Override
    public Outcome advise(MemorySegment memory, Advice advice) {
        long first = roundUp(memory.address(), HostPages.SMALL_PAGE);
        long end = (memory.address() + memory.byteSize()) / HostPages.SMALL_PAGE * HostPages.SMALL_PAGE;
        if (end <= first) {
            return Outcome.DONE;
        }
        return outcome(libc.madvise(first, end - first, number(advice)), "madvise", end - first);
    }

    @Override
    public Outcome forget(Path file) {
        int result = libc.dropCache(file.toAbsolutePath().toString());
        return result == 0 ? Outcome.DONE : Outcome.refused("dropping " + file + ": " + Errno.describe(-result));
    }

    @Override
    public BitSet affinity() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, 8);
            if (libc.schedGetAffinity(0, mask) < 0) {
                BitSet all = new BitSet();
                all.set(0, Runtime.getRuntime().availableProcessors());
                return all;
            }
            return BitSet.valueOf(mask.toArray(JAVA_LONG));
        }
    }

    @Override
    public Outcome bindThread(BitSet cpus) {
        if (Thread.currentThread().isVirtual()) {
            return Outcome.refused("a virtual thread has no CPU of its own");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, 8);
            MemorySegment.copy(MemorySegment.ofArray(cpus.toLongArray()), 0, mask, 0, 8L * cpus.toLongArray().length);
            int result = libc.schedSetAffinity(0, mask);
            return result == 0
                    ? Outcome.DONE
                    : Outcome.refused("binding the thread to CPUs " + cpus + ": " + Errno.describe(-result));
        }
    }

    @Override
    public Outcome shortTurns() {
        if (Thread.currentThread().isVirtual()) {
            return Outcome.refused("a virtual thread has no turns of its own");
        }
        int result = libc.schedSlice(TURN_NANOS, AHEAD);
        if (result == 0) {
            return Outcome.DONE;
        }
        int turns = libc.schedSlice(SHORT_TURN_NANOS, null);
        String reason = "nice " + AHEAD + " for a thread: " + Errno.describe(-result);
        return Outcome.refused(turns == 0 ? reason : reason + "; short turns: " + Errno.describe(-turns));
    }

    @Override
    public OptionalInt duplicate(int descriptor) {
        int second = libc.duplicate(descriptor);
        return second < 0 ? OptionalInt.empty() : OptionalInt.of(second);
    }

    @Override
    public OptionalInt openUnbuffered(Path file) {
        int descriptor = libc.openUnbuffered(file.toAbsolutePath().toString());
        return descriptor < 0 ? OptionalInt.empty() : OptionalInt.of(descriptor);
    }

    @Override
    public long readVector(int descriptor, MemorySegment[] targets, long position) throws IOException {
        long got = libc.readVector(descriptor, targets, position);
        if (got < 0) {
            throw new IOException("preadv: " + Errno.describe((int) -got));
        }
        return got;
    }

    @Override
    public void close(int descriptor) {
        int result = libc.close(descriptor);
        if (result < 0) {
            LOG.debug("closing a descriptor: {}", Errno.describe(-result));
        }
    }

    static boolean transparentPages(Path file) {
        try {
            return !Files.readString(file).contains("[never]");
        } catch (IOException noThp) {
            return false;
        }
    }

    private static int number(Advice advice) {
        return switch (advice) {
            case RANDOM -> 1;
            case SEQUENTIAL -> 2;
            case WILL_NEED -> 3;
            case DONT_NEED -> 4;
            case HUGE_PAGES -> 14;
        };
    }

    private static Outcome outcome(int result, String call, long bytes) {
        return result == 0
                ? Outcome.DONE
                : Outcome.refused(call + " of " + (bytes >> 20) + " MiB: " + Errno.describe(-result));
    }

    private static long roundUp(long value, long unit) {
        return (value + unit - 1) / unit * unit;
    }
}
