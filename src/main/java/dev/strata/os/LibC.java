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

    private final MethodHandle mmap = bind(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private final MethodHandle munmap = bind("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final MethodHandle madvise =
            bind("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private final MethodHandle mlock = bind("mlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final MethodHandle munlock = bind("munlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final MethodHandle setAffinity =
            bind("sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private final MethodHandle getAffinity =
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

    private final MethodHandle syscall = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("syscall"),
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
            Linker.Option.captureCallState("errno"),
            Linker.Option.firstVariadicArg(1));
    private final MethodHandle advise =
            bind("posix_fadvise", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private final MethodHandle fsync = bind("fdatasync", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private final MethodHandle close = bind("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private final MethodHandle open = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("open"),
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
            Linker.Option.captureCallState("errno"),
            Linker.Option.firstVariadicArg(2));

    /** Looked up where it is needed: finding a function takes a millisecond of the start. */
    private static final class Fcntl {
        /** Its number is the same on every architecture. */
        static final int F_DUPFD_CLOEXEC = 1030;

        static final MethodHandle HANDLE = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("fcntl"),
                FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
                Linker.Option.captureCallState("errno"),
                Linker.Option.firstVariadicArg(2));
    }

    /** Reads into several places; looked up where it is needed, too. */
    private static final class Vector {
        /** Of O_DIRECT; -1 where its number is not known. */
        static final int DIRECT = switch (System.getProperty("os.arch")) {
            case "amd64" -> 0x4000;
            case "aarch64" -> 0x10000;
            default -> -1;
        };

        static final int O_CLOEXEC = 0x80000;

        /** Bytes of struct iovec: an address and a length. */
        static final long ENTRY = 16;

        static final MethodHandle HANDLE =
                bind("preadv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG));
    }

    private static MethodHandle bind(String name, FunctionDescriptor descriptor) {
        MemorySegment symbol = LINKER.defaultLookup()
                .find(name)
                .orElseThrow(() -> new UnsupportedOperationException("the C library has no " + name));
        return LINKER.downcallHandle(symbol, descriptor, Linker.Option.captureCallState("errno"));
    }

    long mmapAnonymous(long bytes, int protection, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            long address = (long) mmap.invokeExact(capture, 0L, bytes, protection, flags, -1, 0L);
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

    int munlock(long address, long bytes) {
        return call(munlock, address, bytes, "munlock");
    }

    int madvise(long address, long bytes, int advice) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) madvise.invokeExact(capture, address, bytes, advice);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("madvise", failure);
        }
    }

    /** {@code thread} 0 is the calling one. */
    int schedSetAffinity(int thread, MemorySegment mask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) setAffinity.invokeExact(capture, thread, mask.byteSize(), mask);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("sched_setaffinity", failure);
        }
    }

    int schedGetAffinity(int thread, MemorySegment mask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) getAffinity.invokeExact(capture, thread, mask.byteSize(), mask);
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
            long read = (long) syscall.invokeExact(capture, SET_ATTRIBUTES + 1, 0, attributes, ATTRIBUTE_BYTES, 0);
            if (read != 0) {
                return -errno(capture);
            }
            attributes.set(JAVA_LONG, ATTRIBUTE_SLICE, nanos);
            if (nice != null) {
                attributes.set(JAVA_INT, ATTRIBUTE_NICE, nice);
            }
            long written = (long) syscall.invokeExact(capture, SET_ATTRIBUTES, 0, attributes, 0, 0);
            return written == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("sched_setattr", failure);
        }
    }

    /** Writes a file's changed pages and drops the clean ones. */
    int dropCache(String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int file = (int) open.invokeExact(capture, arena.allocateFrom(path), 0);
            if (file < 0) {
                return -errno(capture);
            }
            int synced = (int) fsync.invokeExact(capture, file);
            int failure = synced == 0 ? 0 : -errno(capture);
            // This call returns its error instead of setting errno; 4 is POSIX_FADV_DONTNEED.
            int advised = (int) advise.invokeExact(capture, file, 0L, 0L, 4);
            int closed = (int) close.invokeExact(capture, file);
            return advised != 0 ? -advised : closed != 0 ? -errno(capture) : failure;
        } catch (Throwable failure) {
            throw unexpected("posix_fadvise", failure);
        }
    }

    /** A descriptor for reads past the page cache, closed in programs that are started. */
    int openUnbuffered(String path) {
        if (Vector.DIRECT < 0) {
            return -ENOSYS;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int file = (int) open.invokeExact(capture, arena.allocateFrom(path), Vector.DIRECT | Vector.O_CLOEXEC);
            return file >= 0 ? file : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("open", failure);
        }
    }

    /** Reads into {@code targets} one behind the other; an interrupted call is made again. */
    long readVector(int descriptor, MemorySegment[] targets, long position) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            MemorySegment entries = arena.allocate(Vector.ENTRY * targets.length, 8);
            for (int i = 0; i < targets.length; i++) {
                entries.set(JAVA_LONG, Vector.ENTRY * i, targets[i].address());
                entries.set(JAVA_LONG, Vector.ENTRY * i + 8, targets[i].byteSize());
            }
            while (true) {
                long got = (long) Vector.HANDLE.invokeExact(capture, descriptor, entries, targets.length, position);
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
            int result = (int) Fcntl.HANDLE.invokeExact(capture, descriptor, Fcntl.F_DUPFD_CLOEXEC, 0);
            return result >= 0 ? result : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("fcntl", failure);
        }
    }

    int close(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) close.invokeExact(capture, descriptor);
            return result == 0 ? 0 : -errno(capture);
        } catch (Throwable failure) {
            throw unexpected("close", failure);
        }
    }

    private static int call(MethodHandle function, long address, long bytes, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = arena.allocate(CAPTURE);
            int result = (int) function.invokeExact(capture, address, bytes);
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
