package dev.strata.os;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.OptionalInt;

/** Native services of the system that runs us. {@link #current()} picks the implementation once. */
public interface OperatingSystem {
    /** The system of this process: {@link LinuxSystem} where its native calls work, else {@link PortableSystem}. */
    static OperatingSystem current() {
        return SystemChoice.CURRENT;
    }

    /** Whether native calls work; without them memory comes in small pages, and locks and affinity are refused. */
    boolean isAvailable();

    /** Why {@link #isAvailable()} is false; empty otherwise. */
    String reason();

    /** This system, or an error that says why its native calls are missing. */
    default OperatingSystem require() {
        if (!isAvailable()) {
            throw new UnsupportedOperationException("native memory services are not available: " + reason());
        }
        return this;
    }

    /**
     * Maps zeroed memory of at least {@code bytes}, aligned to 2 MiB where native calls work, in the best pages that can be had.
     *
     * @param purpose named in errors
     * @throws OutOfMemoryError with sizes and the system's word when the address space or commit limit refuses
     */
    HostPages map(long bytes, String purpose);

    /** Keeps the pages of {@code memory} in RAM and touches them. */
    Outcome lock(MemorySegment memory);

    /** Passes advice about the whole pages inside {@code memory}. */
    Outcome advise(MemorySegment memory, Advice advice);

    /** Lets the system drop the file's pages from its cache, those that no process has mapped. */
    Outcome forget(Path file);

    /** Logical CPUs that the calling thread may run on. */
    BitSet affinity();

    /** Binds the calling platform thread to {@code cpus}. */
    Outcome bindThread(BitSet cpus);

    /**
     * Asks for short turns and a low nice value of the calling platform thread: it is let in sooner when it wakes up on a busy machine. For
     * threads that answer and never compute. Where only the nice value is refused, it still gets short turns, and the outcome says so.
     */
    Outcome shortTurns();

    /** A second descriptor of what {@code descriptor} names, to be closed by itself; empty where none can be had. */
    OptionalInt duplicate(int descriptor);

    /** A descriptor for {@link #readVector} on a file past the page cache, to be given to {@link #close}; empty where there is none. */
    OptionalInt openUnbuffered(Path file);

    /**
     * Reads consecutive bytes of a file into several places with one request.
     *
     * @param descriptor from {@link #openUnbuffered}
     * @param targets native memory; addresses, lengths and position are multiples of the file's alignment
     * @return bytes read
     */
    long readVector(int descriptor, MemorySegment[] targets, long position) throws IOException;

    /** Closes a descriptor that was opened here. */
    void close(int descriptor);

    /** {@link #bindThread} to one logical CPU. */
    default Outcome bindThread(int cpu) {
        BitSet one = new BitSet();
        one.set(cpu);
        return bindThread(one);
    }
}
