package dev.strata.expert;

import dev.strata.memory.Bytes;
import dev.strata.os.BlockFile;
import dev.strata.os.BlockFiles;
import dev.strata.os.Drives;
import dev.strata.os.HostPages;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Finds out how many reads at the same time a drive likes: reads of some MiB at random places, with one reader and more. */
public final class DriveProbe {
    private static final int PIECE = 4 << 20;
    private static final int PIECES = 16;
    private static final double SLOW = 300e6;
    private static final double WORTH = 1.05;
    private static final int LEAST_READERS = 16;

    /**
     * What a drive gave.
     *
     * @param depth reads at the same time with which it was fastest
     * @param bytesPerSecond its rate then
     * @param rotational whether the system says that it has spinning disks, which virtual drives say too
     */
    public record Result(Path file, int depth, double bytesPerSecond, boolean rotational) {
        /** Threads that read: a short measurement finds less than what a long queue gains, which costs nothing where no disk spins. */
        public int readers() {
            return spins() ? depth : Math.clamp(2L * depth, LEAST_READERS, FileExpertSource.DEPTH);
        }

        /** Whether reading experts from it will hurt. */
        public boolean isSlow() {
            return bytesPerSecond < SLOW;
        }

        /** No spinning disk is faster than that, whatever the system says. */
        private boolean spins() {
            return rotational && isSlow();
        }

        /** A line for the log, with a warning for slow drives. */
        public String line() {
            String line = String.format(
                    Locale.ROOT,
                    "drive of %s: %.2f GB/s with %d reads at the same time",
                    file.getFileName(),
                    bytesPerSecond / 1e9,
                    depth);
            return isSlow() ? line + (rotational ? ", rotational" : "") + "; experts read from it will be slow" : line;
        }
    }

    private DriveProbe() {}

    /** Measures with 2, 4, 8 ... {@code most} readers; more count only when they gain at least five percent. Takes below a second on an SSD. */
    public static Result measure(Path file, int most) {
        try (BlockFile opened = BlockFiles.unbuffered(file)) {
            long pieces = opened.size() / PIECE;
            boolean rotational = Drives.isRotational(file).orElse(false);
            Result best = new Result(file, Math.min(most, 4), 0, rotational);
            if (pieces < PIECES) {
                return new Result(file, Math.min(most, 4), Bytes.GIB, rotational);
            }
            for (int readers = 2; readers <= most; readers *= 2) {
                double rate = rate(opened, PIECE, pieces, readers, Math.max(PIECES, 2 * readers));
                if (rate > best.bytesPerSecond * WORTH) {
                    best = new Result(file, readers, rate, rotational);
                }
            }
            return best;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /**
     * What a drive gives to readers of random pieces, past the page cache.
     *
     * @param piece bytes of a request, a multiple of 4 KiB
     * @param total bytes to read
     * @return bytes a second
     */
    public static double rate(Path file, int piece, int readers, long total) {
        try (BlockFile opened = BlockFiles.unbuffered(file)) {
            return rate(opened, piece, opened.size() / piece, readers, (int) Math.max(readers, total / piece));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static double rate(BlockFile file, int piece, long pieces, int readers, int count) throws IOException {
        AtomicInteger left = new AtomicInteger(count);
        AtomicReference<@Nullable IOException> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        try (HostPages memory = HostPages.allocate((long) piece * readers, "drive probe")) {
            memory.memory().fill((byte) 0);
            long start = System.nanoTime();
            for (int reader = 0; reader < readers; reader++) {
                int number = reader;
                threads.add(Thread.ofPlatform()
                        .daemon()
                        .name("drive-probe-" + reader)
                        .start(() -> {
                            SplittableRandom random = new SplittableRandom(31L * readers + number);
                            try {
                                while (left.getAndDecrement() > 0) {
                                    file.read(
                                            memory.memory().asSlice((long) piece * number, piece),
                                            random.nextLong(pieces) * piece);
                                }
                            } catch (IOException failed) {
                                failure.set(failed);
                            }
                        }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            IOException failed = failure.get();
            if (failed != null) {
                throw failed;
            }
            return (double) count * piece * 1e9 / (System.nanoTime() - start);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw new IOException("the drive probe was interrupted");
        }
    }
}
