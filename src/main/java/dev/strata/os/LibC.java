package dev.strata.os;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** The C library's functions that we call. Every method returns zero (or an address, or a descriptor) on success and {@code -errno} on failure. */
final class LibC {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO =
            CAPTURE.varHandle(java.lang.foreign.MemoryLayout.PathElement.groupElement("errno"));

    private final Function mmap = bind(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private final Function munmap = bind("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final Function madvise = bind("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private final Function mlock = bind("mlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final Function setAffinity =
            bind("sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private final Function getAffinity =
            bind("sched_getaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));

    /** Number of sched_setattr, for which the C library may have no function; sched_getattr is the next one. -1: unknown here. */
    private static final long SET_ATTRIBUTES = switch (System.getProperty("os.arch")) {
        case "amd64" -> 314;
        case "aarch64" -> 274;
        default -> -1;
    };

    /** Bytes of struct sched_attr in its first version. */
    private static final int ATTRIBUTE_BYTES = 48;
    /** Offset of the nice value in it. */
    private static final long ATTRIBUTE_NICE = 16;
    /** Offset of the turn's length in it, for normal threads. */
    private static final long ATTRIBUTE_SLICE = 24;

    private static final int EINTR = 4;
    private static final int ENOSYS = 38;

    /** Of fcntl; the same on every architecture. */
    private static final int F_DUPFD_CLOEXEC = 1030;

    /** Of O_DIRECT; -1 where its number is not known. */
    private static final int DIRECT = switch (System.getProperty("os.arch")) {
        case "amd64" -> 0x4000;
        case "aarch64" -> 0x10000;
        default -> -1;
    };

    private static final int O_CLOEXEC = 0x80000;

    /** Bytes of struct iovec: an address and a length. */
    private static final long ENTRY = 16;

    private final Function syscall =
            bind("syscall", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), 1);
    private final Function advise =
            bind("posix_fadvise", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private final Function fsync = bind("fdatasync", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private final Function close = bind("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private final Function open = bind("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT), 2);
    private final Function fcntl = bind("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), 2);
    private final Function preadv =
            bind("preadv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG));

    /** A function that is linked when it is called first, since every one takes some milliseconds of the start. */
    private static final class Function {
        private final MemorySegment symbol;
        private final FunctionDescriptor descriptor;
        private final Linker.Option[] options;
        private volatile @Nullable MethodHandle handle;

        Function(MemorySegment symbol, FunctionDescriptor descriptor, Linker.Option... options) {
            this.symbol = symbol;
            this.descriptor = descriptor;
            this.options = options;
        }

        MethodHandle get() {
            MethodHandle linked = handle;
            if (linked == null) {
                linked = LINKER.downcallHandle(symbol, descriptor, options);
                handle = linked;
            }
            return linked;
        }
    }

    private static Function bind(String name, FunctionDescriptor descriptor) {
        return new Function(symbol(name), descriptor, Linker.Option.captureCallState("errno"));
    }

    /** @param fixed parameters before those whose number may vary */
    private static Function bind(String name, FunctionDescriptor descriptor, int fixed) {
        Linker.Option variadic = Linker.Option.firstVariadicArg(fixed);
        return new Function(symbol(name), descriptor, Linker.Option.captureCallState("errno"), variadic);
    }

    private static MemorySegment symbol(String name) {
        return LINKER.defaultLookup()
                .find(name)
                .orElseThrow(() -> new UnsupportedOperationException("the C library has no " + name));
    }

    long mmapAnonymous(long bytes, int protection, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            long address = (long) mmap.get().invokeExact(capture, 0L, bytes, protection, flags, -1, 0L);
            return address == -1 ? -errno(capture) : address;
        } catch (Throwable failure) {
            throw unexpected("mmap", failure);
        }
    }

    int munmap(long address, long bytes) {
        return call(munmap, address, bytes, "munmap");
    }

    int mlock(long address, long bytes) {
        return call(mlock, address, bytes, "mlock");
    }

    int madvise(long address, long bytes, int advice) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) madvise.get().invokeExact(capture, address, bytes, advice);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("madvise", failure);
        }
    }

    /** {@code thread} 0 is the calling one. */
    int schedSetAffinity(int thread, MemorySegment mask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) setAffinity.get().invokeExact(capture, thread, mask.byteSize(), mask);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("sched_setaffinity", failure);
        }
    }

    int schedGetAffinity(int thread, MemorySegment mask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) getAffinity.get().invokeExact(capture, thread, mask.byteSize(), mask);
            return result >= 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("sched_getaffinity", failure);
        }
    }

    /**
     * Sets the length of the calling thread's turns; everything else stays as it is.
     *
     * @param nice its nice value; null leaves it, too
     */
    int schedSlice(long nanos, @Nullable Integer nice) {
        if (SET_ATTRIBUTES < 0) {
            return -ENOSYS;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            MemorySegment attributes = arena.allocate(ATTRIBUTE_BYTES, 8);
            long read =
                    (long) syscall.get().invokeExact(capture, SET_ATTRIBUTES + 1, 0, attributes, ATTRIBUTE_BYTES, 0);
            if (read != 0) {
                return -errno(capture);
            }
            attributes.set(JAVA_LONG, ATTRIBUTE_SLICE, nanos);
            if (nice != null) {
                attributes.set(JAVA_INT, ATTRIBUTE_NICE, nice);
            }
            long written = (long) syscall.get().invokeExact(capture, SET_ATTRIBUTES, 0, attributes, 0, 0);
            return written == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("sched_setattr", failure);
        }
    }

    /** Writes a file's changed pages and drops the clean ones. */
    int dropCache(String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int file = (int) open.get().invokeExact(capture, arena.allocateFrom(path), 0);
            if (file < 0) {
                return -errno(capture);
            }
            int synced = (int) fsync.get().invokeExact(capture, file);
            int failure = synced == 0 ? 0 : -errno(capture);
            // This call returns its error instead of setting errno; 4 is POSIX_FADV_DONTNEED.
            int advised = (int) advise.get().invokeExact(capture, file, 0L, 0L, 4);
            int closed = (int) close.get().invokeExact(capture, file);
            return advised != 0 ? -advised : closed != 0 ? -errno(capture) : failure;
        } catch (Throwable failure) {
            throw unexpected("posix_fadvise", failure);
        }
    }

    /** A descriptor for reads past the page cache, closed in programs that are started. */
    int openUnbuffered(String path) {
        if (DIRECT < 0) {
            return -ENOSYS;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int file = (int) open.get().invokeExact(capture, arena.allocateFrom(path), DIRECT | O_CLOEXEC);
            return file >= 0 ? file : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("open", failure);
        }
    }

    /** Reads into {@code targets} one behind the other; an interrupted call is made again. */
    long readVector(int descriptor, MemorySegment[] targets, long position) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            MemorySegment entries = arena.allocate(ENTRY * targets.length, 8);
            for (int i = 0; i < targets.length; i++) {
                entries.set(JAVA_LONG, ENTRY * i, targets[i].address());
                entries.set(JAVA_LONG, ENTRY * i + 8, targets[i].byteSize());
            }
            while (true) {
                long got = (long) preadv.get().invokeExact(capture, descriptor, entries, targets.length, position);
                if (got >= 0) {
                    return got;
                }
                if (errno(capture) != EINTR) {
                    return -errno(capture);
                }
            }
        } catch (Throwable failure) {
            throw unexpected("preadv", failure);
        }
    }

    /** A second descriptor, closed in programs that are started. */
    int duplicate(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) fcntl.get().invokeExact(capture, descriptor, F_DUPFD_CLOEXEC, 0);
            return result >= 0 ? result : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("fcntl", failure);
        }
    }

    int close(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) close.get().invokeExact(capture, descriptor);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("close", failure);
        }
    }

    private static int call(Function function, long address, long bytes, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) function.get().invokeExact(capture, address, bytes);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected(name, failure);
        }
    }

    private static int errno(MemorySegment capture) {
        return (int) ERRNO.get(capture, 0L);
    }

    private static IllegalStateException unexpected(String name, Throwable failure) {
        return new IllegalStateException("calling " + name + " failed", failure);
    }
}
