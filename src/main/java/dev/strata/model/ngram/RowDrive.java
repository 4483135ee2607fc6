package dev.strata.model.ngram;

import dev.strata.os.BlockFile;
import dev.strata.os.BlockFiles;
import dev.strata.os.Drives;
import dev.strata.os.HostPages;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * How fast a drive gives rows: single blocks at random places.
 *
 * @param readsPerSecond with many reads at the same time
 * @param rotational whether the system says that it has spinning disks, which virtual drives say too
 */
public record RowDrive(Path file, double readsPerSecond, boolean rotational) {
    /** Below this a prompt waits for its rows: 1000 tokens of 16 rows take 8 seconds. */
    static final double SLOW = 2000;

    /** Smaller tables are in the page cache before long. */
    private static final long LEAST_DOUBTFUL = 256L << 20;

    private static final int READERS = 16;
    private static final int READS = 128;

    /** Whether a table of {@code bytes} that is read in the mapped file should be looked at: drives that spin may be slow, others are not. */
    public static boolean isDoubtful(Optional<Boolean> rotational, long bytes) {
        return rotational.orElse(false) && bytes >= LEAST_DOUBTFUL;
    }

    /** Reads some blocks of {@code file} between {@code offset} and {@code offset + bytes}, for at most about half a second. */
    public static RowDrive measure(Path file, long offset, long bytes) throws IOException {
        boolean rotational = Drives.isRotational(file).orElse(false);
        try (BlockFile opened = BlockFiles.unbuffered(file)) {
            return new RowDrive(file, rate(opened, offset, bytes, READS), rotational);
        }
    }

    private static double rate(BlockFile file, long offset, long bytes, int reads) throws IOException {
        int unit = Math.max(512, file.alignment());
        long first = offset / unit;
        long blocks = Math.max(1, bytes / unit);
        AtomicInteger done = new AtomicInteger();
        AtomicInteger left = new AtomicInteger(reads);
        AtomicReference<@Nullable IOException> failure = new AtomicReference<>();
        long start = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        try (HostPages memory = HostPages.allocate((long) unit * READERS, "drive probe")) {
            for (int reader = 0; reader < READERS; reader++) {
                int number = reader;
                threads.add(Thread.ofPlatform()
                        .daemon()
                        .name("row-probe-" + reader)
                        .start(() -> {
                            SplittableRandom random = new SplittableRandom(start + number);
                            try {
                                while (left.getAndDecrement() > 0 && System.nanoTime() - start < 500_000_000) {
                                    int got = file.read(
                                            memory.memory().asSlice((long) unit * number, unit),
                                            (first + random.nextLong(blocks)) * unit);
                                    done.addAndGet(got >= 0 ? 1 : 0);
                                }
                            } catch (IOException failed) {
                                failure.set(failed);
                            }
                        }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw new IOException("the drive probe was interrupted");
        }
        IOException failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        return done.get() * 1e9 / (System.nanoTime() - start);
    }

    /** Whether prompts will wait for it. */
    public boolean isSlow() {
        return readsPerSecond < SLOW;
    }

    /**
     * A line for the log.
     *
     * @param rowsPerToken rows that a token reads
     */
    public String line(int rowsPerToken) {
        String line =
                String.format(Locale.ROOT, "n-gram table in %s: %.0f reads/s", file.getFileName(), readsPerSecond);
        if (isSlow()) {
            line += String.format(
                    Locale.ROOT,
                    "; %s, 1000 tokens of a prompt wait about %.1f s for their rows: move the file to an SSD or use --ple-io ram",
                    rotational ? "a rotational drive" : "a slow drive",
                    1000.0 * rowsPerToken / readsPerSecond);
        }
        return line;
    }
}
