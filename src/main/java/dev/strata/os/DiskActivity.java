package dev.strata.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;

/** Whether this process is reading from drives: a figure that grows with every read of ours and every page brought in for a mapping. */
public final class DiskActivity {
    private static final LongAdder BYTES = new LongAdder();
    private static final int MAJOR_FAULTS_AFTER_NAME = 9;

    private DiskActivity() {}

    /** Counts bytes that one of our own reads brought. */
    static void count(long bytes) {
        BYTES.add(bytes);
    }

    /** Bytes read by us and by the system for us, and pages faulted in; only its growth means something. */
    public static long figure() {
        return BYTES.sum() + readBytes(Path.of("/proc/self/io")) + faults(Path.of("/proc/self/stat"));
    }

    static long readBytes(Path io) {
        try {
            for (String line : Files.readAllLines(io)) {
                if (line.startsWith("read_bytes:")) {
                    return Long.parseLong(line.substring(line.indexOf(':') + 1).strip());
                }
            }
            return 0;
        } catch (IOException | NumberFormatException unknown) {
            return 0;
        }
    }

    static long faults(Path stat) {
        try {
            String line = Files.readString(stat);
            // The name in parentheses may hold spaces.
            String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ");
            return Long.parseLong(fields[MAJOR_FAULTS_AFTER_NAME]);
        } catch (IOException | RuntimeException unknown) {
            return 0;
        }
    }
}
