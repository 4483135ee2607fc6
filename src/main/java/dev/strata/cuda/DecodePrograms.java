package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Puts launches of passes of few rows together into programs of the kernels that stay (persistent.cu). A program is launched when something else is
 * queued. It lies in device memory: those of captured passes keep their places, since replays read them there.
 */
final class DecodePrograms implements AutoCloseable {
    /** Bytes of a phase: eight words, ranges to read ahead, arguments. */
    private static final int PHASE_BYTES = 640;

    private static final int RANGES = 6;
    private static final int RANGES_AT = 32;
    private static final int ARGUMENTS_AT = RANGES_AT + 16 * RANGES;
    private static final int MOST_ARGUMENT_BYTES = PHASE_BYTES - ARGUMENTS_AT;

    /** A phase asks for what the one so many behind it reads: routers ask for the next layer's projections. */
    private static final int READ_AHEAD = 3;

    private static final int MOST_PHASES = 3072;
    private static final long PROGRAM_BYTES = (long) MOST_PHASES * PHASE_BYTES;
    private static final long MEMORY_BYTES = 16L << 20;
    private static final int STAMPS = 4;

    /** Shared memory of a block that phases do not get: descriptions and choices. */
    private static final int RESERVED_BYTES = 10 << 10;

    /** And what the kernels declare themselves. */
    private static final int DECLARED_BYTES = 2 << 10;

    private static final String NAME = "decode_persistent_";
    private static final String ANY_HEADS = "128_f16";

    private final CudaDevice device;
    private final Kernels kernels;
    private final Scratch scratch;
    private final Staging staging;
    private final Launcher launcher;
    private final int blocks;
    private final int sharedBytes;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment program = arena.allocate(PROGRAM_BYTES, 64);
    private final Map<String, Made> made = new HashMap<>();
    private final List<Captured> captured = new ArrayList<>();
    private final long[] ranges = new long[2 * RANGES];
    private final List<String> names = new ArrayList<>();
    private @Nullable Buffer memory;
    private @Nullable String heads;
    private long used = PROGRAM_BYTES;
    private int phases;
    private int rangesGiven;
    private int phaseBytes;
    private boolean capturing;
    private boolean launched;
    private @Nullable PhaseTimes times;

    private record Made(Kernel kernel, int threads) {}

    private record Captured(long address, byte[] phases) {}

    DecodePrograms(
            CudaDevice device,
            CudaStream stream,
            Kernels kernels,
            Scratch scratch,
            Staging staging,
            CudaOptions options) {
        this.device = device;
        this.kernels = kernels;
        this.scratch = scratch;
        this.staging = staging;
        this.launcher = Launcher.cooperative(stream);
        this.blocks = options.decodeBlocks() > 0 ? options.decodeBlocks() : device.multiprocessors();
        this.sharedBytes = device.sharedMemoryOfABlock() - DECLARED_BYTES;
        stream.before(this::flush);
    }

    /** A launch begins: what was said of one that was given up is forgotten. */
    void begin() {
        rangesGiven = 0;
        phaseBytes = 0;
    }

    void reads(long address, long bytes) {
        boolean known = bytes == 0;
        for (int i = 0; i < rangesGiven; i++) {
            known |= ranges[2 * i] == address;
        }
        if (!known && rangesGiven < RANGES) {
            ranges[2 * rangesGiven] = address;
            ranges[2 * rangesGiven + 1] = bytes;
            rangesGiven++;
        }
    }

    void phaseBytes(int bytes) {
        phaseBytes = bytes;
    }

    /** Takes a launch as a phase; false when it is to be launched by itself. */
    boolean add(
            Kernel kernel, int gridX, int gridY, int gridZ, int shared, MemorySegment arguments, long argumentBytes) {
        Kernel.Phase phase = kernel.phase();
        if (phase == null
                || (phase.heads() != null && kernels.find(NAME + phase.heads()).isEmpty())
                || shared + phaseBytes + RESERVED_BYTES > sharedBytes
                || argumentBytes > MOST_ARGUMENT_BYTES) {
            return false;
        }
        if (phases == MOST_PHASES
                || (phase.heads() != null && heads != null && !phase.heads().equals(heads))) {
            flush();
        }
        if (phase.heads() != null) {
            heads = phase.heads();
        }
        long at = (long) phases * PHASE_BYTES;
        program.asSlice(at, ARGUMENTS_AT).fill((byte) 0);
        program.set(JAVA_INT, at, phase.code());
        program.set(JAVA_INT, at + 4, gridX);
        program.set(JAVA_INT, at + 8, gridY);
        program.set(JAVA_INT, at + 12, gridZ);
        program.set(JAVA_INT, at + 16, shared);
        MemorySegment.copy(arguments, 0, program, at + ARGUMENTS_AT, argumentBytes);
        if (phases >= READ_AHEAD && rangesGiven > 0) {
            MemorySegment.copy(
                    ranges, 0, program, JAVA_LONG, at - (long) READ_AHEAD * PHASE_BYTES + RANGES_AT, 2 * rangesGiven);
        }
        if (times != null) {
            names.add(kernel.name());
        }
        phases++;
        return true;
    }

    /** Launches what was put together. */
    void flush() {
        if (phases == 0) {
            return;
        }
        int count = phases;
        phases = 0;
        Made kernel = made.computeIfAbsent(heads == null ? ANY_HEADS : heads, this::make);
        heads = null;
        long bytes = (long) count * PHASE_BYTES;
        long address = place(bytes);
        if (capturing) {
            captured.add(new Captured(address, program.asSlice(0, bytes).toArray(JAVA_BYTE)));
        } else {
            staging.write(program.asSlice(0, bytes), address);
        }
        PhaseTimes target = times;
        long stamps = target != null && !capturing
                ? scratch.address("clocks of phases", 8L * blocks * ((long) STAMPS * MOST_PHASES + 2))
                : 0;
        launcher.begin()
                .address(address)
                .integer(count)
                .integer(sharedBytes)
                .address(scratch.zeroed("arrivals at phases", 4))
                .address(stamps)
                .launch(kernel.kernel(), blocks, 1, 1, kernel.threads(), sharedBytes);
        launched = true;
        if (stamps != 0 && target != null) {
            long[] clocks = new long[blocks * (STAMPS * count + 2)];
            staging.read(stamps, MemorySegment.ofArray(clocks));
            target.add(names, clocks, blocks);
        }
        names.clear();
    }

    /** Whether a program was launched since the last call. */
    boolean takeLaunched() {
        boolean value = launched;
        launched = false;
        return value;
    }

    /** Forgets what was put together: the pass failed. */
    void drop() {
        phases = 0;
        heads = null;
        names.clear();
    }

    private Made make(String which) {
        String name = NAME + which;
        return new Made(kernels.get(name, sharedBytes), kernels.threads(name));
    }

    /** Programs that are not captured are used once: they follow each other in one place. */
    private long place(long bytes) {
        Buffer buffer = memory;
        if (buffer == null) {
            buffer = device.allocate(MEMORY_BYTES, "programs of decode steps");
            memory = buffer;
        }
        if (!capturing) {
            return buffer.address();
        }
        if (used + bytes > MEMORY_BYTES) {
            throw new IllegalStateException("no room for a program of " + bytes + " bytes: full() was not asked");
        }
        long address = buffer.address() + used;
        used += bytes;
        return address;
    }

    /** Whether there may be no room for another captured pass. */
    boolean full() {
        return used + PROGRAM_BYTES > MEMORY_BYTES;
    }

    /** No captured pass is left. */
    void forget() {
        used = PROGRAM_BYTES;
    }

    /** Passes are captured from now on, or not any more: then the programs of the captured one are written. */
    void capturing(boolean value) {
        capturing = value;
        if (!value) {
            for (Captured one : captured) {
                staging.write(MemorySegment.ofArray(one.phases()), one.address());
            }
            captured.clear();
        }
    }

    /** Clocks of the phases from now on, for figures; passes must not be captured meanwhile. Null ends it. */
    void time(@Nullable PhaseTimes target) {
        times = target;
    }

    /** Programs launched or captured so far. */
    long launches() {
        return launcher.launches();
    }

    boolean timing() {
        return times != null;
    }

    @Override
    public void close() {
        launcher.close();
        arena.close();
        if (memory != null) {
            memory.close();
        }
    }
}
